import type { Config } from './config.ts'
import type { Effect } from './contract/operation.ts'
import { isConnectionLoss } from './db/connect.ts'
import { migrationStatus } from './db/migrate.ts'
import { RetryOnConnectionLoss } from './db/retry-on-connection-loss.ts'
import { messageOf } from './errors.ts'
import { watchEventLoop } from './event-loop-watch.ts'
import type { Log } from './log.ts'
import { openQueue } from './queue/pg-boss-queue.ts'
import type { Queue } from './queue/queue.ts'
import { RateBudgets } from './rate/rate-budgets.ts'
import type { RateReading } from './rate/shared-key.ts'
import {
  AppraisalClient,
  type AppraisalClientOptions,
  openRooftopCalls,
} from './sources/appraisal/client.ts'
import { HttpSource, type SentRequest } from './sources/http.ts'
import { localBudgets, type OpenBudget } from './sources/limiter.ts'
import { FairReadQueue } from './sources/fair-read-queue.ts'
import { ServiceClient } from './sources/service-client.ts'
import { VehicleDataCalls } from './sources/vehicle-data/calls.ts'
import { type RequestEnded, requestEnded } from './telemetry.ts'
import { defaultSliceLimits, type SliceLimits } from './values/slice-limits.ts'
import { openWarehouse, type Warehouse } from './warehouse.ts'

/** Everything a run needs. */
export interface Context extends Warehouse {
  readonly queue: Queue
  /** The newest migration that this process knows; it commits nothing to a warehouse that is beyond. */
  readonly schemaVersion: number
  readonly appraisal: AppraisalClient
  /** Any other read of both services; shares connections and limiters with `appraisal`. */
  readonly services: ServiceClient<'read'>
  /** How fast each key may be used now, over all processes, and what this one has under way. */
  readonly rates: () => RateReading[]
  /** Which slice's records this process reads first. */
  readonly readQueue: FairReadQueue
  readonly sliceLimits: SliceLimits
  /** Ends reading and writing at the next safe point. */
  readonly signal: AbortSignal
  /** Called at the named points of a slice; tests kill the process there. */
  readonly crashPoint: (name: string) => void
  readonly progress: Progress
}

/** Told how the work goes on; draws the bars on a terminal. */
export interface Progress {
  slice(slice: {
    stream: string
    rooftop: string
    done: number
    total: number
    records: number
  }): void
  end(): void
}

export const noProgress: Progress = { slice: () => {}, end: () => {} }

export interface ContextOptions {
  readonly signal?: AbortSignal
  readonly crashPoint?: (name: string) => void
  /** Default: `defaultSliceLimits`. */
  readonly sliceLimits?: SliceLimits
  readonly progress?: Progress
  /** To Postgres, at most; 16 unless given. */
  readonly connections?: number
  /** How long a Postgres that does not answer yet is waited for; null: as long as it takes. 60 unless given. */
  readonly waitSeconds?: number | null
}

const waitSecondsByDefault = 60

/** A process that is frozen within a transaction keeps what others wait for: after so long the server ends it. Longer than any
 *  pause between two statements of a slice, shorter than a heartbeat's silence. */
const idleInTransactionTimeoutMs = 8_000

/** Opens warehouse, work engine and source for a run. */
export async function openContext(
  config: Config,
  log: Log,
  options: ContextOptions = {},
): Promise<Context> {
  const sessions = { max: options.connections ?? 16, idleInTransactionTimeoutMs }
  const { signal = new AbortController().signal, waitSeconds = waitSecondsByDefault } = options
  const patience = new RetryOnConnectionLoss({ log, signal }, waitSeconds)
  const warehouse = await patience.run(() => openWarehouse(config, log, 'write', sessions))
  const { version: schemaVersion } = await migrationStatus(warehouse.pool)
  const queue = await openQueue(warehouse.pool, (error) => {
    // Whoever works says once that Postgres is away; the engine would say so every second.
    if (isConnectionLoss(error)) log.debug(`work engine: ${messageOf(error)}`)
    else log.warn({ err: error }, 'work engine')
  })
  const rates = new RateBudgets(warehouse.pool, log, config.http.requestsPerSecond)
  const appraisal = new AppraisalClient({
    ...appraisalOptions(config, log, rates.open),
    restsWhenRefused: true,
  })
  const vehicleData = openVehicleData<'read'>(config, log, rates.open)
  const services = new ServiceClient<'read'>({
    appraisal: appraisal.calls,
    vehicleData: vehicleData.calls,
    wire: config.wire,
    reach: ['read'],
  })
  const eventLoop = watchEventLoop(log)
  return {
    ...warehouse,
    queue,
    schemaVersion,
    appraisal,
    services,
    rates: () => rates.readings(),
    // So many wait at the limiter that a slot is taken again before the answer that left it has been looked into.
    readQueue: new FairReadQueue(2 * config.http.concurrency),
    sliceLimits: options.sliceLimits ?? defaultSliceLimits,
    signal,
    crashPoint: options.crashPoint ?? (() => {}),
    progress: options.progress ?? noProgress,
    async [Symbol.asyncDispose]() {
      eventLoop[Symbol.dispose]()
      await queue.stop()
      await Promise.all([appraisal.close(), vehicleData.source.close()])
      await rates[Symbol.asyncDispose]()
      await warehouse[Symbol.asyncDispose]()
    },
  }
}

/** The client of the appraisal service with the config's keys; tells the log of every request, at debug. */
export function openAppraisal(config: Config, log: Log): AppraisalClient {
  return new AppraisalClient(appraisalOptions(config, log))
}

/** A client for every documented operation of both services whose effect is within reach. */
export interface Services<Reach extends Effect> extends AsyncDisposable {
  readonly client: ServiceClient<Reach>
}

/** Opens both services. Jobs and streams ask for `read`; only a person on the command line reaches further. */
export function openServices<Reach extends Effect>(
  config: Config,
  log: Log,
  reach: readonly Reach[],
): Services<Reach> {
  const { wire } = config
  const appraisal = openRooftopCalls<Reach>(appraisalOptions(config, log))
  const { source, calls } = openVehicleData<Reach>(config, log)
  return {
    client: new ServiceClient({ appraisal: appraisal.calls, vehicleData: calls, wire, reach }),
    async [Symbol.asyncDispose]() {
      await Promise.all([appraisal.http.close(), source.close()])
    },
  }
}

/** The vehicle-data APIs over connections of their own, made when the first call is sent. */
function openVehicleData<Reach extends Effect>(
  { wire, http, vehicleData }: Config,
  log: Log,
  budget: OpenBudget | undefined = localBudgets(http.requestsPerSecond),
) {
  const { concurrency } = http
  const source = new HttpSource({
    baseUrl: vehicleData.baseUrl,
    setting: 'vehicleData.baseUrl',
    connections: concurrency,
    ...http,
    errorPath: wire.vehicleData.error,
    now: () => new Date(),
    log: (sent) => {
      log.debug(sent, `${sent.method} ${sent.path}`)
      tellOfRequest('vehicle-data', 'vehicleData', sent)
    },
  })
  const limits = { concurrency, budget }
  const calls = new VehicleDataCalls<Reach>(source, vehicleData.apiKey, wire, limits)
  return { source, calls }
}

function appraisalOptions(
  config: Config,
  log: Log,
  budget: OpenBudget | undefined = localBudgets(config.http.requestsPerSecond),
): AppraisalClientOptions {
  const keys = Object.fromEntries(
    Object.entries(config.keys).map(([name, entry]) => [name, { name, ...entry }]),
  )
  const keyOf = new Map(config.rooftops.map(({ uid, key }) => [uid, key]))
  return {
    baseUrl: config.appraisal.baseUrl,
    keys,
    wire: config.wire.appraisal,
    http: config.http,
    budget,
    log: ({ details: { rooftopUid }, ...sent }) => {
      const keyName = rooftopUid && keyOf.get(rooftopUid)
      log.debug({ ...sent, keyName, rooftopUid }, `${sent.method} ${sent.path}`)
      tellOfRequest('appraisal', keyName ?? 'none', sent)
    },
  }
}

function tellOfRequest(
  service: RequestEnded['service'],
  keyName: string,
  { method, path: at, status, ms, attempt }: Omit<SentRequest, 'details'>,
): void {
  requestEnded.publish({ service, keyName, method, path: at, status, seconds: ms / 1000, attempt })
}

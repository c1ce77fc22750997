import type { Config } from './config/read.ts'
import type { Effect } from './contract/operation.ts'
import { isConnectionLoss } from './db/connect.ts'
import { migrationStatus } from './db/migrate.ts'
import { RetryOnConnectionLoss } from './db/retry-on-connection-loss.ts'
import { messageOf } from './errors.ts'
import { watchEventLoop } from './event-loop-watch.ts'
import type { Log } from './log.ts'
import { openQueue, type Queue } from './queue/queue.ts'
import { RateBudgets, type RateReading } from './rate/rate-budgets.ts'
import {
  AppraisalClient,
  type AppraisalClientOptions,
  openRooftopCalls,
} from './sources/appraisal/client.ts'
import { HttpSource, type SentRequest } from './sources/http.ts'
import { localBudgets, type OpenBudget } from './sources/limiter.ts'
import { FairReadQueue } from './sources/fair-read-queue.ts'
import { ServiceClient } from './sources/service-client.ts'
import { VehicleDataCalls } from './sources/calls.ts'
import { type RequestEnded, requestEnded } from './telemetry.ts'
import { defaultSliceLimits, type SliceLimits } from './values/slice-limits.ts'
import { openWarehouse, type Warehouse } from './warehouse.ts'

/** Everything a run needs. */
export interface Context extends Warehouse {
  readonly queue: Queue
  /** The newest migration that this process knows; it does not write to a newer warehouse. */
  readonly schemaVersion: number
  readonly appraisal: AppraisalClient
  /** All other reads of both services; shares connections and limiters with `appraisal`. */
  readonly services: ServiceClient<'read'>
  /** The current rate limit of each key over all processes, and the requests of this process in flight. */
  readonly rates: () => RateReading[]
  /** Which slice's records this process reads first. */
  readonly readQueue: FairReadQueue
  readonly sliceLimits: SliceLimits
  /** Ends reading and writing at the next safe point. */
  readonly signal: AbortSignal
  /** Called at named points of a slice, where tests kill the process. */
  readonly crashPoint: (name: string) => void
  readonly progress: Progress
}

/** Receives the progress of the work; draws bars on a terminal. */
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
  /** Connections to Postgres at most; default 16. */
  readonly connections?: number
  /** How long to wait for a Postgres that does not answer yet; null: without limit. Default 60. */
  readonly waitSeconds?: number | null
}

const waitSecondsByDefault = 60

/** After this time the server ends the session of a process that is frozen within a transaction, because others wait for its locks.
 *  Longer than any pause between two statements of a slice, shorter than the time-out of a heartbeat. */
const idleInTransactionTimeoutMs = 8_000

/** Opens warehouse, work queue and source for a run. */
export async function openContext(
  config: Config,
  log: Log,
  options: ContextOptions = {},
): Promise<Context> {
  const sessions = { max: options.connections ?? 16, idleInTransactionTimeoutMs }
  const { signal = new AbortController().signal, waitSeconds = waitSecondsByDefault } = options
  const retry = new RetryOnConnectionLoss({ log, signal }, waitSeconds)
  const warehouse = await retry.run(() => openWarehouse(config, log, 'write', sessions))
  const { version: schemaVersion } = await migrationStatus(warehouse.pool)
  const queue = await openQueue(warehouse.pool, (error) => {
    // The work logs an unreachable Postgres once; the work queue would log it every second.
    if (isConnectionLoss(error)) log.debug(`work queue: ${messageOf(error)}`)
    else log.warn({ err: error }, 'work queue')
  })
  const rates = new RateBudgets(warehouse.pool, log, config.http.requestsPerSecond)
  const appraisal = new AppraisalClient({
    ...appraisalOptions(config, log, rates.open),
    useCircuitBreaker: true,
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
    // Enough requests wait at the limiter to reuse a free slot while the last answer is still processed.
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

/** The client of the appraisal service with the keys of the config; logs every request at debug. */
export function openAppraisal(config: Config, log: Log): AppraisalClient {
  return new AppraisalClient(appraisalOptions(config, log))
}

/** A client for every documented operation of both services with an allowed effect. */
export interface Services<Reach extends Effect> extends AsyncDisposable {
  readonly client: ServiceClient<Reach>
}

/** Opens both services. Jobs and streams use `read`; only a person on the command line may write or bill. */
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

/** The vehicle-data APIs with separate connections, opened at the first call. */
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
      reportRequest('vehicle-data', 'vehicleData', sent)
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
      reportRequest('appraisal', keyName ?? 'none', sent)
    },
  }
}

function reportRequest(
  service: RequestEnded['service'],
  keyName: string,
  { method, path: at, status, ms, attempt }: Omit<SentRequest, 'details'>,
): void {
  requestEnded.publish({ service, keyName, method, path: at, status, seconds: ms / 1000, attempt })
}

import type { Config } from '../../app/config/read.ts'
import { type RequestEnded, requestEnded } from '../../telemetry.ts'
import type { Effect } from '../contract/operation.ts'
import {
  AppraisalClient,
  type AppraisalClientOptions,
  openRooftopCalls,
} from './appraisal/client.ts'
import type { KeyAnswers } from './calls.ts'
import { vehicleDataCalls } from './calls.ts'
import { HttpSource, type SentRequest } from './http.ts'
import { localBudgets, type OpenBudget } from './limiter.ts'
import { ServiceClient } from './service-client.ts'

/** Where requests (debug) and long waits for a key (info) are logged. */
export interface SourceLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
}

/** A client for every documented operation of both services with an allowed effect. */
export interface Services<Reach extends Effect> extends AsyncDisposable {
  readonly client: ServiceClient<'read' | Reach>
  /** The reads with a shape of their own; shares connections and limiters with `client`. */
  readonly appraisal: AppraisalClient
}

/** Opens both services; logs every request at debug. Jobs and streams use `read`; only a person on the command line may write or bill. */
export function openServices<Reach extends Effect>(
  config: AppraisalConfig & VehicleDataConfig,
  log: SourceLog,
  reach: readonly ('read' | Reach)[],
  shared: Shared = {},
): Services<Reach> {
  const { wire } = config
  const options = appraisalOptions(config, log, shared)
  const appraisal = openRooftopCalls<'read' | Reach>(options)
  const { source, calls } = openVehicleData<'read' | Reach>(config, log, shared)
  return {
    client: new ServiceClient({ appraisal: appraisal.calls, vehicleData: calls, wire, reach }),
    appraisal: new AppraisalClient(options, appraisal),
    async [Symbol.asyncDispose]() {
      await Promise.all([appraisal.http.close(), source.close()])
    },
  }
}

type AppraisalConfig = Pick<
  Config,
  'appraisal' | 'keys' | 'keySources' | 'rooftops' | 'http' | 'wire'
>
type VehicleDataConfig = Pick<Config, 'wire' | 'http' | 'vehicleData' | 'vehicleDataKeySource'>

/** What the processes of a warehouse share; without it, each process has its limits alone and stores no answers. */
interface Shared {
  readonly budget?: OpenBudget
  readonly keyAnswers?: KeyAnswers
  /** Of the appraisal service; default false. */
  readonly useCircuitBreaker?: boolean
}

/** The vehicle-data APIs with separate connections, opened at the first call. */
function openVehicleData<Reach extends Effect>(
  { wire, http, vehicleData, vehicleDataKeySource }: VehicleDataConfig,
  log: SourceLog,
  { budget = localBudgets(http.requestsPerSecond), keyAnswers }: Shared,
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
  const limits = { concurrency, budget, keyAnswers, onLongBlock: logBlocks(log) }
  const key = { apiKey: vehicleData.apiKey, apiKeySource: vehicleDataKeySource }
  const calls = vehicleDataCalls<Reach>(source, key, wire, limits)
  return { source, calls }
}

function appraisalOptions(
  config: AppraisalConfig,
  log: SourceLog,
  shared: Shared,
): AppraisalClientOptions {
  const { budget = localBudgets(config.http.requestsPerSecond), ...others } = shared
  const keys = Object.fromEntries(
    Object.entries(config.keys).map(([name, entry]) => [
      name,
      { name, source: config.keySources[name], ...entry },
    ]),
  )
  const keyOf = new Map(config.rooftops.map(({ uid, key }) => [uid, key]))
  return {
    baseUrl: config.appraisal.baseUrl,
    keys,
    wire: config.wire.appraisal,
    http: config.http,
    ...{ budget, ...others, onLongBlock: logBlocks(log) },
    log: ({ details: { rooftopUid }, ...sent }) => {
      const keyName = rooftopUid && keyOf.get(rooftopUid)
      log.debug({ ...sent, keyName, rooftopUid }, `${sent.method} ${sent.path}`)
      reportRequest('appraisal', keyName ?? 'none', sent)
    },
  }
}

/** Without it, a run that waits for its key would be silent for minutes. */
function logBlocks(log: SourceLog) {
  return (keyName: string | null, until: Date) =>
    log.info({ keyName }, `key ${keyName ?? 'vehicleData'} waits until ${until.toISOString()}`)
}

function reportRequest(
  service: RequestEnded['service'],
  keyName: string,
  { method, path: at, status, ms, attempt }: Omit<SentRequest, 'details'>,
): void {
  requestEnded.publish({ service, keyName, method, path: at, status, seconds: ms / 1000, attempt })
}

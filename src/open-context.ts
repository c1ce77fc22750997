import { RateBudgets } from './api/rate/rate-budgets.ts'
import { FairReadQueue } from './api/sources/fair-read-queue.ts'
import { openServices } from './api/sources/open-services.ts'
import type { Config } from './app/config/read.ts'
import { type Context, noProgress, type Progress } from './context.ts'
import { errorText } from './errors.ts'
import type { Log } from './log.ts'
import { eventLoopBlocked } from './telemetry.ts'
import { defaultSliceLimits, type SliceLimits } from './values/slice-limits.ts'
import { isConnectionLoss } from './warehouse/db/connect.ts'
import { KeyAnswerLog } from './warehouse/db/key-answers.ts'
import { migrationStatus } from './warehouse/db/migrate.ts'
import { RetryOnConnectionLoss } from './warehouse/db/retry-on-connection-loss.ts'
import { openRunLog } from './warehouse/db/run-log.ts'
import { readSource, registerSource } from './warehouse/db/run-source.ts'
import { openQueue } from './warehouse/queue/queue.ts'
import { openWarehouse } from './warehouse/warehouse.ts'

export interface ContextOptions {
  readonly signal?: AbortSignal
  readonly crashPoint?: (name: string) => void
  /** Default: `defaultSliceLimits`. */
  readonly sliceLimits?: SliceLimits
  readonly progress?: Progress
  /** The name of its sessions in pg_stat_activity; default: forecourt. */
  readonly applicationName?: string
  /** Connections to Postgres at most; default 16. */
  readonly connections?: number
  /** The services are the sandbox of this process, which ends with it; default false. */
  readonly isSandbox?: boolean
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
  const { applicationName = 'forecourt', connections: max = 16 } = options
  const sessions = { applicationName, max, idleInTransactionTimeoutMs }
  const { signal = new AbortController().signal, waitSeconds = waitSecondsByDefault } = options
  const retry = new RetryOnConnectionLoss({ log, signal }, waitSeconds)
  const warehouse = await retry.run(() => openWarehouse(config, log, 'write', sessions))
  const { version: schemaVersion } = await migrationStatus(warehouse.pool)
  const sourceId = await registerSource(warehouse.db, readSource(config, options.isSandbox))
  const queue = await openQueue(warehouse.pool, sourceId, (error) => {
    // The work logs an unreachable Postgres once; the work queue would log it every second.
    if (isConnectionLoss(error)) log.debug(`work queue: ${errorText(error)}`)
    else log.warn({ err: error }, 'work queue')
  })
  const rates = new RateBudgets(warehouse.pool, log, config.http.requestsPerSecond)
  const keyAnswers = new KeyAnswerLog(warehouse.pool, log)
  const shared = { budget: rates.open, keyAnswers, useCircuitBreaker: true }
  const services = openServices(config, log, ['read'], shared)
  const eventLoop = watchEventLoop(log)
  const runLog = openRunLog(warehouse.pool, log)
  return {
    ...warehouse,
    queue,
    schemaVersion,
    appraisal: services.appraisal,
    services: services.client,
    rates: () => rates.readings(),
    storeKeyAnswers: async () => await keyAnswers.store(),
    // Enough requests wait at the limiter to reuse a free slot while the last answer is still processed.
    readQueue: new FairReadQueue(2 * config.http.concurrency),
    sliceLimits: options.sliceLimits ?? defaultSliceLimits,
    signal,
    crashPoint: options.crashPoint ?? (() => {}),
    progress: options.progress ?? noProgress,
    async [Symbol.asyncDispose]() {
      eventLoop[Symbol.dispose]()
      await queue.stop()
      await services[Symbol.asyncDispose]()
      await keyAnswers[Symbol.asyncDispose]()
      await rates[Symbol.asyncDispose]()
      await runLog[Symbol.asyncDispose]()
      await warehouse[Symbol.asyncDispose]()
    },
  }
}

const checkMs = 1_000
/** A worker sends a heartbeat every 3 s and loses its work after 10 s without one, so a longer block may lose work. */
const maxBlockMs = 5_000

/** Reports each time the event loop of this process was blocked for longer than the heartbeats allow, once it runs again. */
export function watchEventLoop(
  log: Log,
  { everyMs = checkMs, limitMs = maxBlockMs } = {},
): Disposable {
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    const blockedMs = now - last - everyMs
    last = now
    if (blockedMs <= limitMs) return
    const seconds = Math.round(blockedMs / 100) / 10
    log.warn(
      { seconds },
      'event loop blocked: no heartbeat was sent, so another worker may have taken work over',
    )
    eventLoopBlocked.publish({ seconds: blockedMs / 1000 })
  }, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

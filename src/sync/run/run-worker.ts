import type { Context } from '../../context.ts'
import { errorText } from '../../errors.ts'
import { RetryOnConnectionLoss } from '../../warehouse/db/retry-on-connection-loss.ts'
import { registerRooftops } from './rooftops.ts'
import type { Run } from './run-ledger.ts'
import type { Stream } from './stream.ts'
import { runWorkLoop } from './work-loop.ts'

/** How long the slices in progress may take to end, or to be returned to the queue, after a stop signal. */
const drainMs = 25_000

/** What a worker works on, and how many slices at once. */
interface WorkerOptions {
  readonly streams: readonly Stream[]
  /** Slices at once. */
  readonly concurrency: number
}

/**
 * Works on everything that is queued for the rooftops of the config, for any run, until the context's signal; survives restarts
 * of Postgres. false: a slice did not stop in time; after this process ends, another one repeats it. OutdatedError when the
 * warehouse has been migrated beyond this version.
 */
export async function runWorker(context: Context, working: WorkerOptions): Promise<boolean> {
  const retry = new RetryOnConnectionLoss(context, null)
  const rooftops = await retry.run(() =>
    registerRooftops(context.db, context.config.rooftops, context.log),
  )
  const clocks = new Clocks(context)
  const logged = new Set<number>()
  const logRun = ({ runId, command, lane }: Run) => {
    // Webhook runs are logged by the receiver.
    if (lane === 'event' || logged.has(runId)) return
    logged.add(runId)
    context.log.info({ runId, command, lane }, `works for run ${runId} (${command})`)
  }
  const worked = runWorkLoop(context, {
    ...working,
    rooftops,
    runId: null,
    retry,
    isDone: async () => false,
    keepAlive: async () => {},
    onSlice: async () => {},
    onRun: async (run) => {
      logRun(run)
      await clocks.measuredFor(run)
    },
  })
  return await Promise.race([worked.then(() => true), drained(context.signal)])
}

/** Resolves some time after the stop signal, so that a slice that does not stop cannot block the exit. */
async function drained(signal: AbortSignal): Promise<false> {
  if (!signal.aborted)
    await new Promise<void>((stop) => signal.addEventListener('abort', () => stop()))
  return await new Promise((done) => setTimeout(done, drainMs, false).unref())
}

/** Measures the source's clock for every run, as the process that started the run did. */
class Clocks {
  readonly #context: Context
  #runId = -1
  #measured: Promise<void> = Promise.resolve()

  constructor(context: Context) {
    this.#context = context
  }

  async measuredFor({ runId, mode }: Run): Promise<void> {
    if (runId > this.#runId && mode !== 'replay') {
      this.#runId = runId
      this.#measured = this.#measure()
    }
    await this.#measured
  }

  async #measure(): Promise<void> {
    const { appraisal, signal, log } = this.#context
    try {
      await appraisal.measureClock({ signal })
    } catch (error) {
      if (!signal.aborted) log.warn(`source clock not read: ${errorText(error)}`)
    }
  }
}

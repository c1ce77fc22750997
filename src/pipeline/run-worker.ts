import type { Context } from '../context.ts'
import { messageOf } from '../errors.ts'
import type { Stream } from '../streams/stream.ts'
import type { Run } from './run-ledger.ts'
import { RetryOnConnectionLoss } from '../db/retry-on-connection-loss.ts'
import { registerRooftops } from './rooftops.ts'
import { runWorkLoop } from './work-loop.ts'

/** How long the slices under way may take to end or to be handed back once the process is to stop. */
const drainMs = 25_000

/** What a worker does, and how much of it at once. */
export interface WorkerOptions {
  readonly streams: readonly Stream[]
  /** Slices at once. */
  readonly concurrency: number
}

/**
 * Works on whatever is queued for the rooftops of the config, whichever run it belongs to, until the context's signal; through
 * restarts of Postgres. false: a slice would not stop in time; once this process is gone another one does it again.
 * OutdatedError when the warehouse has been migrated beyond this version.
 */
export async function runWorker(context: Context, working: WorkerOptions): Promise<boolean> {
  const patience = new RetryOnConnectionLoss(context, null)
  const rooftops = await patience.run(() =>
    registerRooftops(context.db, context.config.rooftops, context.log),
  )
  const clocks = new Clocks(context)
  const told = new Set<number>()
  const tell = ({ runId, command, lane }: Run) => {
    // Webhooks tell of their runs themselves.
    if (lane === 'event' || told.has(runId)) return
    told.add(runId)
    context.log.info({ runId, command, lane }, `works for run ${runId} (${command})`)
  }
  const worked = runWorkLoop(context, {
    ...working,
    rooftops,
    runId: null,
    patience,
    isDone: async () => false,
    keepAlive: async () => {},
    onSlice: async () => {},
    onRun: async (run) => {
      tell(run)
      await clocks.measuredFor(run)
    },
  })
  return await Promise.race([worked.then(() => true), drained(context.signal)])
}

async function drained(signal: AbortSignal): Promise<false> {
  if (!signal.aborted)
    await new Promise<void>((stop) => signal.addEventListener('abort', () => stop()))
  return await new Promise((done) => setTimeout(done, drainMs, false).unref())
}

/** The source's clock is measured for every run, as the process that began it did. */
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
      if (!signal.aborted) log.warn(`the source's clock could not be read: ${messageOf(error)}`)
    }
  }
}

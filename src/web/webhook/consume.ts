import type { RooftopConfig } from '../../app/config/read.ts'
import { type Context, noProgress } from '../../context.ts'
import {
  BusyError,
  errorText,
  FencedError,
  OutdatedError,
  SyncError,
  UsageError,
} from '../../errors.ts'
import { evaluations } from '../../streams/evaluations/evaluations.ts'
import { runStreams } from '../../sync/run/run-streams.ts'
import { sleep } from '../../values/sleep.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { assertSchemaKnown } from '../../warehouse/db/migrate.ts'
import {
  type DueDeliveries,
  postpone,
  readDueDeliveries,
  readDueRooftops,
} from './due-deliveries.ts'
import { HintLocks } from './hint-locks.ts'

const pollMs = 500
/** The pause when nothing was due at the last poll. */
const idleMs = 1_000
/** The pause after an error: it is not logged twice a second. */
const retryMs = 5_000
const rooftopsAtOnce = 4

/**
 * Loads the deliveries in the inbox until the context's signal, with a run for each rooftop and burst. Resolves once the runs in
 * progress have ended. Several processes may do this at once: a lock gives each rooftop to one of them. OutdatedError when the warehouse
 * has been migrated beyond this version.
 */
export async function consumeHints(context: Context): Promise<void> {
  await using consumer = new Consumer(context)
  await consumer.run()
}

class Consumer implements AsyncDisposable {
  readonly #context: Context
  readonly #locks: HintLocks
  readonly #active = new Map<string, Promise<void>>()
  /** Rooftops with deliveries that are no longer in the config: the deliveries wait until they are. */
  readonly #unknownRooftops = new Set<string>()
  #outdated: OutdatedError | null = null

  constructor(context: Context) {
    this.#context = context
    this.#locks = new HintLocks(context.pool)
  }

  async run(): Promise<void> {
    const { signal, log } = this.#context
    while (!signal.aborted && this.#outdated === null) {
      let pauseMs = retryMs
      try {
        pauseMs = (await this.#startDue()) ? pollMs : idleMs
      } catch (error) {
        if (error instanceof OutdatedError) {
          this.#outdated = error
          break
        }
        log.warn({ reason: errorText(error) }, 'the webhook inbox cannot be read; trying again')
      }
      await sleep(pauseMs, [signal]).catch(() => undefined)
    }
    await Promise.all(this.#active.values())
    if (this.#outdated !== null) throw this.#outdated
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#locks[Symbol.asyncDispose]()
  }

  /** Whether there is anything to do. */
  async #startDue(): Promise<boolean> {
    const { pool, db, config, queue } = this.#context
    if (this.#active.size >= rooftopsAtOnce) return true
    await assertSchemaKnown(pool, this.#context.schemaVersion)
    const except = [...this.#unknownRooftops, ...this.#active.keys()]
    const due = await readDueRooftops(db, queue.sourceId, except)
    for (const { uid, rooftopId } of due) {
      if (this.#active.size >= rooftopsAtOnce) return true
      const rooftop = config.rooftops.find((one) => one.uid === uid)
      if (rooftop === undefined) this.#unknownRooftops.add(uid)
      else if (await this.#locks.tryLock(rooftopId)) this.#start(rooftop, rooftopId)
    }
    return due.length > 0 || this.#active.size > 0
  }

  #start(rooftop: RooftopConfig, rooftopId: number): void {
    const done = loadDue(this.#context, rooftop, rooftopId)
      .catch((error) => {
        this.#outdated = error
      })
      .finally(async () => {
        await this.#locks.unlock(rooftopId)
        this.#active.delete(rooftop.uid)
      })
    this.#active.set(rooftop.uid, done)
  }
}

/** Loads what is due. Throws OutdatedError alone: what could not be loaded waits, longer each time. */
async function loadDue(context: Context, rooftop: RooftopConfig, rooftopId: number): Promise<void> {
  const { log, db, signal } = context
  const about = { rooftop: rooftop.uid }
  let due: DueDeliveries | null = null
  try {
    due = await readDueDeliveries(db, context.queue.sourceId, rooftopId)
    // Another process may have loaded them before the lock was ours.
    if (due.ids.length > 0) await load(context, rooftop, due)
  } catch (error) {
    if (error instanceof OutdatedError) throw error
    if (signal.aborted) return
    // Another process does it, or has taken it over.
    if (error instanceof BusyError || error instanceof FencedError) return
    const reason = errorText(error)
    log.warn({ ...about, reason }, 'webhooks could not be loaded; trying again later')
    if (due !== null && (error instanceof UsageError || error instanceof SyncError))
      await postpone(db, due, reason).catch(() => undefined)
    await sleep(retryMs, [signal]).catch(() => undefined)
  }
}

/** One run. */
async function load(context: Context, rooftop: RooftopConfig, due: DueDeliveries): Promise<void> {
  const { log, config, db } = context
  const report = await runStreams(
    { ...context, progress: noProgress },
    {
      plan: {
        command: 'webhooks',
        mode: 'hints',
        lane: 'event',
        from: toUnixSeconds(config.sync.start),
        until: null,
      },
      streams: [evaluations],
      rooftops: [rooftop],
    },
  )
  const { error = 'the run ended before it' } = report.rooftops[rooftop.uid] ?? {}
  const about = { rooftop: rooftop.uid, deliveries: due.ids.length, runId: report.runId }
  log.info({ ...about, ...report.streams[evaluations.name] }, `webhooks: run ${report.runId}`)
  if (!context.signal.aborted) await postpone(db, due, error)
}

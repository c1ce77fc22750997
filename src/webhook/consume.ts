import type { RooftopConfig } from '../config.ts'
import { type Context, noProgress } from '../context.ts'
import { assertSchemaKnown } from '../db/migrate.ts'
import {
  BusyError,
  FencedError,
  messageOf,
  OutdatedError,
  SyncError,
  UsageError,
} from '../errors.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { evaluations } from '../streams/evaluations/evaluations.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { sleep } from '../values/sleep.ts'
import {
  type DueDeliveries,
  postpone,
  readDueDeliveries,
  readDueRooftops,
} from './due-deliveries.ts'
import { HintLocks } from './hint-locks.ts'

const lookEveryMs = 500
/** Nothing was due when it looked last. */
const idleMs = 1_000
/** The warehouse is away: nobody needs to be told of it twice a second. */
const restMs = 5_000
const rooftopsAtOnce = 4

/**
 * Loads what the inbox holds, a run for each rooftop and burst, until the context's signal; resolves once what was under way
 * has ended. Any number of processes may do this at once: one of them is at work on a rooftop. OutdatedError when the warehouse
 * has been migrated beyond this version.
 */
export async function consumeHints(context: Context): Promise<void> {
  await using consumer = new Consumer(context)
  await consumer.last()
}

class Consumer implements AsyncDisposable {
  readonly #context: Context
  readonly #locks: HintLocks
  readonly #active = new Map<string, Promise<void>>()
  /** Rooftops with deliveries that are no more in the config: they wait for it to come back. */
  readonly #strangers = new Set<string>()
  #outdated: OutdatedError | null = null

  constructor(context: Context) {
    this.#context = context
    this.#locks = new HintLocks(context.pool)
  }

  async last(): Promise<void> {
    const { signal, log } = this.#context
    while (!signal.aborted && this.#outdated === null) {
      let pauseMs = restMs
      try {
        pauseMs = (await this.#startDue()) ? lookEveryMs : idleMs
      } catch (error) {
        if (error instanceof OutdatedError) {
          this.#outdated = error
          break
        }
        log.warn({ reason: messageOf(error) }, 'the inbox of the webhooks cannot be read just now')
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
    const { pool, config } = this.#context
    if (this.#active.size >= rooftopsAtOnce) return true
    await assertSchemaKnown(pool, this.#context.schemaVersion)
    const told = await readDueRooftops(pool, [...this.#strangers, ...this.#active.keys()])
    for (const { uid, rooftopId } of told) {
      if (this.#active.size >= rooftopsAtOnce) return true
      const rooftop = config.rooftops.find((one) => one.uid === uid)
      if (rooftop === undefined) this.#strangers.add(uid)
      else if (await this.#locks.tryLock(rooftopId)) this.#start(rooftop, rooftopId)
    }
    return told.length > 0 || this.#active.size > 0
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

/** Throws OutdatedError alone: what could not be loaded waits, longer each time. */
async function loadDue(context: Context, rooftop: RooftopConfig, rooftopId: number): Promise<void> {
  const { log, pool, signal } = context
  const about = { rooftop: rooftop.uid }
  let due: DueDeliveries | null = null
  try {
    due = await readDueDeliveries(pool, rooftopId)
    // Another process had them before the lock was ours.
    if (due.ids.length > 0) await load(context, rooftop, due)
  } catch (error) {
    if (error instanceof OutdatedError) throw error
    if (signal.aborted) return
    // Another process does it, or has taken it over.
    if (error instanceof BusyError || error instanceof FencedError) return
    const reason = messageOf(error)
    log.warn({ ...about, reason }, 'webhooks could not be loaded; they wait')
    if (due !== null && (error instanceof UsageError || error instanceof SyncError))
      await postpone(pool, due, reason).catch(() => undefined)
    await sleep(restMs, [signal]).catch(() => undefined)
  }
}

/** One run. */
async function load(context: Context, rooftop: RooftopConfig, due: DueDeliveries): Promise<void> {
  const { log, config, pool } = context
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
  if (!context.signal.aborted) await postpone(pool, due, error)
}

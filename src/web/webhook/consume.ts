import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
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
import { isForSource, postponeDeliveries } from '../../streams/evaluations/hints.ts'
import { runStreams } from '../../sync/run/run-streams.ts'
import { sleep } from '../../values/sleep.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { assertSchemaKnown } from '../../warehouse/db/migrate.ts'
import { type Db, dbOn } from '../../warehouse/db/transaction.ts'

const pollMs = 500
/** The pause when nothing was due at the last poll. */
const idleMs = 1_000
/** The pause after an error: it is not logged twice a second. */
const retryMs = 5_000
/** Rooftops that are loaded at once, and those whose deliveries are read at once. */
const runsAtOnce = 4
const rooftopsAtOnce = 16
const deliveriesAtOnce = 500

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
    if (this.#active.size >= runsAtOnce) return true
    await assertSchemaKnown(pool, this.#context.schemaVersion)
    const except = [...this.#unknownRooftops, ...this.#active.keys()]
    const due = await readDueRooftops(db, queue.sourceId, except)
    for (const { uid, rooftopId } of due) {
      if (this.#active.size >= runsAtOnce) return true
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
      await postponeDeliveries(db, due.ids, reason, due.asOf).catch(() => undefined)
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
  // A failed attempt of those that still wait, and that the run has not postponed itself.
  if (!context.signal.aborted) await postponeDeliveries(db, due.ids, error, due.asOf)
}

/** A rooftop with deliveries that are due. */
interface DueRooftop {
  readonly rooftopId: number
  readonly uid: string
}

/** The deliveries of a rooftop that were due at a moment. */
interface DueDeliveries {
  /** The longest waiting, at most 500. */
  readonly ids: readonly number[]
  /** That moment by the clock of the warehouse, to the microsecond. */
  readonly asOf: string
}

/** Rooftops whose deliveries are due for a process of the source, the longest waiting first, without those that are named; 16,
 *  unless `atMost` says more. Reads one delivery of each rooftop, however many wait. */
export async function readDueRooftops(
  db: Db,
  sourceId: number,
  except: readonly string[] = [],
  atMost = rooftopsAtOnce,
): Promise<DueRooftop[]> {
  const { rows } = await sql<DueRooftop>`
    with recursive oldest as (
      (select rooftop_id, due_at from ops.webhook_delivery
       where state = 'waiting' and ${isForSource(sourceId)} order by rooftop_id, due_at limit 1)
      union all
      select next.* from oldest cross join lateral (
        select rooftop_id, due_at from ops.webhook_delivery
        where state = 'waiting' and ${isForSource(sourceId)} and rooftop_id > oldest.rooftop_id
          order by rooftop_id, due_at limit 1) as next
    )
    select rooftop_id as "rooftopId", rooftop_uid as uid from oldest join core.rooftop using (rooftop_id)
    where due_at <= now() and rooftop_uid <> all(${except}::text[])
    order by due_at limit ${atMost}`.execute(db)
  return rows
}

/** The deliveries of a rooftop that are due now for a process of the source. */
export async function readDueDeliveries(
  db: Db,
  sourceId: number,
  rooftopId: number,
): Promise<DueDeliveries> {
  const { rows } = await sql<{ ids: string[]; asOf: string }>`
    select now()::text as "asOf", array(
      select delivery_id from ops.webhook_delivery
      where rooftop_id = ${rooftopId} and state = 'waiting' and due_at <= now() and ${isForSource(sourceId)}
      order by due_at, delivery_id limit ${deliveriesAtOnce}) as ids`.execute(db)
  const { ids, asOf } = rows[0]!
  return { ids: ids.map(Number), asOf }
}

/** Session locks on rooftops, all on one connection that is held only while there are any. They end with the process. */
class HintLocks implements AsyncDisposable {
  readonly #pool: pg.Pool
  readonly #held = new Set<number>()
  #client: pg.PoolClient | null = null
  /** One statement at a time on the connection. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Takes the lock if it is free; returns whether it was. */
  async tryLock(rooftopId: number): Promise<boolean> {
    return await this.#inOrder(async () => {
      this.#client ??= await this.#pool.connect()
      const locked = await this.#query(lockSql.trySession('hints', rooftopId))
      if (locked) this.#held.add(rooftopId)
      this.#releaseIfIdle()
      return locked
    })
  }

  async unlock(rooftopId: number): Promise<void> {
    await this.#inOrder(async () => {
      if (this.#client !== null) await this.#query(lockSql.unlockSession('hints', rooftopId))
      this.#held.delete(rooftopId)
      this.#releaseIfIdle()
    }).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last.catch(() => undefined)
    this.#drop()
  }

  async #query(call: RawBuilder<unknown>): Promise<boolean> {
    try {
      const { rows } = await sql<{ done: boolean }>`
        select ${call} as done`.execute(dbOn(this.#client!))
      return rows[0]!.done
    } catch (error) {
      // The connection is lost, and every lock with it; the run's own lock still keeps two runs from one rooftop.
      this.#drop()
      throw error
    }
  }

  #releaseIfIdle(): void {
    if (this.#held.size > 0) return
    this.#client?.release()
    this.#client = null
  }

  #drop(): void {
    this.#client?.release(true)
    this.#client = null
    this.#held.clear()
  }

  async #inOrder<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act, act)
    this.#last = done.catch(() => undefined)
    return await done
  }
}

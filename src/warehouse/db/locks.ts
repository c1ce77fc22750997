import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import { type Db, dbOn, type Tx } from './transaction.ts'

/**
 * Every advisory lock. The number is the lock's first key, so that locks on different things never collide; the second key says
 * which one, and is 0 where there is only one. The files of sql lock by these numbers too.
 */
export const lockClass = {
  /** Changing the schema: one process at a time. */
  migration: 7298,
  /** Starting a run: each start sees the work of the others. */
  startRun: 7299,
  /** A run, by its process: free when that process is dead. */
  run: 7300,
  /** Signing the links of a vehicle again, by hash of its key: one process at a time. */
  signLinks: 7301,
  /** A budget of billable calls, by hash of its name: between counting and reserving. */
  budget: 7302,
  /** A billable call, by its process: free when that process is dead. */
  call: 7303,
  /** Assembling a price batch of a rooftop, so that no unit is in two batches. */
  batch: 7304,
  /** Salespeople of a dealer group: two loads may find the same new one. */
  salespeople: 7305,
  /** Vehicle checks of a dealer group: each load reads what the one before it has written. */
  checks: 7315,
  /** A stock import of a rooftop: one at a time. */
  import: 7306,
  /** Storing an uploaded list, by hash of the person: those that wait are counted. */
  uploads: 7313,
  /** Taking files from a drop folder, by hash of its id: one process at a time. */
  inbox: 7312,
  /** Exporting to a lake, by hash of its address: one process at a time. */
  lake: 7314,
  /** Loads (shared) against an erasure (exclusive). */
  erasure: 7307,
  /** Checking whether a job is due, by hash of its name: one process claims it. */
  job: 7308,
  /** An attempt of a job run, by its process: free when that process is dead. */
  jobRun: 7309,
  /** Searching for work that the queue has lost: one process at a time. */
  repair: 7311,
  /** Deliveries of a rooftop that are being loaded: one process at a time. */
  hints: 7330,
  /** Setting the webhook subscriptions of a rooftop: one process at a time. */
  webhooks: 7331,
  /** Vehicles of a dealer group, by group and hash of the VIN: two loads may each bring the first evaluation of one. */
  vehicles: 7382,
  /** All vehicles of a dealer group (sql): shared by the loads, exclusive for a transaction of many groups. */
  vehicleGroup: 7384,
  /** Statistics of the tables (sql): one process at a time. */
  statistics: 7383,
} as const

/** The name of an advisory lock. */
export type LockName = keyof typeof lockClass

/** An SQL expression, e.g. a column, or a number. */
type Key = RawBuilder<unknown> | number

/** Calls that lock, for a statement. `key` is the second key. Those with `try` do not wait; they return whether the lock was free. */
export const lockSql = {
  /** Until the transaction ends. */
  wait: (name: LockName, key?: Key) => sql`pg_advisory_xact_lock(${lockKeys(name, key)})`,
  waitShared: (name: LockName, key?: Key) =>
    sql`pg_advisory_xact_lock_shared(${lockKeys(name, key)})`,
  try: (name: LockName, key?: Key) => sql`pg_try_advisory_xact_lock(${lockKeys(name, key)})`,
  tryShared: (name: LockName, key: Key) =>
    sql`pg_try_advisory_xact_lock_shared(${lockKeys(name, key)})`,
  /** Until the session ends or unlocks. */
  waitSession: (name: LockName, key: Key) => sql`pg_advisory_lock(${lockKeys(name, key)})`,
  trySession: (name: LockName, key: Key) => sql`pg_try_advisory_lock(${lockKeys(name, key)})`,
  unlockSession: (name: LockName, key: Key) => sql`pg_advisory_unlock(${lockKeys(name, key)})`,
  /** The process of the session that has the lock; null: it is free. */
  holder: (name: LockName, key: Key) => sql`(
    select pid from pg_locks where locktype = 'advisory' and classid = ${sql.lit(lockClass[name])} and objid = (${key})::bigint
      and database = (select oid from pg_database where datname = current_database()) and granted limit 1)`,
  /** Whether any session has the lock, without taking it. */
  isHeld: (name: LockName, key: Key) => sql`exists (
    select from pg_locks where locktype = 'advisory' and classid = ${sql.lit(lockClass[name])} and objid = (${key})::bigint
      and database = (select oid from pg_database where datname = current_database()) and granted)`,
}

function lockKeys(name: LockName, key: Key = 0) {
  return sql`${sql.lit(lockClass[name])}, (${key})::int`
}

/** Waits for a lock, and holds it until the transaction ends. */
export async function holdLock(db: Db, name: LockName, key: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockClass[name]}, ${key})`.execute(db)
}

/** Taken by every load until its commit: an erasure waits for running loads, and later loads wait for it. */
export async function holdErasureLock({ db }: Tx): Promise<void> {
  await sql`select ${lockSql.waitShared('erasure')}`.execute(db)
}

/** A lock of a session. A text is locked by its hash. */
interface SessionLock {
  readonly name: LockName
  readonly subject?: number | string
  readonly timeoutMs?: number
}

/** Another process held the lock for too long. */
export class LockTimeout extends Error {
  override readonly name = 'LockTimeout'
}

/** Runs `work`, with the client that has the lock, while no other session has it. LockTimeout when it is not free in time. */
export async function withSessionLock<T>(
  pool: pg.Pool,
  lock: SessionLock,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const { name, subject = 0 } = lock
  const key = typeof subject === 'string' ? sql`hashtext(${subject})` : subject
  const client = await pool.connect()
  let isFree = false
  try {
    await acquire(client, lock, key)
    const result = await work(client)
    await sql`select ${lockSql.unlockSession(name, key)}`.execute(dbOn(client))
    isFree = true
    return result
  } finally {
    // A session that may still have the lock is ended, and the lock with it.
    client.release(!isFree)
  }
}

async function acquire(
  client: pg.PoolClient,
  { name, timeoutMs }: SessionLock,
  key: Key,
): Promise<void> {
  const statement = sql`select ${lockSql.waitSession(name, key)}`
  if (timeoutMs === undefined) {
    await statement.execute(dbOn(client))
    return
  }
  try {
    await client.query('begin')
    await client.query("select set_config('lock_timeout', $1, true)", [String(timeoutMs)])
    await statement.execute(dbOn(client))
    await client.query('commit')
  } catch (cause) {
    const isTimeout = (cause as { code?: unknown }).code === '55P03'
    if (!isTimeout) throw cause
    throw new LockTimeout(`Another process had the lock "${name}" for ${timeoutMs} ms.`, { cause })
  }
}

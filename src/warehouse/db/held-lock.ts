import { sql } from 'kysely'
import type pg from 'pg'
import { isConnectionLoss } from './connect.ts'
import { type LockName, lockSql } from './locks.ts'
import { dbOn } from './transaction.ts'

/** Wait after a lost session: a Postgres that restarts needs some time. */
const retakeAfterMs = 2_000
/** Interval of the check that the session is alive: a cut connection gives no error until it is used. */
const pingEveryMs = 5_000
/** For this time after a start of the server, a free lock does not prove that its holder is dead. */
export const lockGraceSeconds = 5

/** Name and second key of an advisory lock. */
export type LockKey = readonly [LockName, number]

/**
 * An advisory lock, held by a separate session, that shows that this process is alive. When the session ends, e.g. by a restart of
 * Postgres, the lock is taken again.
 */
export class HeldLock {
  readonly #pool: pg.Pool
  readonly #key: LockKey
  #client: pg.PoolClient | null = null
  #isRetaking = false
  #isReleased = false
  #lostAt = 0
  #pingedAt = performance.now()

  private constructor(pool: pg.Pool, key: LockKey) {
    this.#pool = pool
    this.#key = key
  }

  /** Waits for the lock on an open session, which then belongs to the lock. */
  static async acquire(pool: pg.Pool, client: pg.PoolClient, key: LockKey): Promise<HeldLock> {
    const lock = new HeldLock(pool, key)
    await lock.#take(client)
    return lock
  }

  /** Wraps a session that already has the lock. */
  static fromSession(pool: pg.Pool, client: pg.PoolClient, key: LockKey): HeldLock {
    const lock = new HeldLock(pool, key)
    lock.#watch(client)
    return lock
  }

  /**
   * Checks the session and takes a lost lock again; call it regularly. It never waits for the lock. `retaken`: the lock was lost for
   * a while, and other processes may have treated this one as dead. `lost`: a later call tries again.
   */
  async ensureHeld(): Promise<'held' | 'lost' | 'retaken'> {
    if (this.#client !== null) {
      this.#ping(this.#client)
      return 'held'
    }
    if (this.#isReleased || this.#isRetaking) return 'lost'
    if (performance.now() - this.#lostAt < retakeAfterMs) return 'lost'
    this.#isRetaking = true
    try {
      return (await this.#retake()) ? 'retaken' : 'lost'
    } catch (error) {
      if (isConnectionLoss(error)) return 'lost'
      throw error
    } finally {
      this.#isRetaking = false
      this.#lostAt = performance.now()
    }
  }

  /** Ends the session, which releases the lock. */
  release(): void {
    this.#isReleased = true
    const client = this.#client
    this.#client = null
    client?.release(true)
  }

  async #take(client: pg.PoolClient): Promise<void> {
    const [name, key] = this.#key
    await sql`select ${lockSql.waitSession(name, key)}`.execute(dbOn(client))
    this.#watch(client)
  }

  /** Tries to take the lock. The server may hold the old session and its lock long after our connection was cut: does not wait for it. */
  async #retake(): Promise<boolean> {
    const client = await this.#pool.connect()
    let isTaken = false
    try {
      if (!this.#isReleased) isTaken = await tryLock(client, this.#key)
    } catch (error) {
      client.release(true)
      throw error
    }
    if (isTaken && !this.#isReleased) {
      this.#watch(client)
      return true
    }
    // A session with the lock must end: in the pool it would hold the lock.
    client.release(isTaken)
    return false
  }

  #watch(client: pg.PoolClient): void {
    this.#client = client
    client.once('end', () => this.#onConnectionLost(client))
  }

  #ping(client: pg.PoolClient): void {
    const now = performance.now()
    if (now - this.#pingedAt < pingEveryMs) return
    this.#pingedAt = now
    client.query('select 1').catch(() => this.#onConnectionLost(client))
  }

  #onConnectionLost(client: pg.PoolClient): void {
    if (this.#client !== client) return
    this.#client = null
    this.#lostAt = performance.now()
    client.release(true)
  }
}

async function tryLock(client: pg.PoolClient, [name, key]: LockKey): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`
    select ${lockSql.trySession(name, key)} as taken`.execute(dbOn(client))
  return rows[0]!.taken
}

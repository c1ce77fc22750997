import type pg from 'pg'
import { isConnectionLoss } from './connect.ts'

/** After its session has ended. A Postgres that restarts is not back at once. */
const retakeAfterMs = 2_000
/** How often it is asked whether the session still stands: a line that is cut says nothing by itself. */
const pingEveryMs = 5_000
/** So long after a start of the server nobody can tell from a lock that is free that its holder is dead. */
export const lockGraceSeconds = 5

/** First and second key of an advisory lock. */
export type LockKey = readonly [number, number]

/**
 * An advisory lock that says that this process is alive, held by a session of its own. A restart of Postgres ends the session
 * too; then the lock is taken again.
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

  /** Waits for the lock on a session that is open, and is the lock's from now on. */
  static async acquire(pool: pg.Pool, client: pg.PoolClient, key: LockKey): Promise<HeldLock> {
    const lock = new HeldLock(pool, key)
    await lock.#take(client)
    return lock
  }

  /** Over a session that has the lock already. */
  static fromSession(pool: pg.Pool, client: pg.PoolClient, key: LockKey): HeldLock {
    const lock = new HeldLock(pool, key)
    lock.#watch(client)
    return lock
  }

  /**
   * To be called every now and then; it never waits for the lock. `retaken`: it was lost for a while, in which others may have
   * taken us for dead. `lost`: a later call tries again.
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

  /** The session ends, and with it the lock. */
  release(): void {
    this.#isReleased = true
    const client = this.#client
    this.#client = null
    client?.release(true)
  }

  async #take(client: pg.PoolClient): Promise<void> {
    await client.query('select pg_advisory_lock($1::int, $2::int)', [...this.#key])
    this.#watch(client)
  }

  /** The server may hold the old session, and its lock, long after our end of the line was cut: that is not waited for. */
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
    // A session that has the lock must end: back in the pool it would keep it.
    client.release(isTaken)
    return false
  }

  #watch(client: pg.PoolClient): void {
    this.#client = client
    client.once('end', () => this.#lose(client))
  }

  #ping(client: pg.PoolClient): void {
    const now = performance.now()
    if (now - this.#pingedAt < pingEveryMs) return
    this.#pingedAt = now
    client.query('select 1').catch(() => this.#lose(client))
  }

  #lose(client: pg.PoolClient): void {
    if (this.#client !== client) return
    this.#client = null
    this.#lostAt = performance.now()
    client.release(true)
  }
}

async function tryLock(client: pg.PoolClient, key: LockKey): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(
    'select pg_try_advisory_lock($1::int, $2::int) as taken',
    [...key],
  )
  return rows[0]!.taken
}

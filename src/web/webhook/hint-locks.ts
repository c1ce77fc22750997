import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import { lockSql } from '../../warehouse/db/locks.ts'
import { dbOn } from '../../warehouse/db/transaction.ts'

/** Session locks on rooftops, all on one connection that is held only while there are any. They end with the process. */
export class HintLocks implements AsyncDisposable {
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

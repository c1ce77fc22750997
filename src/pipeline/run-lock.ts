import type pg from 'pg'
import { HeldLock, lockGraceSeconds } from '../db/held-lock.ts'
import type { Db } from '../db/transaction.ts'
import { lockClass } from '../values/lock-classes.ts'
import { runStanding } from './ledger.ts'

/** The lock that says that a run is alive: held by a session of its process, and gone with that process. */
export class RunLock {
  readonly #lock: HeldLock
  readonly #runId: number

  private constructor(lock: HeldLock, runId: number) {
    this.#lock = lock
    this.#runId = runId
  }

  /** On a session that is open already: nobody may see the run without its lock. */
  static async take(pool: pg.Pool, client: pg.PoolClient, runId: number): Promise<RunLock> {
    return new RunLock(await HeldLock.take(pool, client, [lockClass.run, runId]), runId)
  }

  /** Takes a lost lock again; to be called every now and then. FencedError when the run was ended meanwhile. */
  async keep(db: Db): Promise<void> {
    if ((await this.#lock.keep()) === 'retaken') await runStanding(db, this.#runId)
  }

  release(): void {
    this.#lock.release()
  }
}

/** Is nobody at work for this run? A detached one is its workers', whoever they are. Only then may its work be taken over. */
export async function isRunDead(client: pg.ClientBase | pg.Pool, runId: number): Promise<boolean> {
  // A server that has just started has ended the sessions of the living too; those take their locks again.
  await client.query(
    `select pg_sleep(greatest(0, $1 - extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8))`,
    [lockGraceSeconds],
  )
  const { rows } = await client.query<{ dead: boolean }>(
    `select not is_detached and pg_try_advisory_xact_lock($1::int, $2::int) as dead
     from ops.run where run_id = $2::bigint`,
    [lockClass.run, runId],
  )
  return rows[0]?.dead ?? true
}

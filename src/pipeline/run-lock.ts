import { sql } from 'kysely'
import type pg from 'pg'
import { HeldLock, lockGraceSeconds } from '../db/held-lock.ts'
import type { Db } from '../db/transaction.ts'
import { lockClass } from '../values/lock-classes.ts'
import { readRunProgress } from './run-ledger.ts'

/** A run whose work is done is not taken for dead sooner: its process ends it, also through a restart of Postgres. */
const deadAfterSeconds = 60

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
    return new RunLock(await HeldLock.acquire(pool, client, [lockClass.run, runId]), runId)
  }

  /** Takes a lost lock again; to be called every now and then. FencedError when the run was ended meanwhile. */
  async keep(db: Db): Promise<void> {
    if ((await this.#lock.ensureHeld()) === 'retaken') await readRunProgress(db, this.#runId)
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

/**
 * Ends the runs that have no open work any more, and no process that would end them, as their reports say: detached ones, and
 * those whose process has died while others did what was left. A dead run with open work is left for whoever takes that over.
 */
export async function endFinishedRuns(db: Db): Promise<void> {
  await sql`
    with done as materialized (
      select run_id, is_detached from ops.run
      where status = 'running' and not exists (
        select from ops.run_stream as line
        where line.run_id = run.run_id and line.status in ('waiting', 'running'))
      and (is_detached or clock_timestamp() > greatest(
        pg_postmaster_start_time() + make_interval(secs => ${lockGraceSeconds}),
        started_at + make_interval(secs => ${deadAfterSeconds}),
        (select max(line.finished_at) from ops.run_stream as line where line.run_id = run.run_id)
          + make_interval(secs => ${deadAfterSeconds})))
    ), dead as materialized (
      select run_id from done where is_detached or pg_try_advisory_xact_lock(${lockClass.run}::int, run_id::int)
    )
    update ops.run as over set finished_at = now(), status = (
      select case when bool_and(line.status = 'ok') then 'ok'
        when bool_or(line.status in ('ok', 'partial')) then 'partial' else 'failed' end
      from ops.run_stream as line where line.run_id = over.run_id)
    from dead where over.run_id = dead.run_id and over.status = 'running'`.execute(db)
}

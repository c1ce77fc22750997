import { sql } from 'kysely'
import type pg from 'pg'
import { HeldLock, lockGraceSeconds } from '../../warehouse/db/held-lock.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { readRunProgress } from './run-ledger.ts'
import { runStatus } from './run-report.ts'

/** A run without open work counts as dead after this time. Before, its own process ends it, even through a restart of Postgres. */
const deadAfterSeconds = 60

/** The lock that shows that a run is alive. A session of its process holds it, so it is released when the process ends. */
export class RunLock {
  readonly #lock: HeldLock
  readonly #runId: number

  private constructor(lock: HeldLock, runId: number) {
    this.#lock = lock
    this.#runId = runId
  }

  /** Takes the lock on an open session, so that no other process sees the run without its lock. */
  static async take(pool: pg.Pool, client: pg.PoolClient, runId: number): Promise<RunLock> {
    return new RunLock(await HeldLock.acquire(pool, client, ['run', runId]), runId)
  }

  /** Takes a lost lock again; must be called regularly. FencedError when the run was ended meanwhile. */
  async keep(db: Db): Promise<void> {
    if ((await this.#lock.ensureHeld()) === 'retaken') await readRunProgress(db, this.#runId)
  }

  release(): void {
    this.#lock.release()
  }
}

/** After this time without a worker, a detached run that is not a backfill counts as dead, so that it keeps no nightly run from working. */
const workerGraceSeconds = 60

/** Whether the process of a run is gone, so that its work may be taken over. A detached backfill has no process and is never dead:
 *  it waits for a worker. */
export async function isRunDead(db: Db, runId: number): Promise<boolean> {
  // A restart of Postgres ends the sessions of live processes too; wait until they have taken their locks again.
  await sql`
    select pg_sleep(greatest(0,
      ${lockGraceSeconds} - extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8))`.execute(
    db,
  )
  const { rows } = await sql<{ dead: boolean }>`
    select case when not is_detached then ${lockSql.try('run', sql`run_id`)}
      else lane <> 'background' and heartbeat_at < clock_timestamp() - make_interval(secs => ${workerGraceSeconds})
      end as dead
    from ops.run where run_id = ${runId}`.execute(db)
  return rows[0]?.dead ?? true
}

/**
 * Ends runs that have no open work and no process to end them: detached runs, and runs whose process died while others did the
 * rest. Their streams give the status. A dead run with open work is left for the run that takes the work over.
 */
export async function endFinishedRuns(db: Db): Promise<void> {
  await sql`
    with done as materialized (
      select run_id, is_detached from ops.run
      where status = 'running' and not exists (
        select from ops.run_stream
        where run_stream.run_id = run.run_id and run_stream.status in ('waiting', 'running'))
      and (is_detached or clock_timestamp() > greatest(
        pg_postmaster_start_time() + make_interval(secs => ${lockGraceSeconds}),
        started_at + make_interval(secs => ${deadAfterSeconds}),
        (select max(run_stream.finished_at) from ops.run_stream where run_stream.run_id = run.run_id)
          + make_interval(secs => ${deadAfterSeconds})))
    ), dead as materialized (
      select run_id from done where is_detached or ${lockSql.try('run', sql`run_id`)}
    )
    update ops.run as ended set finished_at = now(), status = (
      select ${runStatus} from ops.run_stream where run_stream.run_id = ended.run_id)
    from dead where ended.run_id = dead.run_id and ended.status = 'running'`.execute(db)
}

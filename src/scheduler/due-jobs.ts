import type pg from 'pg'
import type { PlannedJob } from './load-jobs.ts'
import { lastSlot } from './slots.ts'

/** Stores the scheduler's jobs in the warehouse. A job that is new, or whose schedule changed, has missed no slot yet. */
export async function registerJobs(pool: pg.Pool, jobs: readonly PlannedJob[]): Promise<void> {
  await pool.query(
    `insert into ops.job as known (job_name, schedule, time_zone)
     select * from unnest($1::text[], $2::text[], $3::text[])
     on conflict (job_name) do update
       set schedule = excluded.schedule, time_zone = excluded.time_zone, known_since = now()
       where (known.schedule, known.time_zone) is distinct from (excluded.schedule, excluded.time_zone)`,
    [
      jobs.map(({ name }) => name),
      jobs.map(({ schedule }) => schedule),
      jobs.map(({ timezone }) => timezone),
    ],
  )
}

/** A job with a new slot to claim, or with a run that may have to be taken over. */
interface DueJob {
  readonly job: PlannedJob
  readonly slot: Date
}

interface Known {
  readonly jobName: string
  readonly now: Date
  readonly knownSince: Date
  readonly newestSlot: Date | null
  readonly hasOpen: boolean
}

/**
 * The jobs that may be due by the database's clock, since this machine's clock may be wrong. Only the newest of several missed
 * slots is run. `mine` are the job runs that this process executes.
 */
export async function findDueJobs(
  pool: pg.Pool,
  jobs: readonly PlannedJob[],
  mine: readonly number[],
): Promise<readonly DueJob[]> {
  const { rows } = await pool.query<Known>(
    `select job_name as "jobName", clock_timestamp() as now, known_since as "knownSince",
       (select max(slot_at) from ops.job_fire as run where run.job_name = job.job_name) as "newestSlot",
       exists (select from ops.job_fire as run where run.job_name = job.job_name
           and status = 'running' and fire_id <> all($2::bigint[]))
         or 'stopped' = (select status from ops.job_fire as run where run.job_name = job.job_name
           and slot_at is not null and status <> 'skipped' order by slot_at desc limit 1) as "hasOpen"
     from ops.job where job_name = any($1::text[])`,
    [jobs.map(({ name }) => name), mine],
  )
  return rows.flatMap(({ jobName, now, knownSince, newestSlot, hasOpen }) => {
    const job = jobs.find(({ name }) => name === jobName)!
    const slot = lastSlot(job.slots, now)
    if (slot === null) return []
    const isNew = slot > knownSince && (newestSlot === null || slot > newestSlot)
    return isNew || hasOpen ? [{ job, slot }] : []
  })
}

/** How far this machine's clock is ahead of the database's, in ms, within half of the query's round trip. */
export async function clockAhead(pool: pg.Pool): Promise<number> {
  const before = Date.now()
  const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now')
  return (before + Date.now()) / 2 - rows[0]!.now.getTime()
}

import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { PlannedJob } from './load-jobs.ts'
import { lastSlot } from './slots.ts'

/** Stores the scheduler's jobs in the warehouse, for the services that it reads. A job that is new, or whose schedule changed, has missed no slot yet. */
export async function registerJobs(
  db: Db,
  sourceId: number,
  jobs: readonly PlannedJob[],
): Promise<void> {
  const names = jobs.map(({ name }) => name)
  // The rows of an earlier version know since when a slot may have been missed.
  await sql`
    update ops.job as known set source_id = ${sourceId}
    where source_id is null and job_name = any(${names}::text[]) and not exists (
      select from ops.job as ours
      where ours.job_name = known.job_name and ours.source_id = ${sourceId})`.execute(db)
  await sql`
    insert into ops.job as known (job_name, schedule, time_zone, source_id)
    select *, ${sourceId} from unnest(${names}::text[], ${jobs.map(({ schedule }) => schedule)}::text[],
      ${jobs.map(({ timezone }) => timezone)}::text[])
    on conflict (job_name, source_id) do update
      set schedule = excluded.schedule, time_zone = excluded.time_zone, known_since = now()
      where (known.schedule, known.time_zone)
        is distinct from (excluded.schedule, excluded.time_zone)`.execute(db)
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

const isOfJob = sql`run.job_name = job.job_name and (run.source_id is null or run.source_id = job.source_id)`

/**
 * The jobs that may be due by the database's clock, since this machine's clock may be wrong. Only the newest of several missed
 * slots is run. `mine` are the job runs that this process executes.
 */
export async function findDueJobs(
  db: Db,
  sourceId: number,
  jobs: readonly PlannedJob[],
  mine: readonly number[],
): Promise<readonly DueJob[]> {
  const { rows } = await sql<Known>`
    select job_name as "jobName", clock_timestamp() as now, known_since as "knownSince",
      (select max(slot_at) from ops.job_fire as run where ${isOfJob}) as "newestSlot",
      exists (select from ops.job_fire as run where ${isOfJob} and status = 'running'
        and fire_id <> all(${mine}::bigint[]))
        or 'stopped' = (select status from ops.job_fire as run where ${isOfJob}
          and slot_at is not null and status <> 'skipped' order by slot_at desc limit 1) as "hasOpen"
    from ops.job where job_name = any(${jobs.map(({ name }) => name)}::text[])
      and source_id = ${sourceId}`.execute(db)
  return rows.flatMap(({ jobName, now, knownSince, newestSlot, hasOpen }) => {
    const job = jobs.find(({ name }) => name === jobName)!
    const slot = lastSlot(job.slots, now)
    if (slot === null) return []
    const isNew = slot > knownSince && (newestSlot === null || slot > newestSlot)
    return isNew || hasOpen ? [{ job, slot }] : []
  })
}

/** How far this machine's clock is ahead of the database's, in ms, within half of the query's round trip. */
export async function clockAhead(db: Db): Promise<number> {
  const before = Date.now()
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return (before + Date.now()) / 2 - rows[0]!.now.getTime()
}

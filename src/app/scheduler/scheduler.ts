import { sql } from 'kysely'
import { type ScheduledTask, schedule } from 'node-cron'
import type { Context } from '../../context.ts'
import { errorText, OutdatedError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { assertSchemaKnown } from '../../warehouse/db/migrate.ts'
import { RetryOnConnectionLoss } from '../../warehouse/db/retry-on-connection-loss.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { Alerts } from './alerts.ts'
import { type Claim, claimSlot } from './claim-slot.ts'
import { executeJobRun } from './job-run.ts'
import type { PlannedJob } from './load-jobs.ts'
import { lastSlot, nextSlot } from './slots.ts'

/** The interval of checks besides the jobs' timers, for slots missed by a wrong clock, a dead process or a night without one. */
const sweepMs = 5_000
/** Job runs at once in one process; the rest is left for other processes or a later check. */
const maxRuns = 6
/** How long a job may take to reach its checkpoint after a stop signal. */
const drainMs = 25_000
const clockToleranceMs = 5_000

/**
 * Runs the schedule until the context's signal. node-cron wakes this process at each job's times, and a sweep every few seconds;
 * the database decides by its own clock what is due and which process runs it. Any number of schedulers may run; those
 * whose configs name other services each run their jobs.
 * false: a job did not stop in time; its row says "running", and another scheduler takes it over after this process ends.
 * OutdatedError when the warehouse has been migrated beyond this version.
 */
export async function runScheduler(
  context: Context,
  jobs: readonly PlannedJob[],
): Promise<boolean> {
  const { db, log, signal, queue } = context
  const retry = new RetryOnConnectionLoss(context, null)
  const aheadMs = await retry.run(() => clockAhead(db))
  warnOfClock(log, Math.round(aheadMs))
  await retry.run(() => registerJobs(db, queue.sourceId, jobs))
  const scheduler = new Scheduler(context, jobs)
  const timers = jobs.map((job) => timer(job, () => scheduler.wake()))
  // Not by node-cron, which waits for a time of the wall clock; that clock may be set back.
  const sweep = setInterval(() => scheduler.wake(), sweepMs)
  const now = new Date(Date.now() - aheadMs)
  for (const { name, slots, timezone } of jobs)
    log.info({ job: name, next: nextSlot(slots, now), timezone }, `${name} is scheduled`)
  scheduler.wake()
  const stopped = new Promise<void>((stop) => signal.addEventListener('abort', () => stop()))
  if (!signal.aborted) await Promise.race([stopped, scheduler.outdated.promise])
  clearInterval(sweep)
  for (const task of timers) await task.destroy()
  const hasStopped = await scheduler.drain()
  if (scheduler.outdatedBy !== null) throw scheduler.outdatedBy
  return hasStopped
}

function timer({ schedule: expression, timezone }: PlannedJob, wake: () => void): ScheduledTask {
  const logger = { info() {}, warn() {}, error() {}, debug() {} }
  return schedule(expression, wake, { timezone, logger, suppressMissedWarning: true })
}

class Scheduler {
  readonly #context: Context
  readonly #jobs: readonly PlannedJob[]
  readonly #alerts: Alerts
  readonly #runs = new Map<number, Promise<void>>()
  /** Resolves when the warehouse turns out to be newer than this process, which then starts nothing more. */
  readonly outdated = Promise.withResolvers<void>()
  outdatedBy: OutdatedError | null = null
  #checking: Promise<void> | null = null
  #reporting: Promise<void> | null = null
  #again = false

  constructor(context: Context, jobs: readonly PlannedJob[]) {
    this.#context = context
    this.#jobs = jobs
    this.#alerts = new Alerts(context, jobs)
  }

  /** Checks what is due; if a check is running already, once more after it. */
  wake(): void {
    this.#again = true
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null
    })
  }

  /** Waits for the active jobs, which the signal stops, for a limited time. Returns whether they stopped. */
  async drain(): Promise<boolean> {
    const late = new Promise<false>((done) => setTimeout(done, drainMs, false).unref())
    return await Promise.race([this.#end(), late])
  }

  async #end(): Promise<true> {
    await this.#checking
    await this.#reporting
    await Promise.all(this.#runs.values())
    return true
  }

  async #check(): Promise<void> {
    const { pool, db, log, signal, queue } = this.#context
    while (this.#again && !signal.aborted && this.outdatedBy === null) {
      this.#again = false
      try {
        await assertSchemaKnown(pool, this.#context.schemaVersion)
        const due = await findDueJobs(db, queue.sourceId, this.#jobs, [...this.#runs.keys()])
        for (const { job, slot } of due) {
          if (signal.aborted || this.#runs.size >= maxRuns) break
          await this.#claim(job, slot)
        }
        this.#reportJobs()
      } catch (error) {
        if (error instanceof OutdatedError) {
          this.outdatedBy = error
          return this.outdated.resolve()
        }
        log.error(`schedule check failed, will be retried: ${errorText(error)}`)
      }
    }
  }

  /** Runs beside the checks, so that a slow receiver of alerts delays no job. */
  #reportJobs(): void {
    this.#reporting ??= this.#alerts
      .reportJobs()
      .catch((error) => this.#context.log.error(`alerts not sent: ${errorText(error)}`))
      .finally(() => {
        this.#reporting = null
      })
  }

  async #claim(job: PlannedJob, slot: Date): Promise<void> {
    const { pool, log, queue } = this.#context
    const sourceJob = { sourceId: queue.sourceId, jobName: job.name }
    const claimed = await claimSlot(pool, sourceJob, slot)
    if (claimed.kind === 'skipped')
      log.warn({ job: job.name, slot }, `${job.name} is skipped: ${claimed.reason}`)
    if (claimed.kind !== 'claimed') return
    const { claim } = claimed
    const done = this.#execute(job, claim).finally(() => this.#runs.delete(claim.fireId))
    this.#runs.set(claim.fireId, done)
  }

  /** Executes a claimed job run; no failure of it ends the scheduler. */
  async #execute(job: PlannedJob, claim: Claim): Promise<void> {
    const { log } = this.#context
    const about = { job: job.name, fireId: claim.fireId, slot: claim.slot, attempt: claim.attempt }
    log.info(about, `${job.name} starts${claim.isCatchUp ? ' for a missed slot' : ''}`)
    try {
      const { report } = await executeJobRun(this.#context, job, claim)
      const isGood = report.status === 'ok' || report.status === 'stopped'
      const what = `${job.name} ended: ${report.status}${report.error ? `: ${report.error}` : ''}`
      log[isGood ? 'info' : 'warn']({ ...about, status: report.status }, what)
      if (report.status !== 'stopped') await this.#alerts.reportObjectives()
    } catch (error) {
      log.error(about, `end of ${job.name} not recorded: ${errorText(error)}`)
    }
  }
}

/** Warns of a wrong clock. Jobs use the database's clock, but other software on this machine is affected. */
function warnOfClock(log: Log, aheadMs: number): void {
  if (Math.abs(aheadMs) <= clockToleranceMs) return
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1)
  log.warn(
    { aheadMs },
    `this machine's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's; jobs use the database's clock. Correct this one (NTP)`,
  )
}

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

interface Known {
  readonly jobName: string
  readonly now: Date
  readonly knownSince: Date
  readonly newestSlot: Date | null
  readonly hasOpen: boolean
}

const isOfJob = sql`run.job_name = job.job_name and (run.source_id is null or run.source_id = job.source_id)`

/**
 * The jobs that have a new slot, or a run that may have to be taken over, by the database's clock, since this machine's may be wrong. Only the newest of several missed
 * slots is run. `mine` are the job runs that this process executes.
 */
async function findDueJobs(
  db: Db,
  sourceId: number,
  jobs: readonly PlannedJob[],
  mine: readonly number[],
): Promise<readonly { readonly job: PlannedJob; readonly slot: Date }[]> {
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
async function clockAhead(db: Db): Promise<number> {
  const before = Date.now()
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return (before + Date.now()) / 2 - rows[0]!.now.getTime()
}

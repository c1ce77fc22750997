import { sql } from 'kysely'
import { isOfConfig } from '../../warehouse/db/run-source.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Config } from '../config/read.ts'
import type { PlannedJob } from './load-jobs.ts'
import { lastSlot, nextSlot } from './slots.ts'

/** The newest run of a job. */
interface LastJobRun {
  readonly trigger: 'schedule' | 'manual'
  readonly slotAt: string | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly status: string
  /** Above 1: it was taken over from a process that ended. */
  readonly attempt: number
  readonly host: string
  readonly error?: string
}

/** The status of a job. late: a slot has had no good run for longer than the job allows. */
export interface JobStatus {
  readonly status: 'ok' | 'running' | 'late' | 'failed' | 'never' | 'off'
  /** Whether a scheduler runs the job, or has run it; otherwise it is never late. */
  readonly kept: boolean
  readonly does: string
  readonly schedule: string
  readonly timezone: string
  /** null: the job is switched off. */
  readonly nextSlotAt: string | null
  readonly last: LastJobRun | null
  readonly lastGoodAt: string | null
  /** The slot without a good run; only with status late. */
  readonly lateSince?: string
  readonly error?: string
}

/** The statuses of the jobs of a config, by name, as they run for its services. Without a scheduler no job is late. */
export async function readJobStatuses(
  db: Db,
  config: Services,
  jobs: readonly PlannedJob[],
): Promise<Readonly<Record<string, JobStatus>>> {
  const facts = await readFacts(db, config, jobs)
  const statuses = jobs.map((job) => [job.name, jobStatus(job, facts.get(job.name)!)])
  return Object.fromEntries(statuses)
}

/** Whether the job is neither late nor failed, or no scheduler runs it. */
export function isJobHealthy({ status, kept }: JobStatus): boolean {
  return !kept || (status !== 'late' && status !== 'failed')
}

interface Facts {
  readonly name: string
  readonly now: Date
  readonly knownSince: Date | null
  readonly goodFor: Date | null
  readonly goodAt: Date | null
  readonly run: {
    readonly cause: LastJobRun['trigger']
    readonly status: string
    readonly attempt: number
    readonly host: string
    readonly error: string | null
  } | null
  readonly slot: Date | null
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

type Services = Pick<Config, 'appraisal' | 'vehicleData'>

async function readFacts(
  db: Db,
  config: Services,
  jobs: readonly PlannedJob[],
): Promise<ReadonlyMap<string, Facts>> {
  const names = jobs.map(({ name }) => name)
  const { rows } = await sql<Facts>`
    select name, clock_timestamp() as now, known_since as "knownSince", good."goodFor", good."goodAt",
      to_jsonb(newest) as run, newest.slot_at as slot, newest.claimed_at as "startedAt", newest.finished_at as "finishedAt"
    from unnest(${names}::text[]) as name
    left join lateral (
      select known_since from ops.job where job_name = name and ${isOfConfig('job.source_id', config)}
      order by source_id limit 1) as job on true
    left join lateral (
      select * from ops.job_fire as run
      where run.job_name = name and status <> 'skipped' and ${isOfConfig('run.source_id', config)}
      order by fire_id desc limit 1) as newest on true
    left join lateral (
      -- Not of a whole year: a run that is older than fifty good ones is neither the last one nor for the last slot.
      select max(coalesce(slot_at, claimed_at)) as "goodFor", max(finished_at) as "goodAt" from (
        select slot_at, claimed_at, finished_at from ops.job_fire as run
        where run.job_name = name and status in ('ok', 'partial') and ${isOfConfig('run.source_id', config)} order by fire_id desc limit 50) as newest_good) as good on true`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.name, row]))
}

function jobStatus(job: PlannedJob, facts: Facts): JobStatus {
  const late = job.disabledReason === null ? lateSince(job, facts) : null
  const { run } = facts
  const error = job.disabledReason ?? jobError(job, facts, late)
  return {
    status: currentStatus(job, facts, late),
    kept: facts.knownSince !== null,
    does: job.does,
    schedule: job.schedule,
    timezone: job.timezone,
    nextSlotAt: job.disabledReason === null ? iso(nextSlot(job.slots, facts.now)) : null,
    last: run === null ? null : lastRun(run, facts),
    lastGoodAt: iso(facts.goodAt),
    ...(late === null ? {} : { lateSince: late.toISOString() }),
    ...(error === null ? {} : { error }),
  }
}

/** The newest slot that is older than the job allows, if neither it nor a later one has had a good run. */
function lateSince(job: PlannedJob, { now, knownSince, goodFor }: Facts): Date | null {
  if (knownSince === null) return null
  const slot = lastSlot(job.slots, new Date(now.getTime() - job.lateAfterMinutes * 60_000))
  if (slot === null || slot <= knownSince) return null
  return goodFor !== null && goodFor >= slot ? null : slot
}

function currentStatus(job: PlannedJob, facts: Facts, late: Date | null): JobStatus['status'] {
  const { run } = facts
  if (job.disabledReason !== null) return 'off'
  if (late !== null) return 'late'
  if (run?.status === 'running') return 'running'
  if (run === null) return 'never'
  return run.status === 'failed' || run.status === 'died' ? 'failed' : 'ok'
}

function jobError(job: PlannedJob, { run }: Facts, late: Date | null): string | null {
  const error = run?.status === 'running' ? null : (run?.error ?? null)
  if (late === null) return error
  const what = `no good run for the slot of ${late.toISOString()} within ${job.lateAfterMinutes} minutes`
  return error === null
    ? `${what}: is a "forecourt schedule" running?`
    : `${what}; last error: ${error}`
}

function lastRun(run: NonNullable<Facts['run']>, facts: Facts): LastJobRun {
  return {
    trigger: run.cause,
    slotAt: iso(facts.slot),
    startedAt: facts.startedAt!.toISOString(),
    finishedAt: iso(facts.finishedAt),
    status: run.status,
    attempt: run.attempt,
    host: run.host,
    ...(run.error === null ? {} : { error: run.error }),
  }
}

function iso(at: Date | null): string | null {
  return at?.toISOString() ?? null
}

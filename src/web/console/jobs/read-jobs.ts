import type { Config } from '../../../app/config/read.ts'
import { type JobStatus, readJobStatuses } from '../../../app/scheduler/job-status.ts'
import { loadJobs, type PlannedJob } from '../../../app/scheduler/load-jobs.ts'
import { lastSlot } from '../../../app/scheduler/slots.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'

/** How a job is, and whether it can run. */
export interface JobFigures
  extends JobStatus,
    Pick<PlannedJob, 'missingSetting' | 'budgetMinutes'> {
  /** Whether its last run began after the slot before the one that is due by now. */
  readonly ranLately: boolean
}

/** The jobs of the schedule, by name. */
export async function readJobs(
  config: Config,
  db: Db,
): Promise<Readonly<Record<string, JobFigures>>> {
  const jobs = await loadJobs(config)
  const statuses = await readJobStatuses(db, config, jobs)
  return Object.fromEntries(
    jobs.map((job) => {
      const { name, missingSetting, budgetMinutes } = job
      const status = statuses[name]!
      return [name, { ...status, missingSetting, budgetMinutes, ranLately: ranLately(job, status) }]
    }),
  )
}

/** By its own schedule, so that cron may run a nightly job at another hour. */
function ranLately({ slots, lateAfterMinutes }: PlannedJob, { last }: JobStatus): boolean {
  if (last === null) return false
  const due = lastSlot(slots, new Date(Date.now() - lateAfterMinutes * 60_000))
  const before = due === null ? null : lastSlot(slots, new Date(due.getTime() - 1))
  return before === null || Date.parse(last.startedAt) >= before.getTime()
}

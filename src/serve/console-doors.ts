import { readSpend } from '../billing/spend.ts'
import type { Config } from '../config/read.ts'
import type { Doors, JobFigures } from '../console/doors.ts'
import type { Context } from '../context.ts'
import { readSourceNow } from '../db/source-now.ts'
import type { Db } from '../db/transaction.ts'
import { lifeBounds, readExpiringLinks, readLinkLife } from '../links/link-status.ts'
import { readAlertStatuses } from '../scheduler/alert-status.ts'
import { loadJobs, type PlannedJob } from '../scheduler/load-jobs.ts'
import { type JobStatus, readJobStatuses } from '../scheduler/job-status.ts'
import { lastSlot } from '../scheduler/slots.ts'
import { allStreams } from '../streams/all.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { readLostCompletions, readWebhookStatus } from '../webhook/webhook-status.ts'
import type { BackgroundRuns } from './background-runs.ts'
import { exportStock, exportView } from './export-view.ts'
import { stockDoor } from './stock-door.ts'

/** What the console asks of parts of the program that it may not import. */
export function consoleDoors(context: Context, runs: BackgroundRuns): Doors {
  const { config } = context
  return {
    refreshLinks: async () => {
      const from = toUnixSeconds(config.sync.start)
      const plan = { command: 'links refresh', mode: 'links', from, until: null } as const
      const streams = allStreams.filter(({ slices }) => slices.links !== undefined)
      return await runs.start({ plan, streams, rooftops: config.rooftops })
    },
    linkLife: async (db) => {
      const life = await readLinkLife(db, config, await readSourceNow(db))
      return { bounds: lifeBounds, ...life }
    },
    expiringLinks: async (db, hours) =>
      await readExpiringLinks(db, config, await readSourceNow(db), hours),
    webhooks: readWebhookStatus,
    lostWebhooks: readLostCompletions,
    spend: async (db) => await readSpend(db, config.budget),
    jobs: async (db) => await readJobs(config, db),
    alerts: async (db) => await readAlertStatuses(db, config),
    runJob: async (name) => await runs.startJob(name),
    exportView,
    exportStock,
    stock: stockDoor(context, runs),
  }
}

async function readJobs(config: Config, db: Db): Promise<Record<string, JobFigures>> {
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

import { type Context, noProgress } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { allStreams } from '../../streams/all.ts'
import { runWorker } from '../../sync/run/run-worker.ts'
import { slicesAtOnce } from '../../sync/run/work-loop.ts'
import { embeddedStatus } from '../../warehouse/db/embedded.ts'
import { sessionName } from '../../warehouse/db/processes.ts'
import { embeddedFolder } from '../../warehouse/warehouse.ts'
import { consumeHints } from '../../web/webhook/consume.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import { Alerts } from '../scheduler/alerts.ts'
import { claimManually } from '../scheduler/claim-slot.ts'
import { executeJobRun, type JobRunReport } from '../scheduler/job-run.ts'
import { readJobStatuses } from '../scheduler/job-status.ts'
import { loadJobs, type PlannedJob } from '../scheduler/load-jobs.ts'
import { runScheduler } from '../scheduler/scheduler.ts'
import type { RunCommand } from './command.ts'
import { jobLines } from './jobs-table.ts'
import { openOptionalPort } from './operations-port.ts'
import { wholeNumberOption } from './option-values.ts'
import { goesOn, reportLines } from './run-report.ts'
import type { Session } from './session.ts'

export const run: RunCommand = async (session, _options, [name]) => {
  const jobs = await loadJobs(session.config)
  if (typeof name !== 'string') return await list(session, jobs)
  const job = jobs.find((one) => one.name === name)!
  chooseRooftops(session.config, [])
  if (job.missingSetting !== null)
    throw new UsageError(`${job.name} cannot run: ${job.missingSetting}.`)
  const context = await session.context()
  const claim = await claimManually(context.pool, {
    sourceId: context.queue.sourceId,
    jobName: job.name,
  })
  const { report, thrown } = await executeJobRun(context, job, claim)
  // This process ends, so it reports at once instead of at the next check.
  const alerts = new Alerts(context, jobs, 0)
  await alerts.reportJobs()
  if (report.status !== 'stopped') await alerts.reportObjectives()
  if (thrown !== undefined && report.status !== 'stopped') throw thrown
  session.result(report, () => lines(session, job, report))
  return report.status === 'ok' ? 0 : 1
}

export const schedule: RunCommand = async (session, options) => {
  const { config, log } = session
  chooseRooftops(config, [])
  const jobs = await loadJobs(config)
  const enabled = jobs.filter(({ disabledReason: off }) => off === null)
  for (const { name, disabledReason: off } of jobs)
    if (off !== null) log.info(`${name} is not scheduled: ${off}`)
  if (enabled.length === 0)
    throw new UsageError('Every job is switched off: take one enabled: false out of jobs:.')
  const context = await session.context({
    progress: noProgress,
    waitSeconds: null,
    applicationName: sessionName('schedule', config),
  })
  await using _operations = await openOptionalPort(context, options)
  const hasStopped = await runScheduler(context, enabled)
  return end(session, hasStopped, { jobs: enabled.map(({ name }) => name) })
}

/** Ends as a second signal would where something has not stopped: it would keep the connections, and with them the process. */
function end(session: Session, hasStopped: boolean, facts: object = {}): number {
  session.result({ stopped: true, ...facts }, () => ['Stopped.'])
  if (!hasStopped) process.kill(process.pid, 'SIGTERM')
  return 0
}

/** The list does not start the embedded Postgres: while that is stopped, the jobs are shown without their status. */
async function list(session: Session, jobs: readonly PlannedJob[]): Promise<number> {
  const { config } = session
  const isUp =
    config.warehouse.url !== null || (await embeddedStatus(embeddedFolder(config))).running
  const statuses = isUp
    ? await readJobStatuses((await session.warehouse('read')).db, config, jobs)
    : null
  const plain = () =>
    Object.fromEntries(
      jobs.map(({ name, does, schedule, timezone }) => [name, { does, schedule, timezone }]),
    )
  session.result({ jobs: statuses ?? plain() }, () => [
    ...jobs.map(({ name, does }) => `${name}: ${does}.`),
    ...(statuses === null
      ? [
          'Their status is unknown, because the embedded Postgres is stopped: "forecourt status" starts it.',
        ]
      : jobLines(statuses)),
  ])
  return 0
}

function lines({ config }: Session, { name, work }: PlannedJob, report: JobRunReport): string[] {
  const rest = goesOn({
    command: `run ${name}`,
    mode: work.kind === 'reprice' ? 'reprice' : 'sync',
  })
  const counts = Object.entries(report.counts ?? {}).map(([what, count]) => `  ${what}: ${count}`)
  return [
    `${report.job}: ${report.status}${report.error === undefined ? '' : `: ${report.error}`}`,
    ...report.runs.flatMap((one) => reportLines(one, { config }, rest)),
    ...counts,
  ]
}

const maxSlices = 32

/** The queue and the inbox, until the signal; an error of either ends both. false: something did not stop in time. */
async function workBoth(context: Context, concurrency: number): Promise<boolean> {
  const failed = new AbortController()
  const signal = AbortSignal.any([context.signal, failed.signal])
  const both = { ...context, signal }
  const hints = consumeHints(both).finally(() => failed.abort())
  hints.catch(() => undefined)
  try {
    const hasStopped = await runWorker(both, { streams: allStreams, concurrency })
    if (hasStopped) await hints
    return hasStopped
  } catch (error) {
    failed.abort()
    await hints.catch(() => undefined)
    throw error
  }
}

export const worker: RunCommand = async (session, options) => {
  const { config, log } = session
  chooseRooftops(config, [])
  const given = options['concurrency'] ?? slicesAtOnce
  const concurrency = wholeNumberOption('--concurrency', given, 1, maxSlices)
  const context = await session.context({
    progress: noProgress,
    applicationName: sessionName('worker', config),
    waitSeconds: null,
    connections: 8 + 2 * concurrency,
  })
  if (context.embedded)
    log.info('the warehouse is embedded: workers of other hosts need one that warehouse.url names')
  await using _operations = await openOptionalPort(context, options)
  log.info({ concurrency }, 'at work')
  return end(session, await workBoth(context, concurrency))
}

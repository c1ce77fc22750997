import type { Context } from '../context.ts'
import type { RunPlan } from '../pipeline/run-ledger.ts'
import type { RunReport } from '../pipeline/run-report.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import type { RunRequest } from '../pipeline/start-run.ts'
import { isProved, verifyStream } from '../pipeline/verify.ts'
import { applyRetention } from '../retention/apply-retention.ts'
import { allStreams } from '../streams/all.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import type { PlannedJob } from './load-jobs.ts'

/** The result of a job's work. */
export interface JobWorkResult {
  readonly status: 'ok' | 'partial' | 'failed'
  readonly runs: readonly RunReport[]
  /** What a job without runs did. */
  readonly counts?: Readonly<Record<string, number>>
  readonly error?: string
}

/** The value of recheckDays for a run that lists everything again. */
const wholeHistoryDays = 36_500

/** Does the job's work once. BusyError when another run holds some of the same work. */
export async function runJobWork(context: Context, job: PlannedJob): Promise<JobWorkResult> {
  const { work } = job
  if (work.kind === 'links') return await run(context, job, 'links', ['vehicle-checks'])
  if (work.kind === 'reprice') return await run(context, job, 'reprice', ['stock-prices'])
  if (work.kind === 'retention') return await retain(context)
  if (work.windows === 'fresh') return await run(context, job, 'backfill', work.streams)
  if (work.windows === 'due') return await run(context, job, 'sync', work.streams)
  return await listEverything(context, job, work.streams)
}

/** Deletes what has outlived its retention, including old job runs. */
async function retain(context: Context): Promise<JobWorkResult> {
  const { files, ...deleted } = await applyRetention(context)
  // The newest run of each job stays, because it shows the job's status.
  await context.pool.query(
    `delete from ops.job_fire as old where claimed_at < now() - interval '1 year' and status <> 'running'
       and fire_id < (select max(fire_id) from ops.job_fire as newest where newest.job_name = old.job_name)`,
  )
  const counts = { ...deleted, files: files.removed }
  if (files.pending === 0) return { status: 'ok', runs: [], counts }
  const error = `${files.pending} files of erased customers are not deleted yet: ${files.reason ?? 'reason unknown'}`
  return { status: 'partial', runs: [], counts, error }
}

/** Lists the whole history again and proves the coverage afterwards. */
async function listEverything(
  context: Context,
  job: PlannedJob,
  names: readonly string[],
): Promise<JobWorkResult> {
  const sync = { ...context.config.sync, recheckDays: wholeHistoryDays }
  const config = { ...context.config, sync }
  const result = await run({ ...context, config }, job, 'sync', names)
  if (context.signal.aborted || result.status === 'failed') return result
  const error = await findUnproved(context, streamsOf(names), result.runs[0]!)
  return error === undefined ? result : { ...result, status: 'partial', error }
}

/** Why the coverage is not proved after everything was listed again; undefined when it is. */
async function findUnproved(
  { db, config }: Context,
  streams: RunRequest['streams'],
  { runId }: RunReport,
): Promise<string | undefined> {
  const rooftops = await findRooftops(db, config.rooftops)
  const left = await db
    .selectFrom('ops.window_certificate')
    .select(({ fn }) => fn.countAll<number>().as('windows'))
    .where(
      'rooftop_id',
      'in',
      rooftops.map(({ id }) => id),
    )
    .where(
      'stream',
      'in',
      streams.map(({ name }) => name),
    )
    .where('settled', '=', true)
    .where('run_id', '<', runId)
    .executeTakeFirstOrThrow()
  if (left.windows > 0) return `${left.windows} windows were not listed again`
  for (const stream of streams)
    for (const rooftop of rooftops) {
      if (stream.records === undefined) continue
      const verification = await verifyStream(db, stream.records, rooftop, config.sync, new Date())
      if (!isProved(verification))
        return `the coverage of ${stream.name} of ${rooftop.name} is not proved: see "forecourt verify"`
    }
  return undefined
}

async function run(
  context: Context,
  job: PlannedJob,
  mode: RunPlan['mode'],
  names: readonly string[],
): Promise<JobWorkResult> {
  const from = toUnixSeconds(context.config.sync.start)
  const request: RunRequest = {
    plan: { command: `run ${job.name}`, mode, from, until: null },
    streams: streamsOf(names),
    rooftops: context.config.rooftops,
  }
  const report = await runStreams(context, request)
  const error = whatFailed(report)
  return { status: report.status, runs: [report], ...(error === undefined ? {} : { error }) }
}

/** The errors of the first few incomplete rooftops. */
function whatFailed({ rooftops }: RunReport): string | undefined {
  const failed = Object.entries(rooftops).filter(([, { status }]) => status !== 'ok')
  if (failed.length === 0) return undefined
  const errors = failed.slice(0, 3).map(([uid, { error }]) => `${uid}: ${error ?? 'not complete'}`)
  return `${errors.join('; ')}${failed.length > 3 ? `; and ${failed.length - 3} rooftops more` : ''}`
}

function streamsOf(names: readonly string[]) {
  return allStreams.filter(({ name }) => names.includes(name))
}

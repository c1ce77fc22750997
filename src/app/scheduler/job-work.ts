import { sql } from 'kysely'
import type { Context } from '../../context.ts'
import { applyRetention } from '../../privacy/retain/apply-retention.ts'
import { listInboxes } from '../../stock/folders/inbox.ts'
import { hasFaults } from '../../stock/folders/pass.ts'
import { delayed, runOnce } from '../../stock/folders/watch.ts'
import { allStreams } from '../../streams/all.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import type { RunPlan } from '../../sync/run/run-ledger.ts'
import type { RunReport } from '../../sync/run/run-report.ts'
import { runStreams } from '../../sync/run/run-streams.ts'
import type { RunRequest } from '../../sync/run/start-run.ts'
import { isFaultless } from '../../sync/verify/verify.ts'
import { sumComparisons, vehicleComparisons } from '../../sync/verify/verify-aggregates.ts'
import { recordComparisons } from '../../sync/verify/verify-records.ts'
import { compareShare } from '../../sync/verify/verify-round.ts'
import { valueComparisons } from '../../sync/verify/verify-values.ts'
import {
  recordVerification,
  uncoverFaults,
  verifyBounds,
  verifyWarehouse,
} from '../../sync/verify/verify-warehouse.ts'
import { windowComparisons } from '../../sync/verify/verify-windows.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { exportLake } from '../../warehouse/lake/export-lake.ts'
import { openStore } from '../../warehouse/store/open-store.ts'
import type { PlannedJob } from './load-jobs.ts'

// What a job does, once it has its slot.

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
  if (work.kind === 'verify') return await verify(context)
  if (work.kind === 'stock-inbox') return await importInboxes(context)
  if (work.kind === 'lake') return await exportToLake(context)
  if (work.windows === 'fresh') return await run(context, job, 'backfill', work.streams)
  if (work.windows === 'due') return await run(context, job, 'sync', work.streams)
  return await listEverything(context, job, work.streams)
}

/** Deletes what has outlived its retention. */
async function retain(context: Context): Promise<JobWorkResult> {
  const { files, ...deleted } = await applyRetention(context)
  const counts = { ...deleted, files: files.removed }
  if (files.pending === 0) return { status: 'ok', runs: [], counts }
  const error = `${files.pending} files of erased customers are not deleted yet: ${files.reason ?? 'reason unknown'}`
  return { status: 'partial', runs: [], counts, error }
}

/** Compares what has changed, and a share of the rest: the stored records with the windows, the sums and the vehicles with the rows, child
 *  rows with their records, and values with the payloads. What is not as listed leaves the coverage, so that the next sync reads it again. */
async function verify(context: Context): Promise<JobWorkResult> {
  const { db, config } = context
  const rooftops = await findRooftops(db, config.rooftops)
  const found = await verifyBounds(context, allStreams, rooftops, config.sync)
  await uncoverFaults(db, allStreams, rooftops, found)
  const comparisons = [
    ...windowComparisons(allStreams),
    ...sumComparisons(allStreams),
    ...recordComparisons(allStreams),
    ...vehicleComparisons(allStreams),
    ...valueComparisons(allStreams),
  ]
  const { records } = await compareShare(context, comparisons, rooftops, context.signal)
  const faults = await recordVerification(db, rooftops, found)
  const { ids: windows, sums: months, vehicles, values: compared } = records
  const counts = {
    ...{ rooftops: rooftops.length, windows, months, records: records.records, vehicles, compared },
  }
  if (faults.length === 0) return { status: 'ok', runs: [], counts }
  return { status: 'partial', runs: [], counts, error: firstErrors(faults, 'streams') }
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
  const error = await findUnproved(context, findStreams(names), result.runs[0]!)
  return error === undefined ? result : { ...result, status: 'partial', error }
}

/** Why the coverage is not proved after everything was listed again; undefined when it is. */
async function findUnproved(
  context: Context,
  streams: RunRequest['streams'],
  { runId }: RunReport,
): Promise<string | undefined> {
  const { db, config } = context
  const rooftops = await findRooftops(db, config.rooftops)
  const { rows } = await sql<{ windows: number }>`
    select count(*)::int as windows from ops.window_certificate
    where rooftop_id = any(${rooftops.map(({ id }) => id)}::int[]) and stream = any(${streams.map(({ name }) => name)}::text[])
      and settled and run_id < ${runId}`.execute(db)
  const { windows } = rows[0]!
  if (windows > 0) return `${windows} windows were not listed again`
  const found = await verifyWarehouse(context, streams, rooftops, config.sync)
  await recordVerification(db, rooftops, found)
  // What a backfill of history still has to list is not this job's.
  const wrong = found.checked.find((one) => !isFaultless(one))
  if (wrong === undefined) return undefined
  const { name } = rooftops.find(({ uid }) => uid === wrong.rooftop)!
  return `the coverage of ${wrong.stream} of ${name} is not proved: see "forecourt verify"`
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
    streams: findStreams(names),
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
  const errors = failed.map(([uid, { error }]) => `${uid}: ${error ?? 'not complete'}`)
  return firstErrors(errors, 'rooftops')
}

function firstErrors(errors: readonly string[], what: string): string {
  const left = errors.length - 3
  return `${errors.slice(0, 3).join('; ')}${left > 0 ? `; and ${left} ${what} more` : ''}`
}

function findStreams(names: readonly string[]) {
  return allStreams.filter(({ name }) => names.includes(name))
}

/** Writes what has changed since the last export to the lake of the config. */
async function exportToLake(context: Context): Promise<JobWorkResult> {
  const { config, pool, log, signal, crashPoint } = context
  const { keepHours } = config.lake
  const target = openStore(config.lake.to!, config.homeDir, config.lake.s3, signal)
  const { files, rows } = await exportLake({ pool, log, signal, crashPoint, keepHours }, target)
  return { status: 'ok', runs: [], counts: { ...files, rows } }
}

/** How long the import of the present file may take after a stop; the scheduler waits a little longer. */
const endSeconds = 15

/** Imports what is complete in the drop folders. A file that fails is reported by an alert of its own, not as a failed job. */
async function importInboxes(context: Context): Promise<JobWorkResult> {
  const { pool, db, config, log, signal, crashPoint } = context
  const services = {
    ...{ warehouse: { pool, db, config }, log, crashPoint, now: () => new Date() },
    ...{ signal: delayed(signal, endSeconds), stopping: signal },
  }
  const report = await runOnce(services, listInboxes(config))
  const { files, waiting, problems } = report
  const ended = (state: string) => files.filter((file) => file.state === state).length
  const counts = {
    ...{ done: ended('done'), failed: files.length - ended('done'), waiting: waiting.length },
  }
  const texts = [
    ...problems.map(({ problem }) => problem),
    ...files.flatMap(({ file, state, reason }) =>
      state === 'done' ? [] : [`${file}: ${reason?.split('\n')[0] ?? 'not imported'}`],
    ),
  ]
  if (!hasFaults(report)) return { status: 'ok', runs: [], counts }
  const error = texts.length > 0 ? texts.slice(0, 3).join('; ') : 'some rows were rejected'
  return { status: 'partial', runs: [], counts, error }
}

import { sql } from 'kysely'
import { findRefusedKey } from '../../api/sources/status-rules.ts'
import type { Context } from '../../context.ts'
import { errorText, FencedError, OutdatedError, SyncError } from '../../errors.ts'
import { withLogFields } from '../../log.ts'
import { type SliceEnded, sliceEnded } from '../../telemetry.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { findPayloadRows } from '../records/derive-rows.ts'
import { replaySlice } from '../records/replay-slice.ts'
import { commitSlice } from './commit-slice.ts'
import { isFirstOfRun } from './first-of-run.ts'
import {
  addCounts,
  type Counts,
  isHistory,
  recordSlices,
  type StreamStatus,
  zeroCounts,
} from './run-ledger.ts'
import { inSliceSpan } from './run-spans.ts'
import type { SliceJob, SliceResult, Stream } from './stream.ts'
import { giveBack } from './work-queue.ts'

/** Which run a process works for, and what it does after a slice. */
export interface SliceOwner {
  /** The run that this process works for; null: for any run. */
  readonly runId: number | null
  readonly onSlice: (job: SliceJob<Stream>, result: SliceResult) => Promise<void>
}

/** Runs one claimed slice. A fault ends the stream of the rooftop for this run, not the process. Throws when Postgres is lost, and
 *  OutdatedError after returning the work to the queue. */
export async function runSlice(job: SliceJob<Stream>, scope: SliceOwner): Promise<void> {
  await withLogFields({ runId: job.run.runId }, () => runLoggedSlice(job, scope))
}

async function runLoggedSlice(job: SliceJob<Stream>, scope: SliceOwner): Promise<void> {
  const { context } = job
  context.crashPoint('slice-claimed')
  try {
    const result = await inSliceSpan(job, () => runWithRetries(job))
    reportSlice(job.stream.name, 'done', result.counts)
    await scope.onSlice(job, result)
    await refreshStatistics(context, result.counts)
  } catch (error) {
    await afterFailure(job, scope, error)
  }
}

/** Publishes how a slice ended; `counts` only if it was committed. */
export function reportSlice(
  stream: string,
  outcome: SliceEnded['outcome'],
  counts: Partial<Counts> = {},
): void {
  sliceEnded.publish({ stream, outcome, rows: { ...zeroCounts, ...counts } })
}

/** A unique violation, or a deadlock of two rooftops that take over each other's records: the failed slice starts again. */
const retriedCodes = ['23505', '40P01']

/** Two rooftops of a group may load the same new record at once, so a collision is retried. */
async function runWithRetries(job: SliceJob<Stream>): Promise<SliceResult> {
  for (let triesLeft = 2; ; triesLeft--) {
    try {
      return await runSliceOnce(triesLeft === 0 ? { ...job, isLastTry: true } : job)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (triesLeft === 0 || !retriedCodes.includes(code)) throw error
    }
  }
}

/** Runs the slice that the stream has for the run's mode; without one, nothing is due. */
async function runSliceOnce(job: SliceJob<Stream>): Promise<SliceResult> {
  const { stream, run } = job
  const payloadRows = run.mode === 'replay' ? findPayloadRows(stream) : null
  if (payloadRows !== null) return await replaySlice(job, payloadRows)
  // A job that lists fresh windows does what a sync does where there are no windows.
  const isFresh = run.mode === 'backfill' && !isHistory(run)
  const slice = stream.slices[isFresh && stream.records === undefined ? 'sync' : run.mode]
  return (await slice?.(job)) ?? (await commitSlice(job, { write: async () => ({ more: false }) }))
}

/** Records the failure and ends the stream of the rooftop for this run; everything else continues. */
async function afterFailure(
  job: SliceJob<Stream>,
  scope: SliceOwner,
  error: unknown,
): Promise<void> {
  const { context, item, run, rooftop, stream } = job
  const about = { stream: stream.name, rooftop: rooftop.uid, runId: run.runId }
  if (error instanceof FencedError) {
    reportSlice(stream.name, 'fenced')
    context.log.warn({ ...about }, error.message)
    return
  }
  if (isConnectionLoss(error)) throw error
  if (error instanceof OutdatedError) {
    await giveBack(context, [item])
    throw error
  }
  // Stopped by a signal: nothing of the slice is stored. Its own run drops the work; work of another run returns to the queue.
  if (context.signal.aborted) {
    reportSlice(stream.name, 'stopped')
    return await giveBack(context, [item], {
      exceptRun: run.runId === scope.runId ? run.runId : null,
    })
  }
  if (!(error instanceof SyncError)) context.log.error({ ...about, err: error }, 'slice failed')
  const status: StreamStatus =
    error instanceof SyncError && error.errorAction === 'park' ? 'parked' : 'failed'
  reportSlice(stream.name, status)
  const message = errorText(error)
  const refusedKey = findRefusedKey(error)
  // At each rooftop and stream of a refused key it would be the same sentence.
  if (refusedKey === null || isFirstOfRun(context, run.runId, refusedKey))
    context.log.error(about, message)
  else context.log.debug(about, message)
  const { seconds } = job.traffic
  const counts = addCounts(zeroCounts, job.traffic)
  const slice = { counts, seconds, status, error: message, refusedKey }
  await giveBack(context, [item], {
    record: (tx) =>
      recordSlices(tx, { runId: run.runId, stream: stream.name }, [
        { ...slice, rooftopId: rooftop.id },
      ]),
  })
}

const intervalMs = 2_000
const refreshedAt = new WeakMap<Db, number>()

/**
 * Updates the planner statistics of tables that have grown much, after a slice that wrote rows. Otherwise, until autovacuum runs,
 * a first load is planned as if the warehouse were empty. A failure does not affect the slice.
 */
async function refreshStatistics(
  { db, log }: Pick<Context, 'db' | 'log'>,
  { inserted, updated }: Pick<Counts, 'inserted' | 'updated'>,
): Promise<void> {
  const now = performance.now()
  if (inserted + updated === 0 || now - (refreshedAt.get(db) ?? -Infinity) < intervalMs) return
  refreshedAt.set(db, now)
  try {
    await sql`select ops.refresh_statistics()`.execute(db)
  } catch (error) {
    log.debug(`planner statistics not refreshed: ${errorText(error)}`)
  }
}

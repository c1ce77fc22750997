import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { isConnectionLoss } from '../db/connect.ts'
import { assertSchemaKnown } from '../db/migrate.ts'
import { inTransaction, type Tx } from '../db/transaction.ts'
import { FencedError, messageOf, OutdatedError, SyncError } from '../errors.ts'
import type { WorkItem } from '../queue/queue.ts'
import { batchSlice } from './batch-slice.ts'
import { enrichmentSlice } from './enrichment-slice.ts'
import {
  addCounts,
  advanceFence,
  recordSlice,
  type StreamStatus,
  zeroCounts,
} from './run-ledger.ts'
import { hintsSlice } from './hints-slice.ts'
import { enqueueNext, postpone } from './work-queue.ts'
import { recordPace } from './run-pace.ts'
import { replaySnapshot, replayWindowed } from './replay-slice.ts'
import { retrySlice } from './retry-slice.ts'
import type { SliceJob } from './slice.ts'
import { snapshotSlice } from './snapshot-slice.ts'
import { refreshStatistics } from './refresh-statistics.ts'
import { reportSlice } from './tell-of-slice.ts'
import { type FinishSlice, type SliceResult, windowedSlice } from './windowed-slice.ts'

/** For whom a slice is done. */
export interface SliceOwner {
  /** The run that this process works for; null: for whichever there is. */
  readonly runId: number | null
  readonly onSlice: (job: SliceJob, result: SliceResult) => Promise<void>
}

/** Does one claimed slice: its rows, its counts and the next turn at its place in one transaction. A fault ends the stream of the
 *  rooftop for this run, not the process. Throws the loss of Postgres, and OutdatedError with the work handed back. */
export async function runSlice(job: SliceJob, scope: SliceOwner): Promise<void> {
  const { context, item, run } = job
  context.crashPoint('slice-claimed')
  const finish: FinishSlice = async (tx, result) => {
    await assertSchemaKnown(tx.client, context.schemaVersion)
    await advanceFence(tx, run.runId)
    const status = result.more ? 'running' : (result.ended ?? (await finalStatus(tx, job, result)))
    await recordSlice(tx, keyOf(job), result.counts, status, result.error)
    if (run.lane === 'background') await recordPace(tx, run.runId, result.counts)
    if (result.more && result.delaySeconds) await postponeOwn(tx, job, result.delaySeconds)
    // Complete first, then send: the queue counts active work too.
    await context.queue.complete(tx.client, item)
    await enqueueNext(tx, context, placeOf(job))
  }
  try {
    const result = await runWithRetries(job, finish)
    reportSlice(job.stream.name, 'done', result.counts)
    await scope.onSlice(job, result)
    await refreshStatistics(context, result.counts)
  } catch (error) {
    await afterFailure(job, scope, error)
  }
}

function placeOf({ rooftop, stream }: SliceJob) {
  return { rooftop, stream: stream.name }
}

async function postponeOwn(tx: Tx, job: SliceJob, seconds: number): Promise<void> {
  await postpone(tx, job.run.runId, placeOf(job), seconds)
}

/** A record that was there before, a deadlock over rooftops that adopt of each other: the one that lost plans its slice anew. */
const lostToAnother = ['23505', '40P01']

/** Two rooftops of a group may meet the same new record at once. */
async function runWithRetries(job: SliceJob, finish: FinishSlice): Promise<SliceResult> {
  for (let left = 2; ; left--) {
    try {
      return await runSliceOnce(left === 0 ? { ...job, isLastTry: true } : job, finish)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (left === 0 || !lostToAnother.includes(code)) throw error
    }
  }
}

async function runSliceOnce(job: SliceJob, finish: FinishSlice): Promise<SliceResult> {
  const { stream, run } = job
  if (stream.kind === 'snapshot') {
    const slice = run.mode === 'replay' ? replaySnapshot : snapshotSlice
    return await slice({ ...job, stream }, finish)
  }
  if (stream.kind === 'enrichment') return await enrichmentSlice({ ...job, stream }, finish)
  if (stream.kind === 'batch') return await batchSlice({ ...job, stream }, finish)
  const slice = {
    sync: windowedSlice,
    backfill: windowedSlice,
    retry: retrySlice,
    // Only an enrichment has links, and only a batch is priced anew: nothing is due.
    links: retrySlice,
    reprice: retrySlice,
    replay: replayWindowed,
    hints: hintsSlice,
  }[run.mode]
  return await slice({ ...job, stream }, finish)
}

/** The unit of failure is rooftop × stream: it is recorded and ended for this run, and everything else goes on. */
async function afterFailure(job: SliceJob, scope: SliceOwner, error: unknown): Promise<void> {
  const { context, item, run, rooftop, stream } = job
  const about = { stream: stream.name, rooftop: rooftop.uid, runId: run.runId }
  if (error instanceof FencedError) {
    reportSlice(stream.name, 'fenced')
    context.log.warn({ ...about }, error.message)
    return
  }
  if (isConnectionLoss(error)) throw error
  if (error instanceof OutdatedError) {
    await unlessFenced(context, () => returnWork(context, item))
    throw error
  }
  // Stopped by a signal: nothing of the slice is kept. Its own run gives the work up, another run waits for its.
  if (context.signal.aborted) {
    reportSlice(stream.name, 'stopped')
    return await unlessFenced(context, () =>
      run.runId === scope.runId ? dropWork(context, item, run.runId) : returnWork(context, item),
    )
  }
  if (!(error instanceof SyncError)) context.log.error({ ...about, err: error }, 'slice failed')
  const status: StreamStatus =
    error instanceof SyncError && error.errorAction === 'park' ? 'parked' : 'failed'
  reportSlice(stream.name, status)
  const message = messageOf(error)
  context.log.error(about, message)
  await unlessFenced(context, () =>
    inTransaction(context.pool, async (tx) => {
      await recordSlice(tx, keyOf(job), addCounts(zeroCounts, job.traffic), status, message)
      await context.queue.complete(tx.client, item)
      await enqueueNext(tx, context, placeOf(job))
    }),
  )
}

/** Work that another process has taken over meanwhile, or that was completed before the failure, is left as it is. */
export async function unlessFenced(
  { log }: Pick<Context, 'log'>,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof FencedError)) throw error
    log.warn(error.message)
  }
}

/** Gives claimed work back undone: the next one takes it, no earlier than after the delay. */
export async function returnWork(
  context: Pick<Context, 'pool' | 'queue'>,
  item: WorkItem,
  delaySeconds = 0,
): Promise<void> {
  await inTransaction(context.pool, async (tx) => {
    const place = await placeOfItem(tx, item)
    if (delaySeconds > 0) await postpone(tx, item.data.runId, place, delaySeconds)
    await context.queue.complete(tx.client, item)
    await enqueueNext(tx, context, place)
  })
}

/** Ends claimed work for which its run has no use any more; the other runs at its place go on. */
export async function dropWork(
  context: Pick<Context, 'pool' | 'queue'>,
  item: WorkItem,
  exceptRun: number | null = null,
): Promise<void> {
  await inTransaction(context.pool, async (tx) => {
    await context.queue.complete(tx.client, item)
    await enqueueNext(tx, context, await placeOfItem(tx, item), exceptRun)
  })
}

/** By the warehouse: this process's config may not know the rooftop. The id 0 is no rooftop's. */
async function placeOfItem({ client }: Tx, { data: { stream, rooftopUid } }: WorkItem) {
  const { rows } = await client.query<{ id: number }>(
    'select rooftop_id as id from core.rooftop where rooftop_uid = $1',
    [rooftopUid],
  )
  return { rooftop: { id: rows[0]?.id ?? 0, uid: rooftopUid }, stream }
}

async function finalStatus({ db }: Tx, job: SliceJob, result: SliceResult): Promise<StreamStatus> {
  const key = keyOf(job)
  const unprovable = db
    .selectFrom('ops.window_certificate')
    .select('window_from')
    .where('rooftop_id', '=', key.rooftopId)
    .where('stream', '=', key.stream)
    .where(sql<boolean>`(proof = 'unprovable' or listed <> loaded + quarantined + vanished)`)
  const before = await db
    .selectFrom('ops.run_stream')
    .select(['quarantined', 'error', 'inserted', 'updated', 'unchanged', 'vanished'])
    .select(({ exists }) => exists(unprovable).as('isUnprovable'))
    .where('run_id', '=', key.runId)
    .where('rooftop_id', '=', key.rooftopId)
    .where('stream', '=', key.stream)
    .executeTakeFirst()
  if (result.error !== undefined || (before?.error ?? null) !== null) {
    const sum = addCounts(result.counts, before ?? {})
    return sum.inserted + sum.updated + sum.unchanged + sum.vanished > 0 ? 'partial' : 'failed'
  }
  const isPutAside = (before?.quarantined ?? 0) + result.counts.quarantined > 0
  return !isPutAside && !before?.isUnprovable ? 'ok' : 'partial'
}

function keyOf({ run, rooftop, stream }: SliceJob) {
  return { runId: run.runId, rooftopId: rooftop.id, stream: stream.name }
}

import { setTimeout as sleep } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Context } from '../context.ts'
import { inTransaction, type Tx } from '../db/transaction.ts'
import { FencedError, messageOf, SyncError } from '../errors.ts'
import type { WorkItem } from '../queue/queue.ts'
import type { Stream } from '../streams/stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { batchSlice } from './batch.ts'
import { enrichmentSlice } from './enrichment.ts'
import {
  addCounts,
  advanceFence,
  readRun,
  recordSlice,
  type StreamStatus,
  zeroCounts,
} from './ledger.ts'
import { replaySnapshot, replayWindowed } from './replay.ts'
import { retrySlice } from './retry.ts'
import { type SliceJob, Traffic } from './slice.ts'
import { snapshotSlice } from './snapshot.ts'
import { turnOf } from './turn.ts'
import { type Finish, type SliceResult, windowedSlice } from './windowed.ts'

/** Slices at once in one process: each holds a bounded batch of records. */
const slicesAtOnce = 4
const touchEveryMs = 3_000
const idleWaitMs = 250

export interface WorkScope {
  readonly streams: readonly Stream[]
  /** All rooftops of the config: work for any of them is welcome. */
  readonly rooftops: readonly RooftopRow[]
  /** The run that this process works for. */
  readonly runId: number
  /** Whether all of it is done; until then the process goes on. */
  readonly isDone: () => Promise<boolean>
  readonly onSlice: (job: SliceJob, result: SliceResult) => Promise<void>
}

/**
 * Takes work from the queue and does it, a slice at a time, until everything that this process waits for is done.
 * Whoever enqueued it does not matter: a second host with the same config takes its share by the same code.
 */
export async function work(context: Context, scope: WorkScope): Promise<void> {
  const active = new Map<WorkItem, Promise<void>>()
  const lanes = new Lanes()
  const beat = setInterval(() => {
    context.queue
      .touch([...active.keys()])
      .catch((error) => context.log.warn({ err: error }, 'heartbeat failed'))
  }, touchEveryMs)
  let failure: unknown
  try {
    while (!context.signal.aborted && failure === undefined) {
      const free = slicesAtOnce - active.size
      const items = free > 0 ? await context.queue.take(free) : []
      for (const item of items) {
        const done = lanes
          .run(context, scope, item)
          .catch((error) => {
            failure ??= error
          })
          .finally(() => active.delete(item))
        active.set(item, done)
      }
      if (items.length > 0) continue
      if (active.size === 0) {
        if (await scope.isDone()) break
        await sleep(idleWaitMs)
      } else await Promise.race([...active.values(), sleep(idleWaitMs * 4)])
    }
    await Promise.all(active.values())
  } finally {
    clearInterval(beat)
  }
  if (failure !== undefined) throw failure
}

/** Rooftops of a group whose lists are not filtered would read the same evaluations side by side: they go one after the other. */
class Lanes {
  readonly #lanes = new Map<string, LimitFunction>()

  async run(context: Context, scope: WorkScope, item: WorkItem): Promise<void> {
    const stream = scope.streams.find((entry) => entry.name === item.data.stream)
    const rooftop = scope.rooftops.find((entry) => entry.uid === item.data.rooftopUid)
    const run = await readRun(context.db, item.data.runId)
    if (!stream || !rooftop || !run)
      return await unlessFenced(context, () => handBack(context, item, 2))
    const siblings = scope.rooftops.filter(({ groupId }) => groupId === rooftop.groupId)
    const job = { context, run, stream, rooftop, siblings, item, traffic: new Traffic() }
    if (stream.kind === 'enrichment' || stream.kind === 'batch') return await inTurn(job, scope)
    if (rooftop.dealerId !== null) return await doSlice(job, scope)
    const lane = `${stream.name}/${rooftop.groupId}`
    if (!this.#lanes.has(lane)) this.#lanes.set(lane, pLimit(1))
    await this.#lanes.get(lane)!(() => doSlice(job, scope))
  }
}

/** Work for a rooftop that this process does not know is another one's to do; work whose turn has not come waits its turn. */
async function handBack(context: Context, item: WorkItem, delaySeconds: number): Promise<void> {
  await inTransaction(context.pool, async ({ client }) => {
    await context.queue.complete(client, item)
    await context.queue.offer(client, item.data, { delaySeconds })
  })
}

/** An enrichment asks about what the earlier streams of the run bring in: it waits for them, and holds no slot meanwhile. */
async function inTurn(job: SliceJob, scope: WorkScope): Promise<void> {
  const { context, item } = job
  const turn = await turnOf(context.db, job)
  if (turn.kind === 'now') return await doSlice(job, scope)
  // A run that has ended wants nothing any more.
  const act = async () =>
    turn.kind === 'never' ? await release(job) : await handBack(context, item, turn.seconds)
  await unlessFenced(context, act)
}

async function doSlice(job: SliceJob, scope: WorkScope): Promise<void> {
  const { context, item, run } = job
  context.crashPoint('slice-claimed')
  const finish: Finish = async (tx, result) => {
    await advanceFence(tx, run.runId)
    const status = result.more ? 'running' : (result.ended ?? (await finalStatus(tx, job, result)))
    await recordSlice(tx, keyOf(job), result.counts, status, result.error)
    // Complete first, then send: the queue counts active work too.
    await context.queue.complete(tx.client, item)
    const { delaySeconds = 0 } = result
    if (result.more) await context.queue.offer(tx.client, item.data, { delaySeconds })
  }
  try {
    await scope.onSlice(job, await runSlice(job, finish))
  } catch (error) {
    await afterFailure(job, scope, error)
  }
}

/** A record that was there before, a deadlock over rooftops that adopt of each other: the one that lost plans its slice anew. */
const lostToAnother = ['23505', '40P01']

/** Two rooftops of a group may meet the same new record at once. */
async function runSlice(job: SliceJob, finish: Finish): Promise<SliceResult> {
  for (let left = 2; ; left--) {
    try {
      return await runSliceOnce(job, finish)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (left === 0 || !lostToAnother.includes(code)) throw error
    }
  }
}

async function runSliceOnce(job: SliceJob, finish: Finish): Promise<SliceResult> {
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
  }[run.mode]
  return await slice({ ...job, stream }, finish)
}

/** The unit of failure is rooftop × stream: it is recorded and ended for this run, and everything else goes on. */
async function afterFailure(job: SliceJob, scope: WorkScope, error: unknown): Promise<void> {
  const { context, item, run, rooftop, stream } = job
  const about = { stream: stream.name, rooftop: rooftop.uid, runId: run.runId }
  if (error instanceof FencedError) {
    context.log.warn({ ...about }, error.message)
    return
  }
  if (context.signal.aborted)
    return run.runId === scope.runId ? await release(job) : await returnToOwner(job)
  if (!(error instanceof SyncError)) context.log.error({ ...about, err: error }, 'slice failed')
  const status: StreamStatus =
    error instanceof SyncError && error.verdict === 'park' ? 'parked' : 'failed'
  const message = messageOf(error)
  context.log.error(about, message)
  await unlessTakenOver(job, async (tx) => {
    await recordSlice(tx, keyOf(job), addCounts(zeroCounts, job.traffic), status, message)
    await context.queue.complete(tx.client, item)
  })
}

/** Ends work in a transaction; work that is another's by now, or was completed before the failure, is left as it is. */
async function unlessTakenOver(
  { context }: SliceJob,
  end: (tx: Tx) => Promise<void>,
): Promise<void> {
  try {
    await inTransaction(context.pool, end)
  } catch (error) {
    if (!(error instanceof FencedError)) throw error
    context.log.warn(error.message)
  }
}

/** Stopped by a signal while helping another run: that one waits for its work. */
async function returnToOwner({ context, item }: SliceJob): Promise<void> {
  await unlessFenced(context, () => handBack(context, item, 0))
}

/** Work that another process has taken over meanwhile is left to it. */
async function unlessFenced({ log }: Context, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof FencedError)) throw error
    log.warn(error.message)
  }
}

/** Stopped by a signal: nothing of the slice is kept, the work is given up so that the next run plans it anew. */
async function release(job: SliceJob): Promise<void> {
  await unlessTakenOver(job, async (tx) => await job.context.queue.complete(tx.client, job.item))
}

async function finalStatus({ db }: Tx, job: SliceJob, result: SliceResult): Promise<StreamStatus> {
  const key = keyOf(job)
  const before = await db
    .selectFrom('ops.run_stream')
    .select(['quarantined', 'error', 'inserted', 'updated', 'unchanged', 'vanished'])
    .where('run_id', '=', key.runId)
    .where('rooftop_id', '=', key.rooftopId)
    .where('stream', '=', key.stream)
    .executeTakeFirst()
  if (result.error !== undefined || (before?.error ?? null) !== null) {
    const sum = addCounts(result.counts, before ?? {})
    return sum.inserted + sum.updated + sum.unchanged + sum.vanished > 0 ? 'partial' : 'failed'
  }
  const unprovable = await db
    .selectFrom('ops.window_certificate')
    .select('window_from')
    .where('rooftop_id', '=', key.rooftopId)
    .where('stream', '=', key.stream)
    .where('proof', '=', 'unprovable')
    .executeTakeFirst()
  const clean = (before?.quarantined ?? 0) + result.counts.quarantined === 0 && !unprovable
  return clean ? 'ok' : 'partial'
}

function keyOf({ run, rooftop, stream }: SliceJob) {
  return { runId: run.runId, rooftopId: rooftop.id, stream: stream.name }
}

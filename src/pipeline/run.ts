import type pg from 'pg'
import type { RooftopConfig } from '../config.ts'
import type { Context } from '../context.ts'
import { explainLoss } from '../db/connect.ts'
import { inTransaction } from '../db/transaction.ts'
import { BusyError, messageOf, SyncError, UsageError } from '../errors.ts'
import type { Stream } from '../streams/stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { want } from './certificate.ts'
import { countDue, type DueScope } from './due.ts'
import {
  abandonRun,
  assertRunning,
  finishRun,
  holdRunLock,
  insertRun,
  insertRunStreams,
  isRunDead,
  type Run,
  type RunPlan,
} from './ledger.ts'
import { type RunReport, reportRun } from './report.ts'
import { registerRooftops } from './rooftops.ts'
import type { SliceJob } from './slice.ts'
import { work } from './worker.ts'

export interface RunRequest {
  readonly plan: RunPlan
  readonly streams: readonly Stream[]
  readonly rooftops: readonly RooftopConfig[]
}

/**
 * One run: the source's clock → the run's row → work for every stream × rooftop → worked until done → report.
 * BusyError when another living run holds some of the same work; a dead run's work is taken over.
 */
export async function runStreams(context: Context, request: RunRequest): Promise<RunReport> {
  if (request.plan.mode !== 'replay') {
    await askClock(context)
    warnOfSkew(context)
  }
  const sourceStart = toUnixSeconds(context.appraisal.clock.now())
  const known = await registerRooftops(context.db, context.config.rooftops)
  const chosen = new Set(request.rooftops.map(({ uid }) => uid))
  const rooftops = known.filter(({ uid }) => chosen.has(uid))
  const holder = await context.pool.connect()
  try {
    const run = await startRun(context, request, rooftops, sourceStart, holder)
    context.crashPoint('run-started')
    const progress = await trackProgress(context, request, run, rooftops)
    await work(context, {
      streams: request.streams,
      rooftops: known,
      runId: run.runId,
      isDone: async () => await allDone(context, run),
      onSlice: progress,
    })
    context.progress.end()
    const report = await reportRun(context.db, run.runId, rooftops)
    const status = context.signal.aborted ? 'stopped' : report.status
    const finishedAt = await finishRun(context.db, run.runId, status)
    context.crashPoint('run-finished')
    return { ...report, finishedAt: finishedAt.toISOString() }
  } catch (error) {
    throw explainLoss(error)
  } finally {
    // The session ends, and with it the lock that says that this run is alive.
    holder.release(true)
  }
}

/** Claims all of the work or none of it, in one transaction. */
async function startRun(
  context: Context,
  request: RunRequest,
  rooftops: readonly RooftopRow[],
  sourceStart: number,
  holder: pg.PoolClient,
): Promise<Run> {
  return await inTransaction(context.pool, async (tx) => {
    // Two starts at once go one after the other, so that each sees what the other holds.
    await tx.client.query('select pg_advisory_xact_lock(7299, 0)')
    const names = {
      streams: request.streams.map(({ name }) => name),
      rooftops: rooftops.map(({ uid }) => uid),
    }
    const run = await insertRun(tx.db, request.plan, sourceStart, names)
    await holdRunLock(holder, run.runId)
    const pairs = request.streams.flatMap((stream, rank) =>
      rooftops.map((rooftop) => ({ stream, rooftop, rank })),
    )
    const keys = pairs.map(({ stream, rooftop }) => ({
      runId: run.runId,
      rooftopId: rooftop.id,
      stream: stream.name,
    }))
    await insertRunStreams(tx.db, keys)
    for (const { stream, rooftop, rank } of pairs) {
      const data = { runId: run.runId, stream: stream.name, rooftopUid: rooftop.uid }
      const priority = request.streams.length - rank
      const what = `${stream.name} of ${rooftop.name}`
      // More than once: a dead run's last slice may commit, and queue its next one, while its work is dropped.
      for (;;) {
        const held = await context.queue.offer(tx.client, data, { priority })
        if (!held) break
        await takeOver(context, tx.client, held.id, held.data.runId, what)
      }
      const scope: DueScope = { rooftopId: rooftop.id, stream: stream.name, run }
      if (stream.kind === 'windowed' && ownsWindows(run))
        await want(tx.db, scope, run.from, run.until ?? sourceStart)
    }
    return run
  })
}

/** The work of a dead process is free; the fence keeps a process that only seemed dead from writing. */
async function takeOver(
  context: Context,
  client: pg.PoolClient,
  jobId: string,
  runId: number,
  what: string,
): Promise<void> {
  if (!(await isRunDead(client, runId))) {
    throw new BusyError(
      `Run ${runId} is at work on ${what}; nothing was started. Wait for it to end ("forecourt status" shows it), or stop it.`,
    )
  }
  context.log.warn({ runId }, `run ${runId} did not finish; its work is taken over`)
  // The run first and its work second, as a slice's commit does: the other way round the two wait for each other.
  await abandonRun(client, runId)
  await context.queue.drop(client, jobId)
}

/** Does the run list windows? */
function ownsWindows({ mode }: RunPlan): boolean {
  return mode === 'sync' || mode === 'backfill'
}

/** FencedError when another run has ended this one: its work will never be done. */
async function allDone(context: Context, run: Run): Promise<boolean> {
  await assertRunning(context.db, run.runId)
  const open = await context.db
    .selectFrom('ops.run_stream')
    .select('stream')
    .where('run_id', '=', run.runId)
    .where('status', 'in', ['waiting', 'running'])
    .limit(1)
    .executeTakeFirst()
  return open === undefined
}

/** Windows done of those due at the start, for the bars. */
async function trackProgress(
  context: Context,
  request: RunRequest,
  run: Run,
  rooftops: readonly RooftopRow[],
) {
  const totals = new Map<string, number>()
  const windowed = ownsWindows(run) ? request.streams.filter(({ kind }) => kind === 'windowed') : []
  for (const stream of windowed) {
    for (const rooftop of rooftops) {
      const scope = { rooftopId: rooftop.id, stream: stream.name, run }
      const due = await countDue(context.db, scope, context.config.sync)
      totals.set(`${stream.name}/${rooftop.uid}`, due.gap + due.recheck + due.deep)
    }
  }
  const done = new Map<string, number>()
  return async (
    { stream, rooftop }: SliceJob,
    { counts }: { counts: { windows: number; listed: number } },
  ) => {
    const key = `${stream.name}/${rooftop.uid}`
    done.set(key, (done.get(key) ?? 0) + (stream.kind === 'windowed' ? counts.windows : 1))
    const total = Math.max(totals.get(key) ?? 1, done.get(key)!)
    context.progress.slice({
      stream: stream.name,
      rooftop: rooftop.name,
      done: done.get(key)!,
      total,
      records: counts.listed,
    })
  }
}

/** A source that cannot be reached ends the run before it has begun. */
async function askClock({ appraisal, config, signal }: Context): Promise<void> {
  try {
    await appraisal.measureClock({ signal })
  } catch (cause) {
    if (!(cause instanceof SyncError)) throw cause
    const reason = messageOf(cause.cause ?? cause)
    throw new UsageError(
      `The source at ${config.appraisal.baseUrl} cannot be reached (${reason}): start it, or correct appraisal.baseUrl in the config.`,
      { cause },
    )
  }
}

function warnOfSkew({ appraisal, log }: Context): void {
  const hours = Math.abs(appraisal.clock.offsetMs) / 3_600_000
  if (hours * 60 > 1)
    log.warn(
      { offsetMs: appraisal.clock.offsetMs },
      `the source's clock differs from ours by ${hours.toFixed(2)} h; the source's is followed`,
    )
}

import { sql } from 'kysely'
import type { RooftopConfig } from '../../app/config/read.ts'
import type { Context } from '../../context.ts'
import { BusyError, UsageError } from '../../errors.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { fromUnixSeconds, toUnixSeconds } from '../../values/unix-seconds.ts'
import { wireDigest } from '../../values/wire.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { assertSchemaKnown } from '../../warehouse/db/migrate.ts'
import { otherSource, type RunSource, sourceOfRun } from '../../warehouse/db/run-source.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import { type Db, inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import type { WorkKey } from '../../warehouse/queue/queue.ts'
import { addWanted } from '../windows/certificate.ts'
import { registerRooftops, requireRegistered } from './rooftops.ts'
import {
  abandonRun,
  finishRun,
  insertRun,
  insertRunStreams,
  isHistory,
  type Run,
  type RunPlan,
  type RunStreamKey,
} from './run-ledger.ts'
import { isRunDead, RunLock } from './run-lock.ts'
import type { Stream } from './stream.ts'
import { nextWork } from './work-queue.ts'

/** What a run does, with which streams and rooftops. */
export interface RunRequest {
  readonly plan: RunPlan
  readonly streams: readonly Stream[]
  readonly rooftops: readonly RooftopConfig[]
}

/** A run that has started. Its work is in the ledger, but not in the queue yet. */
export interface StartedRun {
  readonly run: Run
  /** null: the run is detached. */
  readonly lock: RunLock | null
  readonly workKeys: readonly WorkKey[]
  /** The part of the work that dead runs had claimed or would have claimed next. */
  readonly takenOver: readonly WorkKey[]
}

/**
 * Claims all of the work or none of it, in one transaction. BusyError when a live run of the same lane has some of it. Runs of
 * other lanes share the work, and a dead run's work is taken over. OutdatedError when the warehouse is newer than this process.
 */
export async function startRun(
  context: Context,
  request: RunRequest,
  rooftops: readonly RooftopRow[],
  sourceStart: number,
): Promise<StartedRun> {
  const holder = request.plan.isDetached === true ? null : await context.pool.connect()
  let lock: RunLock | null = null
  try {
    return await inTransaction(context.pool, async (tx) => {
      // Concurrent starts run one after the other, so that each sees the other's work.
      await sql`select ${lockSql.wait('startRun')}`.execute(tx.db)
      await assertSchemaKnown(tx.client, context.schemaVersion)
      await requireRegistered(tx.db, context.config.rooftops)
      const names = {
        streams: request.streams.map(({ name }) => name),
        rooftops: rooftops.map(({ uid }) => uid),
      }
      const { sourceId } = context.queue
      const plan =
        request.plan.mode === 'replay'
          ? { ...request.plan, wireDigest: wireDigest(context.config.wire) }
          : planUntilNow(request.plan, sourceStart)
      const run = await insertRun(tx.db, plan, { sourceId, sourceStart }, names)
      lock = holder && (await RunLock.take(context.pool, holder, run.runId))
      const work = request.streams.flatMap(({ name }) =>
        rooftops.map(({ id, uid }) => ({ rooftopId: id, rooftopUid: uid, stream: name })),
      )
      await insertRunStreams(
        tx.db,
        work.map(({ rooftopId, stream }) => ({ runId: run.runId, rooftopId, stream })),
      )
      // Coverage first, then the runs: the order in which a slice's commit locks them, so that the two cannot deadlock.
      await addWantedSpans(tx, run, request.streams, rooftops)
      const workKeys = work.map(({ stream, rooftopUid }) => ({ stream, rooftopUid }))
      const takenOver = await takeOver(context, tx, run, work)
      return { run, lock, workKeys, takenOver }
    })
  } catch (error) {
    if (lock === null) holder?.release(true)
    else (lock as RunLock).release()
    throw error
  }
}

/** The plan without the future of the source: a window that is listed before its time would count as proved. UsageError when
 *  nothing of it is left. */
export function planUntilNow(plan: RunPlan, sourceStart: number): RunPlan {
  const { from, until, lane = 'foreground' } = plan
  if (!isHistory({ ...plan, lane })) return plan
  if (from >= sourceStart) {
    const [begin, now] = [from, sourceStart].map((at) => fromUnixSeconds(at).toISOString())
    throw new UsageError(
      `${begin} lies in the future of the source, whose time is ${now}: there is nothing to load.`,
    )
  }
  return until !== null && until >= sourceStart ? { ...plan, until: null } : plan
}

/**
 * Records a run that could not ask the source for its clock, so that `runs list` and `status` show why nothing was loaded. false: it
 * is not recorded. Before the first good run the address may be wrong, and runs for webhooks are tried again within seconds.
 */
export async function recordFailedRun(
  { db: pooled, pool, queue, config, log }: Context,
  { plan, streams, rooftops: chosen }: RunRequest,
  reason: string,
): Promise<boolean> {
  if ((plan.lane ?? 'foreground') !== 'foreground') return false
  // A changed rooftop is committed by itself.
  const known = await registerRooftops(pooled, config.rooftops, log)
  return await inTransaction(pool, async ({ db }) => {
    const good = await sql`
      select from ops.run where status in ('ok', 'partial') limit 1`.execute(db)
    if (good.rows.length === 0) return false
    const rooftops = known.filter(({ uid }) => chosen.some((one) => one.uid === uid))
    const names = streams.map(({ name }) => name)
    const details = { streams: names, rooftops: rooftops.map(({ uid }) => uid) }
    const sourceStart = toUnixSeconds(await readSourceNow(db))
    const { sourceId } = queue
    const { runId } = await insertRun(db, plan, { sourceId, sourceStart }, details)
    const keys = names.flatMap((stream) => rooftops.map(({ id }) => ({ rooftopId: id, stream })))
    await insertRunStreams(
      db,
      keys.map((key) => ({ runId, ...key })),
    )
    await sql`
      update ops.run_stream set status = 'failed', error = ${reason}, finished_at = now()
      where run_id = ${runId}`.execute(db)
    await finishRun(db, runId, 'failed')
    return true
  })
}

/** Adds the run's span to what must be covered, for every windowed stream. */
async function addWantedSpans(
  { db }: Tx,
  run: Run,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
): Promise<void> {
  if (!listsWindows(run)) return
  const rooftopIds = rooftops.map(({ id }) => id)
  for (const { records, name } of streams)
    if (records !== undefined)
      await addWanted(db, { rooftopIds, stream: name }, run.from, run.until ?? run.sourceStart)
}

/** Whether the run lists windows. */
export function listsWindows({ mode }: RunPlan): boolean {
  return mode === 'sync' || mode === 'backfill'
}

/** Takes over the work of dead runs, if any has some, and returns the keys where such a run comes first: claims of other keys are
 *  of live runs. If a process of a dead run is alive after all, the fence prevents its writes. */
async function takeOver(
  context: Context,
  { db }: Tx,
  run: Run,
  work: readonly (LedgerKey & WorkKey)[],
): Promise<WorkKey[]> {
  const otherRuns = await runsAt(db, run, work)
  const first =
    otherRuns.length > 0 ? await nextWork(db, context.queue.sourceId, work, run.runId) : []
  for (const { runId, isDetached, stream, rooftop, source } of otherRuns) {
    if (!(await isRunDead(db, runId))) {
      const pause =
        run.lane === 'background'
          ? `, or pause it: "forecourt backfill --pause --run ${runId}"`
          : ''
      const other = otherSource(source, context.config)
      const workers = other === null ? 'the workers' : `a worker that reads ${other}`
      const advice = isDetached
        ? `Wait for ${workers} to end it${pause}.`
        : 'Wait for it to end ("forecourt status" shows it), or stop it.'
      throw new BusyError(
        `Run ${runId} is at work on ${stream} of ${rooftop}; nothing was started. ${advice}`,
      )
    }
    context.log.warn({ runId }, `run ${runId} did not finish; its work is taken over`)
    await abandonRun(db, runId)
  }
  const dead = new Set(otherRuns.map(({ runId }) => runId))
  return first.filter((next) => dead.has(next.run.runId)).map(({ key }) => key)
}

type LedgerKey = Omit<RunStreamKey, 'runId'>

interface OtherRun {
  readonly runId: number
  readonly isDetached: boolean
  readonly stream: string
  readonly rooftop: string
  readonly source: RunSource | null
}

/** Runs of the same lane that have some of the work open; each with one example. */
async function runsAt(
  db: Db,
  { runId, lane }: Run,
  work: readonly LedgerKey[],
): Promise<OtherRun[]> {
  const { rows } = await sql<OtherRun>`
    select distinct on (run_id) run_id as "runId", is_detached as "isDetached", stream, rooftop_name as rooftop,
      ${sql.raw(sourceOfRun)} as source
    from unnest(${work.map(({ rooftopId }) => rooftopId)}::int[], ${work.map(({ stream }) => stream)}::text[])
      as key (rooftop_id, stream)
    join ops.run_stream using (rooftop_id, stream) join ops.run using (run_id) join core.rooftop using (rooftop_id)
    where run_id <> ${runId} and lane = ${lane} and run.status = 'running' and run_stream.status in ('waiting', 'running')
    order by run_id, stream, rooftop_id`.execute(db)
  return rows
}

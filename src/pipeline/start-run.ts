import type pg from 'pg'
import type { RooftopConfig } from '../config.ts'
import type { Context } from '../context.ts'
import { assertSchemaKnown } from '../db/migrate.ts'
import { inTransaction, type Tx } from '../db/transaction.ts'
import { BusyError } from '../errors.ts'
import { queueKey } from '../queue/queue.ts'
import type { Stream } from '../streams/stream.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { addWanted } from './certificate.ts'
import { abandonRun, insertRun, insertRunStreams, type Run, type RunPlan } from './run-ledger.ts'
import type { WorkKey } from './work-queue.ts'
import { isRunDead, RunLock } from './run-lock.ts'

/** What a run is to do, of which streams at which rooftops. */
export interface RunRequest {
  readonly plan: RunPlan
  readonly streams: readonly Stream[]
  readonly rooftops: readonly RooftopConfig[]
}

/** A run that has begun; its work is in the ledger, and not in the queue yet. */
export interface StartedRun {
  readonly run: Run
  /** null: it is detached. */
  readonly lock: RunLock | null
  readonly places: readonly WorkKey[]
}

/**
 * Claims all of the work or none of it, in one transaction. BusyError when a living run of the same lane has some of it; those of
 * other lanes share it by turns, and a dead run's work is taken over. OutdatedError when the warehouse is newer than this process.
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
      // Two starts at once go one after the other, so that each sees what the other holds.
      await tx.client.query('select pg_advisory_xact_lock(7299, 0)')
      await assertSchemaKnown(tx.client, context.schemaVersion)
      const names = {
        streams: request.streams.map(({ name }) => name),
        rooftops: rooftops.map(({ uid }) => uid),
      }
      const run = await insertRun(tx.db, request.plan, sourceStart, names)
      lock = holder && (await RunLock.take(context.pool, holder, run.runId))
      const places = request.streams.flatMap(({ name }) =>
        rooftops.map((rooftop) => ({ rooftop, stream: name })),
      )
      const keys = places.map(({ rooftop, stream }) => ({
        runId: run.runId,
        rooftopId: rooftop.id,
        stream,
      }))
      await insertRunStreams(tx.db, keys)
      // What is wanted before the runs, as a slice's commit locks them: the other way round the two wait for each other.
      await wantAll(tx, run, request.streams, rooftops)
      await takeOver(context, tx, run, places)
      return { run, lock, places }
    })
  } catch (error) {
    if (lock === null) holder?.release(true)
    else (lock as RunLock).release()
    throw error
  }
}

async function wantAll(
  { db }: Tx,
  run: Run,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
): Promise<void> {
  if (!listsWindows(run)) return
  const rooftopIds = rooftops.map(({ id }) => id)
  for (const { kind, name } of streams)
    if (kind === 'windowed')
      await addWanted(db, { rooftopIds, stream: name }, run.from, run.until ?? run.sourceStart)
}

/** Does the run list windows? */
export function listsWindows({ mode }: RunPlan): boolean {
  return mode === 'sync' || mode === 'backfill'
}

/** The work of a dead process is free; the fence keeps a process that only seemed dead from writing. */
async function takeOver(
  context: Context,
  { client }: Tx,
  run: Run,
  places: readonly WorkKey[],
): Promise<void> {
  const others = await runsAt(context, client, run, places)
  for (const { runId, isDetached, stream, rooftop } of others) {
    if (!(await isRunDead(client, runId))) {
      const advice = isDetached
        ? 'Wait for the workers to end it, or pause it: "forecourt backfill --pause".'
        : 'Wait for it to end ("forecourt status" shows it), or stop it.'
      throw new BusyError(
        `Run ${runId} is at work on ${stream} of ${rooftop}; nothing was started. ${advice}`,
      )
    }
    context.log.warn({ runId }, `run ${runId} did not finish; its work is taken over`)
    await abandonRun(client, runId)
  }
}

interface OtherRun {
  readonly runId: number
  readonly isDetached: boolean
  readonly stream: string
  readonly rooftop: string
}

/** The runs of the same lane that have some of the work, by the ledger or by what stands in the queue; each with one example. */
async function runsAt(
  { queue }: Context,
  client: pg.PoolClient,
  { runId, lane }: Run,
  places: readonly WorkKey[],
): Promise<OtherRun[]> {
  const keys = places.map(({ rooftop, stream }) => queueKey({ stream, rooftopUid: rooftop.uid }))
  const queued = await queue.holders(client, keys)
  const { rows } = await client.query<OtherRun>(
    `with place as (select * from unnest($3::int[], $4::text[]) as place (rooftop_id, stream)), held as (
       select run_id, rooftop_id, stream from ops.run_stream join place using (rooftop_id, stream) join ops.run using (run_id)
       where ops.run.status = 'running' and run_stream.status in ('waiting', 'running')
       union all
       select run_id, rooftop_id, stream from unnest($5::bigint[], $6::text[], $7::text[]) as queued (run_id, stream, rooftop_uid)
       join core.rooftop using (rooftop_uid)
     )
     select distinct on (run_id) run_id as "runId", is_detached as "isDetached", stream, rooftop_name as rooftop
     from held join ops.run using (run_id) join core.rooftop using (rooftop_id)
     where run_id <> $1 and lane = $2 and status = 'running'
     order by run_id, stream, rooftop_id`,
    [
      ...[runId, lane],
      places.map(({ rooftop }) => rooftop.id),
      places.map(({ stream }) => stream),
      queued.map(({ data }) => data.runId),
      queued.map(({ data }) => data.stream),
      queued.map(({ data }) => data.rooftopUid),
    ],
  )
  return rows
}

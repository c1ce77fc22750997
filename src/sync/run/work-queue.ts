import { sql } from 'kysely'
import type { Context } from '../../context.ts'
import { FencedError } from '../../errors.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { type Db, inTransaction, prepared, type Tx } from '../../warehouse/db/transaction.ts'
import {
  type QueueEntry,
  queueKey,
  type WorkItem,
  type WorkKey,
} from '../../warehouse/queue/queue.ts'
import { isOfSource, type Lane, type Run, type RunRow, toRun } from './run-ledger.ts'
import type { SliceJob, Stream } from './stream.ts'

type Queueing = Pick<Context, 'pool' | 'db' | 'queue'>

/** Priority by lane: urgent work is taken first everywhere. Within a lane the stream order decides until a key has had a slice. */
export const lanePriority: Readonly<Record<Lane, number>> = {
  event: 200,
  foreground: 100,
  background: 0,
}
const keysAtOnce = 500

/** The next work for a key, and the run that it belongs to. */
export interface NextWork extends QueueEntry {
  readonly run: Run
  /** The run has not worked on the key yet. */
  readonly isFresh: boolean
}

interface OpenWork extends WorkKey, RunRow {
  readonly streams: readonly string[] | null
  readonly isFresh: boolean
  readonly delaySeconds: number
}

/**
 * The next work for each of these keys, of the runs of a source that have open work there: of those that need not wait, the one
 * with the highest lane; otherwise the one with the shortest wait. Level-triggered: it reads the ledger, and no process holds
 * state.
 */
export async function nextWork(
  db: Db,
  sourceId: number,
  keys: readonly WorkKey[],
  exceptRun: number | null = null,
): Promise<NextWork[]> {
  const { rows } = await prepared(sql<OpenWork>`
    -- The arguments of a run name all its rooftops: taken apart once for each run, not for each key.
    with open_run as materialized (
      select run_id, command, lane, status, is_detached, started_at, source_started_at, arguments - 'rooftops' as arguments
      from ops.run where status = 'running' and ${isOfSource(sourceId)} and run_id is distinct from ${exceptRun}
    )
    select distinct on (rooftop_id, stream) key.stream, rooftop_uid as "rooftopUid", run_id, command, lane, run.status, is_detached,
      run.started_at, source_started_at, arguments, arguments -> 'streams' as streams,
      run_stream.status = 'waiting' and not_before is null as "isFresh", delay as "delaySeconds"
    from unnest(${keys.map(({ stream }) => stream)}::text[], ${keys.map(({ rooftopUid }) => rooftopUid)}::text[])
      as key (stream, rooftop_uid)
    join core.rooftop using (rooftop_uid)
    cross join open_run as run
    -- By primary key: without statistics of the rows that a run has just inserted, the planner read all of them for each key.
    cross join lateral (
      select part.status, not_before from ops.run_stream as part
      where part.run_id = run.run_id and part.rooftop_id = rooftop.rooftop_id and part.stream = key.stream
      offset 0) as run_stream
    cross join lateral (
      select greatest(0, coalesce(extract(epoch from not_before - clock_timestamp()), 0))::float8 as delay) as waits
    where run_stream.status in ('waiting', 'running')
    order by rooftop_id, stream, delay, case lane when 'event' then 1 when 'foreground' then 2 else 3 end, run_id`).execute(
    db,
  )
  return rows.map(({ stream, rooftopUid, streams, isFresh, delaySeconds, ...row }) => {
    const run = toRun(row)
    const rank = isFresh && streams !== null ? streams.length - streams.indexOf(stream) : 0
    return {
      ...{ run, isFresh },
      key: { stream, rooftopUid },
      priority: lanePriority[run.lane] + rank,
      // Round up: time that passed between the statements of the postponing transaction must not shorten the wait.
      delaySeconds: Math.ceil(delaySeconds * 10) / 10,
    }
  })
}

/** Ends claimed work and enqueues the next of its keys, in the same transaction. `exceptRun` needs no more work. */
export async function completeWork(
  tx: Tx,
  { queue }: Pick<Context, 'queue'>,
  items: readonly WorkItem[],
  exceptRun: number | null = null,
): Promise<void> {
  // Complete first, then enqueue: claimed work occupies the queue's key too.
  await queue.complete(tx.client, items)
  const keys = items.map(({ key }) => key)
  await queue.offer(tx.client, await nextWork(tx.db, queue.sourceId, keys, exceptRun))
}

/** Ends claimed work whose slice committed nothing, after `record`. Does nothing when another process has taken the work over. */
export async function giveBack(
  context: Pick<Context, 'pool' | 'queue' | 'log'>,
  items: readonly WorkItem[],
  {
    record,
    exceptRun = null,
  }: { record?: (tx: Tx) => Promise<void>; exceptRun?: number | null } = {},
): Promise<void> {
  try {
    await inTransaction(context.pool, async (tx) => {
      await record?.(tx)
      await completeWork(tx, context, items, exceptRun)
    })
  } catch (error) {
    if (!(error instanceof FencedError)) throw error
    context.log.warn(error.message)
  }
}

/** Delays a run's next slice for a key; other runs may work on it meanwhile. */
export async function postpone(
  { db }: Pick<Tx, 'db'>,
  runId: number,
  { stream, rooftopUid }: WorkKey,
  seconds: number,
): Promise<void> {
  await sql`
    update ops.run_stream set not_before = clock_timestamp() + make_interval(secs => ${seconds})
    where run_id = ${runId} and stream = ${stream}
      and rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = ${rooftopUid})`.execute(
    db,
  )
}

/**
 * Enqueues the open work of these keys, and corrects when waiting entries are taken. Claimed work ends first and then enqueues
 * what is next; that of the keys `takenOver` is taken away from its process. The rows of the runs must be committed, so that a slice that
 * ends meanwhile sees them too.
 */
export async function enqueue(
  { pool, db, queue }: Queueing,
  keys: readonly WorkKey[],
  takenOver: readonly WorkKey[] = [],
): Promise<void> {
  const revoked = new Set(takenOver.map(queueKey))
  for (let from = 0; from < keys.length; from += keysAtOnce) {
    const entries = await nextWork(db, queue.sourceId, keys.slice(from, from + keysAtOnce))
    for (const entry of await queue.offer(pool, entries)) {
      if ((await queue.reschedule(pool, entry)) || !revoked.has(queueKey(entry.key))) continue
      await queue.revoke(pool, entry.key)
      await queue.offer(pool, [entry])
    }
  }
}

/**
 * Enqueues open work that has no message in the queue, of one run or of all of this source (null): its process died before it enqueued the work,
 * or the message was lost. Returns the number of keys. One process at a time checks all runs; for others that do, nothing counts
 * as lost.
 */
export async function requeueLost(
  { pool, db, queue }: Queueing,
  runId: number | null,
): Promise<number> {
  const isOurs =
    runId === null ? sql`(select ${lockSql.try('repair')})` : sql`run_id = ${runId}::bigint`
  const { rows: keys } = await sql<WorkKey>`
    select distinct stream, rooftop_uid as "rooftopUid"
    from ops.run join ops.run_stream using (run_id) join core.rooftop using (rooftop_id)
    where run.status = 'running' and ${isOfSource(queue.sourceId)} and run_stream.status in ('waiting', 'running') and ${isOurs}`.execute(
    db,
  )
  let lost = 0
  for (let from = 0; from < keys.length; from += keysAtOnce) {
    const entries = await nextWork(db, queue.sourceId, keys.slice(from, from + keysAtOnce))
    lost += entries.length - (await queue.offer(pool, entries)).length
  }
  return lost
}

/** Returns to the queue per second, for any number of waiting rooftops. */
const checksPerSecond = 20

/**
 * How long work must wait for the run's earlier streams, those of the rooftop, or of its whole group where the stream follows
 * them in the group; 0 when they have ended. Without a dealer id a list covers the group, so then all streams must have ended for
 * the whole group. The more work waits, the later each piece is checked again.
 */
export async function secondsUntilReady(
  db: Db,
  { run, stream, rooftop, siblings }: SliceJob<Stream>,
): Promise<number> {
  const group = siblings.map(({ id }) => id)
  const concerned = rooftop.dealerId === null ? group : [rooftop.id]
  const { rows } = await sql<{ before: number; waiting: number }>`
    with planned as (
      select stream, rank from ops.run, jsonb_array_elements_text(arguments -> 'streams')
        with ordinality as entry (stream, rank) where run_id = ${run.runId}
    ), open as (
      select rooftop_id, stream from ops.run_stream
      where run_id = ${run.runId} and status in ('waiting', 'running')
    )
    select (select count(*)::int from open join planned using (stream)
        where (rooftop_id = any(${concerned}::int[])
            or rooftop_id = any(${group}::int[]) and stream = any(${[...(stream.follows ?? [])]}::text[]))
          and rank < (select rank from planned where stream = ${stream.name})) as before,
      (select count(*)::int from open where stream = ${stream.name}) as waiting`.execute(db)
  const { before, waiting } = rows[0]!
  return before === 0 ? 0 : Math.min(60, Math.max(0.5, waiting / checksPerSecond))
}

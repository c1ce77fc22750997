import { sql } from 'kysely'
import type { Context } from '../context.ts'
import type { Db, Tx } from '../db/transaction.ts'
import { type OfferOptions, type WorkData, queueKey } from '../queue/queue.ts'
import { lockClass } from '../values/lock-classes.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Lane } from './run-ledger.ts'

/** A stream of a rooftop: what at most one slice is at work on at a time, whichever runs want it. */
export interface WorkKey {
  readonly rooftop: Pick<RooftopRow, 'id' | 'uid'>
  readonly stream: string
}

type Line = Pick<Context, 'pool' | 'db' | 'queue'>
type Next = readonly [WorkData, OfferOptions]

/** By lane, so that what is urgent is taken first everywhere; within it by stream, before what has had a slice already. */
export const lanePriority: Readonly<Record<Lane, number>> = {
  event: 200,
  foreground: 100,
  background: 0,
}
const placesAtOnce = 500

interface Waiting {
  readonly runId: number
  readonly lane: Lane
  readonly streams: readonly string[] | null
  readonly isFresh: boolean
  readonly delaySeconds: number
}

/**
 * Whose turn it is at a place: of the runs with open work there, the one of the highest lane that need not wait; else the one
 * that waits the least. Level-triggered: it reads the ledger, and nothing is remembered in a process.
 */
async function nextInLine(
  db: Db,
  { rooftop, stream }: WorkKey,
  exceptRun: number | null = null,
): Promise<Next | null> {
  const { rows } = await sql<Waiting>`
    select run.run_id as "runId", run.lane, run.arguments -> 'streams' as streams,
      line.status = 'waiting' and line.not_before is null as "isFresh", delay as "delaySeconds"
    from ops.run
    join ops.run_stream as line using (run_id)
    cross join lateral (
      select greatest(0, coalesce(extract(epoch from line.not_before - clock_timestamp()), 0))::float8 as delay) as waits
    where run.status = 'running' and line.status in ('waiting', 'running')
      and line.rooftop_id = ${rooftop.id} and line.stream = ${stream} and run_id is distinct from ${exceptRun}
    order by delay, case run.lane when 'event' then 1 when 'foreground' then 2 else 3 end, run_id
    limit 1`.execute(db)
  const next = rows[0]
  return next === undefined ? null : pieceOf(next, stream, rooftop.uid)
}

function pieceOf(next: Waiting, stream: string, rooftopUid: string): Next {
  const { runId, lane, streams, isFresh, delaySeconds } = next
  const rank = isFresh && streams !== null ? streams.length - streams.indexOf(stream) : 0
  const data = { runId, stream, rooftopUid }
  // What has passed between the statements of the transaction that postponed it does not count.
  const wait = Math.ceil(delaySeconds * 10) / 10
  return [data, { priority: lanePriority[lane] + rank, delaySeconds: wait }]
}

/** Queues whose turn it is, in the transaction that ends the work before. `exceptRun` gives its turns up. */
export async function enqueueNext(
  tx: Tx,
  { queue }: Pick<Context, 'queue'>,
  place: WorkKey,
  exceptRun: number | null = null,
): Promise<void> {
  const next = await nextInLine(tx.db, place, exceptRun)
  if (next !== null) await queue.offer(tx.client, ...next)
}

/** Lets a run's next slice at a place wait; other runs may have their turn meanwhile. */
export async function postpone(
  { client }: Pick<Tx, 'client'>,
  runId: number,
  { rooftop, stream }: WorkKey,
  seconds: number,
): Promise<void> {
  await client.query(
    `update ops.run_stream set not_before = clock_timestamp() + make_interval(secs => $4)
     where run_id = $1 and rooftop_id = $2 and stream = $3`,
    [runId, rooftop.id, stream, seconds],
  )
}

/**
 * Brings the queue to what the ledger says of these places: where nothing is queued somebody is, and what waits gives way to
 * whose turn it is. What is under way ends first, unless its run was taken over. The runs must be committed: a slice that ends
 * meanwhile then sees them by itself.
 */
export async function enqueue(context: Line, places: readonly WorkKey[]): Promise<void> {
  for (let from = 0; from < places.length; from += placesAtOnce) {
    const some = places.slice(from, from + placesAtOnce)
    const pieces = await nextOfAll(context.db, some)
    await context.queue.offerAll(context.pool, [...pieces.values()])
    const holders = await context.queue.holders(context.pool, [...pieces.keys()])
    const own = new Map([...pieces].map(([key, [{ runId }]]) => [key, runId]))
    for (const { data } of holders) {
      if (own.get(queueKey(data)) === data.runId) continue
      const { stream, rooftopUid: uid } = data
      await lineUpOne(
        context,
        some.find((place) => place.stream === stream && place.rooftop.uid === uid)!,
      )
    }
  }
}

async function nextOfAll(db: Db, places: readonly WorkKey[]): Promise<Map<string, Next>> {
  const { rows } = await sql<Waiting & { stream: string; uid: string }>`
    select distinct on (line.rooftop_id, line.stream) line.stream, place.uid,
      run.run_id as "runId", run.lane, run.arguments -> 'streams' as streams,
      line.status = 'waiting' and line.not_before is null as "isFresh", delay as "delaySeconds"
    from unnest(${places.map(({ rooftop }) => rooftop.id)}::int[], ${places.map(({ rooftop }) => rooftop.uid)}::text[],
      ${places.map(({ stream }) => stream)}::text[]) as place (rooftop_id, uid, stream)
    join ops.run_stream as line using (rooftop_id, stream)
    join ops.run using (run_id)
    cross join lateral (
      select greatest(0, coalesce(extract(epoch from line.not_before - clock_timestamp()), 0))::float8 as delay) as waits
    where run.status = 'running' and line.status in ('waiting', 'running')
    order by line.rooftop_id, line.stream, delay,
      case run.lane when 'event' then 1 when 'foreground' then 2 else 3 end, run_id`.execute(db)
  const pieces = rows.map((row) => pieceOf(row, row.stream, row.uid))
  return new Map(pieces.map((piece) => [queueKey(piece[0]), piece]))
}

async function lineUpOne({ pool, db, queue }: Line, place: WorkKey): Promise<void> {
  // More than once: what is queued may be claimed, and what is claimed may end, between two statements.
  for (;;) {
    const next = await nextInLine(db, place)
    if (next === null) return
    const held = await queue.offer(pool, ...next)
    if (held === null || held.data.runId === next[0].runId) return
    if (!held.isActive) {
      if (await queue.replace(pool, ...next)) return
      continue
    }
    const { rows } = await pool.query('select status from ops.run where run_id = $1', [
      held.data.runId,
    ])
    // The slice under way passes the turn on when it ends; of a run that was taken over it will never commit.
    if (['running', 'paused'].includes(rows[0]?.status)) return
    await queue.drop(pool, held.id)
  }
}

/**
 * Open work that nothing in the queue stands for, of one run or (null) of all: a message was lost, and is sent again. How many
 * places it was. Of those that look through all work one at a time does; to the others there is nothing lost.
 */
export async function requeueLost(context: Line, runId: number | null): Promise<number> {
  const isOurs =
    runId === null
      ? sql`(select pg_try_advisory_xact_lock(${lockClass.repair}::int, 0))`
      : sql`run_id = ${runId}::bigint`
  const isHeld = sql.raw(context.queue.isHeld("line.stream || '/' || rooftop_uid"))
  const { rows } = await sql<{ id: number; uid: string; stream: string }>`
    select distinct line.rooftop_id as id, rooftop_uid as uid, line.stream
    from ops.run join ops.run_stream as line using (run_id) join core.rooftop using (rooftop_id)
    where run.status = 'running' and line.status in ('waiting', 'running') and ${isOurs} and not ${isHeld}`.execute(
    context.db,
  )
  const places = rows.map(({ id, uid, stream }) => ({ rooftop: { id, uid }, stream }))
  await enqueue(context, places)
  return places.length
}

import { sql } from 'kysely'
import type { Context } from '../context.ts'
import type { Db, Tx } from '../db/transaction.ts'
import { type OfferOptions, type WorkData, queueKey } from '../queue/queue.ts'
import { lockSql } from '../db/locks.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Lane } from './run-ledger.ts'

/** A stream of a rooftop. At most one slice at a time works on it, whichever run it belongs to. */
export interface WorkKey {
  readonly rooftop: Pick<RooftopRow, 'id' | 'uid'>
  readonly stream: string
}

type Queueing = Pick<Context, 'pool' | 'db' | 'queue'>
type Next = readonly [WorkData, OfferOptions]

/** Priority by lane: urgent work is taken first everywhere. Within a lane the stream order decides until a key has had a slice. */
export const lanePriority: Readonly<Record<Lane, number>> = {
  event: 200,
  foreground: 100,
  background: 0,
}
const keysAtOnce = 500

interface Waiting {
  readonly runId: number
  readonly lane: Lane
  readonly streams: readonly string[] | null
  readonly isFresh: boolean
  readonly delaySeconds: number
}

/**
 * The next work for a key, of the runs that have open work there: of those that need not wait, the one with the highest lane;
 * otherwise the one with the shortest wait. Level-triggered: it reads the ledger, and no process holds state.
 */
async function nextWork(
  db: Db,
  { rooftop, stream }: WorkKey,
  exceptRun: number | null = null,
): Promise<Next | null> {
  const { rows } = await sql<Waiting>`
    select run.run_id as "runId", run.lane, run.arguments -> 'streams' as streams,
      run_stream.status = 'waiting' and run_stream.not_before is null as "isFresh", delay as "delaySeconds"
    from ops.run
    join ops.run_stream using (run_id)
    cross join lateral (
      select greatest(0, coalesce(extract(epoch from run_stream.not_before - clock_timestamp()), 0))::float8 as delay) as waits
    where run.status = 'running' and run_stream.status in ('waiting', 'running')
      and run_stream.rooftop_id = ${rooftop.id} and run_stream.stream = ${stream} and run_id is distinct from ${exceptRun}
    order by delay, case run.lane when 'event' then 1 when 'foreground' then 2 else 3 end, run_id
    limit 1`.execute(db)
  const next = rows[0]
  return next === undefined ? null : queueEntry(next, stream, rooftop.uid)
}

function queueEntry(next: Waiting, stream: string, rooftopUid: string): Next {
  const { runId, lane, streams, isFresh, delaySeconds } = next
  const rank = isFresh && streams !== null ? streams.length - streams.indexOf(stream) : 0
  const data = { runId, stream, rooftopUid }
  // Round up: time that passed between the statements of the postponing transaction must not shorten the wait.
  const wait = Math.ceil(delaySeconds * 10) / 10
  return [data, { priority: lanePriority[lane] + rank, delaySeconds: wait }]
}

/** Enqueues the next work for a key, in the transaction that ends its last work. `exceptRun` is passed over. */
export async function enqueueNext(
  tx: Tx,
  { queue }: Pick<Context, 'queue'>,
  key: WorkKey,
  exceptRun: number | null = null,
): Promise<void> {
  const next = await nextWork(tx.db, key, exceptRun)
  if (next !== null) await queue.offer(tx.client, ...next)
}

/** Delays a run's next slice for a key; other runs may work on it meanwhile. */
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
 * Makes the queue match the ledger for these keys: it enqueues the next work of each, and replaces waiting work of a run that is
 * not next. Active work ends first, unless its run was taken over. The rows of the runs must be committed, so that a slice that
 * ends meanwhile sees them too.
 */
export async function enqueue(context: Queueing, keys: readonly WorkKey[]): Promise<void> {
  for (let from = 0; from < keys.length; from += keysAtOnce) {
    const batch = keys.slice(from, from + keysAtOnce)
    const entries = await nextOfAll(context.db, batch)
    await context.queue.offerAll(context.pool, [...entries.values()])
    const holders = await context.queue.holders(context.pool, [...entries.keys()])
    const nextRuns = new Map([...entries].map(([key, [{ runId }]]) => [key, runId]))
    for (const { data } of holders) {
      if (nextRuns.get(queueKey(data)) === data.runId) continue
      const { stream, rooftopUid: uid } = data
      await enqueueOne(
        context,
        batch.find((key) => key.stream === stream && key.rooftop.uid === uid)!,
      )
    }
  }
}

async function nextOfAll(db: Db, keys: readonly WorkKey[]): Promise<Map<string, Next>> {
  const { rows } = await sql<Waiting & { stream: string; uid: string }>`
    select distinct on (run_stream.rooftop_id, run_stream.stream) run_stream.stream, key.uid,
      run.run_id as "runId", run.lane, run.arguments -> 'streams' as streams,
      run_stream.status = 'waiting' and run_stream.not_before is null as "isFresh", delay as "delaySeconds"
    from unnest(${keys.map(({ rooftop }) => rooftop.id)}::int[], ${keys.map(({ rooftop }) => rooftop.uid)}::text[],
      ${keys.map(({ stream }) => stream)}::text[]) as key (rooftop_id, uid, stream)
    join ops.run_stream using (rooftop_id, stream)
    join ops.run using (run_id)
    cross join lateral (
      select greatest(0, coalesce(extract(epoch from run_stream.not_before - clock_timestamp()), 0))::float8 as delay) as waits
    where run.status = 'running' and run_stream.status in ('waiting', 'running')
    order by run_stream.rooftop_id, run_stream.stream, delay,
      case run.lane when 'event' then 1 when 'foreground' then 2 else 3 end, run_id`.execute(db)
  const entries = rows.map((row) => queueEntry(row, row.stream, row.uid))
  return new Map(entries.map((entry) => [queueKey(entry[0]), entry]))
}

/** Enqueues the next work of one key, also where other work holds it. */
async function enqueueOne({ pool, db, queue }: Queueing, key: WorkKey): Promise<void> {
  // Retried: between two statements, queued work may be claimed and claimed work may end.
  for (;;) {
    const next = await nextWork(db, key)
    if (next === null) return
    const holder = await queue.offer(pool, ...next)
    if (holder === null || holder.data.runId === next[0].runId) return
    if (!holder.isActive) {
      if (await queue.replace(pool, ...next)) return
      continue
    }
    const { rows } = await pool.query('select status from ops.run where run_id = $1', [
      holder.data.runId,
    ])
    // An active slice enqueues the next work when it ends. If its run was taken over it will never commit, so its work is removed.
    if (['running', 'paused'].includes(rows[0]?.status)) return
    await queue.drop(pool, holder.id)
  }
}

/**
 * Enqueues open work that has no message in the queue because one was lost, of one run or of all (null). Returns the number of
 * keys. One process at a time checks all runs; for others that do, nothing counts as lost.
 */
export async function requeueLost(context: Queueing, runId: number | null): Promise<number> {
  const isOurs =
    runId === null
      ? sql`(select ${sql.raw(lockSql.try('repair'))})`
      : sql`run_id = ${runId}::bigint`
  const isHeld = sql.raw(context.queue.isHeld("run_stream.stream || '/' || rooftop_uid"))
  const { rows } = await sql<{ id: number; uid: string; stream: string }>`
    select distinct run_stream.rooftop_id as id, rooftop_uid as uid, run_stream.stream
    from ops.run join ops.run_stream using (run_id) join core.rooftop using (rooftop_id)
    where run.status = 'running' and run_stream.status in ('waiting', 'running') and ${isOurs} and not ${isHeld}`.execute(
    context.db,
  )
  const keys = rows.map(({ id, uid, stream }) => ({ rooftop: { id, uid }, stream }))
  await enqueue(context, keys)
  return keys.length
}

import { sql } from 'kysely'
import { copyTables } from '../db/copy.ts'
import { refreshSums } from '../db/sums.ts'
import type { Db, Tx } from '../db/transaction.ts'
import { holdErasureLock, erasedAt, suppressedAmong } from '../erasure/suppression.ts'
import type { RowSet } from '../values/record.ts'
import type { WindowedRecords } from './windowed-records.ts'
import { eventLoopYielder } from '../values/event-loop-yielder.ts'
import { readRecord } from './hydrate.ts'
import { deleteRows, storedRows } from './load-records.ts'
import { quarantineRecords } from './quarantine.ts'
import type { SliceJob } from './stream.ts'
import { commitSlice } from './commit-slice.ts'
import type { SliceResult } from './stream.ts'
import { markGone } from './stored-records.ts'

const recordsPerSlice = 500

interface StoredPayload {
  readonly natural_key: string
  readonly fetched_at: Date
  readonly run_id: number
  /** The source's clock when it was read. */
  readonly read_at: Date
  readonly text: string
}

/**
 * One slice of a replay: the next records by key, rebuilt from all their stored payloads without a call. Its position is in
 * ops.stream_state and is committed with the rows, so that a killed replay continues from there.
 */
export async function replayRecords(job: SliceJob<WindowedRecords>): Promise<SliceResult> {
  const { context, stream, rooftop, run } = job
  const after = await replayedUpTo(context.db, job)
  const write = async (tx: Tx) => {
    await holdErasureLock(tx)
    const payloads = await nextPayloads(tx.db, job, after)
    const ids = [...new Set(payloads.map((payload) => Number(payload.natural_key)))]
    const { sets, rejected } = await rebuild(tx, job, ids, payloads)
    for (const table of stream.tables)
      await deleteRows(tx, stream, rooftop, table, [...sets.keys()])
    await copyTables(
      tx.client,
      stream.tables.map((table) => [table, [...sets.values()].flatMap((set) => set[table] ?? [])]),
    )
    await restoreGone(tx, job, [...sets.keys()])
    if (stream.isSummed) await refreshSums(tx.db, [rooftop.groupId], [...sets.keys()])
    await quarantineRecords(
      tx,
      { stream: stream.name, rooftopId: rooftop.id, runId: run.runId },
      rejected,
    )
    await markReplayed(tx, job, ids.at(-1) ?? after)
    const counts = { listed: ids.length, updated: sets.size, quarantined: rejected.length }
    return { counts, more: ids.length >= recordsPerSlice }
  }
  return await commitSlice(job, { write })
}

/** Merges each record's payloads, oldest first, with the same function as a nightly load. */
async function rebuild(
  tx: Tx,
  job: SliceJob<WindowedRecords>,
  ids: readonly number[],
  payloads: readonly StoredPayload[],
) {
  const { context, stream, rooftop } = job
  const wire = context.config.wire.appraisal
  const giveWay = eventLoopYielder()
  const read: (ReturnType<typeof readRecord> & { readonly payload: StoredPayload })[] = []
  for (const payload of payloads) {
    await giveWay()
    const { natural_key, text, read_at: readAt } = payload
    read.push({
      payload,
      ...readRecord(stream, () => rooftop, wire, { id: Number(natural_key), text, readAt }),
    })
  }
  const records = read.filter((entry) => entry.kind === 'record')
  const links = await stream.resolve(
    tx.db,
    rooftop,
    records.map(({ record }) => record),
    wire,
  )
  const stored = await storedRows(tx, stream, rooftop, ids)
  const suppressed = await suppressedAmong(tx.db, rooftop.groupId, ids)
  const sets = new Map<number, RowSet>()
  for (const { id, record, payload } of records) {
    const origin = {
      fetchedAt: payload.fetched_at,
      readAt: payload.read_at,
      runId: payload.run_id,
      listedIn: null,
      erasedAt: erasedAt(suppressed, id),
    }
    const merged = stream.merge(sets.get(id) ?? null, record, links(record), rooftop, origin)
    if (merged.rows) sets.set(id, { ...sets.get(id), ...merged.rows })
  }
  for (const [id, folded] of sets) sets.set(id, stream.rebase(stored.get(id) ?? null, folded))
  const rejected = read
    .filter((entry) => entry.kind === 'rejected')
    .map((entry) => ({
      naturalKey: String(entry.id),
      issues: entry.issues,
      payload: entry.payload.text,
      window: null,
    }))
  return { sets, rejected }
}

/** All stored payloads of the next records, with the source's time of each. */
async function nextPayloads(
  db: Db,
  { stream, rooftop }: SliceJob<WindowedRecords>,
  after: number,
): Promise<StoredPayload[]> {
  const { rows } = await sql<StoredPayload>`
    select natural_key, fetched_at, run_id, body::text as text,
      fetched_at + coalesce(source_started_at - date_trunc('milliseconds', started_at), '0') as read_at
    from raw.payload left join ops.run using (run_id)
    where rooftop_id = ${rooftop.id} and endpoint = ${stream.endpoint} and natural_key in (
      select natural_key from raw.payload
      where rooftop_id = ${rooftop.id} and endpoint = ${stream.endpoint} and natural_key::bigint > ${after}
      group by natural_key order by natural_key::bigint limit ${recordsPerSlice}
    )
    order by natural_key::bigint, fetched_at`.execute(db)
  return rows
}

/** Marks records as gone again; the payloads do not say which records the source no longer shows. */
async function restoreGone(
  tx: Tx,
  { stream, rooftop }: SliceJob<WindowedRecords>,
  ids: readonly number[],
): Promise<void> {
  const { rows } = await tx.client.query(
    `select natural_key::bigint as id, vanished_at as at from ops.vanished
     where rooftop_id = $1 and stream = $2 and natural_key = any($3)`,
    [rooftop.id, stream.name, ids.map(String)],
  )
  for (const { id, at } of rows as { id: number; at: Date }[])
    await markGone(tx.db, stream, rooftop, [Number(id)], at)
}

/** The last record that this run has replayed; 0 at its start. */
async function replayedUpTo(db: Db, { run, stream, rooftop }: SliceJob): Promise<number> {
  const row = await db
    .selectFrom('ops.stream_state')
    .select('state')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .executeTakeFirst()
  const position = (row?.state as { replay?: { runId: number; after: number } } | undefined)?.replay
  return position?.runId === run.runId ? position.after : 0
}

async function markReplayed(
  tx: Tx,
  { run, stream, rooftop }: SliceJob,
  after: number,
): Promise<void> {
  await tx.client.query(
    `insert into ops.stream_state as old (rooftop_id, stream, state)
     values ($1, $2, jsonb_build_object('replay', $3::jsonb))
     on conflict (rooftop_id, stream) do update set state = old.state || excluded.state`,
    [rooftop.id, stream.name, JSON.stringify({ runId: run.runId, after })],
  )
}

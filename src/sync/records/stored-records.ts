import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Span } from '../../values/window.ts'
import { type Db, prepared, type Tx } from '../../warehouse/db/transaction.ts'
import type { StoredRecord, WindowedRecords } from '../windows/windowed-records.ts'

// What the own table of windowed records says about them, whatever the stream.

type OwnTable = Pick<WindowedRecords, 'tables' | 'idColumn' | 'ageingColumn'>

function mainTable({ tables, idColumn }: OwnTable) {
  return { table: sql.table(tables[0]!), id: sql.ref(idColumn) }
}

/** Those of the ids that are stored. By dealer group: a record belongs to one rooftop, however many of the group are listed. */
export async function storedRecords(
  db: Db,
  records: OwnTable,
  rooftop: Pick<RooftopRow, 'groupId'>,
  ids: readonly number[],
): Promise<StoredRecord[]> {
  if (ids.length === 0) return []
  const { table, id } = mainTable(records)
  const { rows } = await prepared(sql<StoredRecord>`
    select ${id} as id, rooftop_id as "rooftopId", source_updated_at as "updatedAt", entry_at as "entryAt",
      created_at as "createdAt", coalesce(${sql.ref(records.ageingColumn)}, created_at) as "ageingSince",
      gone_at is not null as gone, run_id as "runId"
    from ${table} where group_id = ${rooftop.groupId} and ${id} = any(${[...ids]}::bigint[])`).execute(
    db,
  )
  return rows
}

/** Those that are not gone and belong to any of the half-open spans, which do not overlap. */
export async function storedWithin(
  db: Db,
  records: OwnTable,
  rooftop: RooftopRow,
  spans: readonly Span[],
): Promise<{ readonly id: number; readonly entryAt: Date }[]> {
  const { table, id } = mainTable(records)
  const starts = spans.map(({ from }) => fromUnixSeconds(from))
  const stops = spans.map(({ until }) => fromUnixSeconds(until))
  const { rows } = await prepared(sql<{ id: number; entryAt: Date }>`
    select found.*
    from unnest(${starts}::timestamptz[], ${stops}::timestamptz[]) as span (start, stop)
    -- "offset 0": else the planner compares every span with every record of the rooftop.
    cross join lateral (
      select ${id} as id, entry_at as "entryAt" from ${table}
      where rooftop_id = ${rooftop.id} and entry_at >= start and entry_at < stop and gone_at is null offset 0
    ) as found`).execute(db)
  return rows
}

/** Moves records to the time at which the list shows them. */
export async function setEntryTimes(
  db: Db,
  records: OwnTable,
  rooftop: RooftopRow,
  times: ReadonlyMap<number, Date>,
): Promise<void> {
  if (times.size === 0) return
  const { table, id } = mainTable(records)
  await sql`
    update ${table} set entry_at = shown.at
    from unnest(${[...times.keys()]}::bigint[], ${[...times.values()]}::timestamptz[]) as shown (id, at)
    where rooftop_id = ${rooftop.id} and ${id} = shown.id`.execute(db)
}

/** Marks records as gone since then; one that is gone already keeps its time. */
export async function markGone(
  db: Db,
  records: OwnTable,
  rooftop: RooftopRow,
  ids: readonly number[],
  at: Date,
): Promise<void> {
  const { table, id } = mainTable(records)
  await sql`
    update ${table} set gone_at = ${at}
    where rooftop_id = ${rooftop.id} and ${id} = any(${[...ids]}::bigint[]) and gone_at is null`.execute(
    db,
  )
}

/** Records that vanished for the same reason. */
interface VanishedGroup {
  readonly reason: 'not found' | 'not listed'
  readonly ids: readonly number[]
  /** Source time. */
  readonly at: Date
}

/** Marks records that the source no longer answers for or lists: a mark, never a delete. */
export async function markVanished(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  runId: number,
  groups: readonly VanishedGroup[],
): Promise<void> {
  for (const { reason, ids, at } of groups) {
    if (ids.length === 0) continue
    await markGone(tx.db, stream, rooftop, ids, at)
    await sql`
      insert into ops.vanished (rooftop_id, stream, natural_key, reason, vanished_at, run_id)
      select ${rooftop.id}, ${stream.name}, id, ${reason}, ${at}, ${runId} from unnest(${ids.map(String)}::text[]) as id
      on conflict do nothing`.execute(tx.db)
  }
}

/** Those of the keys that the source no longer answers for. */
export async function vanishedKeys(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  naturalKeys: readonly string[],
): Promise<Set<string>> {
  if (naturalKeys.length === 0) return new Set()
  const rows = await db
    .selectFrom('ops.vanished')
    .select('natural_key')
    .where('rooftop_id', '=', rooftop.id)
    .where('stream', '=', stream.name)
    .where('natural_key', '=', sql<string>`any(${[...naturalKeys]}::text[])`)
    .execute()
  return new Set(rows.map((row) => row.natural_key))
}

/** Removes the mark from records that are back. */
export async function clearVanished(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from ops.vanished
    where rooftop_id = ${rooftop.id} and stream = ${stream.name}
      and natural_key = any(${ids.map(String)})`.execute(tx.db)
}

/** Whether another rooftop of the group owns the record and its list still shows it. Such a record is not read here. */
export function isOwnedByOther(entry: StoredRecord | undefined, rooftop: RooftopRow): boolean {
  return entry !== undefined && !entry.gone && entry.rooftopId !== rooftop.id
}

/**
 * Moves records to the rooftop whose list shows them now. Another rooftop of the group owned them before. A record belongs to
 * one rooftop, and keeps its versions and payloads, and what other streams know about it, when the source moves it to another.
 */
export async function reassignRooftop(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  records: readonly (StoredRecord | undefined)[],
): Promise<void> {
  const ownedByOther = records.filter(
    (entry) => entry !== undefined && entry.rooftopId !== rooftop.id,
  )
  const byOwner = Map.groupBy(ownedByOther, (entry) => entry!.rooftopId)
  for (const [ownerId, entries] of byOwner) {
    const ids = entries.map((entry) => entry!.id)
    for (const table of [...stream.tables, ...stream.dependentTables]) {
      await sql`
        update ${sql.table(table)} set rooftop_id = ${rooftop.id}
        where rooftop_id = ${ownerId} and ${sql.ref(stream.idColumn)} = any(${ids})`.execute(tx.db)
    }
    const keys = ids.map(String)
    await sql`
      update raw.payload set rooftop_id = ${rooftop.id}
      where rooftop_id = ${ownerId} and endpoint = any(${[stream.endpoint, ...stream.dependentEndpoints]})
        and natural_key = any(${keys})`.execute(tx.db)
    await sql`
      delete from ops.vanished
      where rooftop_id = ${ownerId} and stream = ${stream.name}
        and natural_key = any(${keys})`.execute(tx.db)
    await sql`
      delete from ops.unlisted_record
      where rooftop_id = ${ownerId} and stream = ${stream.name}
        and record_id = any(${ids})`.execute(tx.db)
  }
}

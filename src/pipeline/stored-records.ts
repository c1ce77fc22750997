import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import { fromUnixSeconds } from '../values/unix-seconds.ts'
import type { Span } from '../values/window.ts'
import type { StoredRecord, WindowedRecords } from './windowed-records.ts'

// What the own table of windowed records says about them, whatever the stream.

type OwnTable = Pick<WindowedRecords, 'tables' | 'idColumn' | 'ageingColumn'>

function ownTable({ tables, idColumn }: OwnTable) {
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
  const { table, id } = ownTable(records)
  const { rows } = await sql<StoredRecord>`
    select ${id} as id, rooftop_id as "rooftopId", source_updated_at as "updatedAt", entry_at as "entryAt",
      created_at as "createdAt", coalesce(${sql.ref(records.ageingColumn)}, created_at) as "ageingSince",
      gone_at is not null as gone, run_id as "runId"
    from ${table} where group_id = ${rooftop.groupId} and ${id} = any(${[...ids]}::bigint[])`.execute(
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
  const { table, id } = ownTable(records)
  const starts = spans.map(({ from }) => fromUnixSeconds(from))
  const stops = spans.map(({ until }) => fromUnixSeconds(until))
  const { rows } = await sql<{ id: number; entryAt: Date }>`
    select ${id} as id, entry_at as "entryAt"
    from unnest(${starts}::timestamptz[], ${stops}::timestamptz[]) as span (start, stop)
    join ${table} on rooftop_id = ${rooftop.id} and entry_at >= start and entry_at < stop
    where gone_at is null`.execute(db)
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
  const { table, id } = ownTable(records)
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
  const { table, id } = ownTable(records)
  await sql`
    update ${table} set gone_at = ${at}
    where rooftop_id = ${rooftop.id} and ${id} = any(${[...ids]}::bigint[]) and gone_at is null`.execute(
    db,
  )
}

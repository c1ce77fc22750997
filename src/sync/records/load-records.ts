import { sql } from 'kysely'
import { prunedJson } from '../../values/json-depth.ts'
import type { Row, RowSet } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { copyInto, copyTables } from '../../warehouse/db/copy.ts'
import { type Db, prepared, type Tx } from '../../warehouse/db/transaction.ts'
import type { MergeResult, Origin, WindowedRecords } from '../windows/windowed-records.ts'

/** A normalised record and where it comes from. */
export interface Incoming {
  readonly id: number
  readonly record: unknown
  readonly origin: Origin
}

/** What loading a record changed. */
export interface LoadResult {
  readonly id: number
  readonly outcome: MergeResult['outcome']
}

/**
 * Loads records: reads first, writes second. Their stored rows are read and merged in memory. Only new or changed rows are
 * written: new records by COPY, changed records replaced by key. An unchanged record writes nothing.
 */
export async function loadRecords(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  incoming: readonly Incoming[],
  wire: AppraisalWire,
): Promise<LoadResult[]> {
  if (incoming.length === 0) return []
  const links = await stream.resolve(
    tx.db,
    rooftop,
    incoming.map(({ record }) => record),
    wire,
  )
  const stored = await storedRows(
    tx,
    stream,
    rooftop,
    incoming.map(({ id }) => id),
  )
  const merged = incoming.map(({ id, record, origin }) => ({
    id,
    ...stream.merge(stored.get(id) ?? null, record, links(record), rooftop, origin),
  }))
  const orphaned = await orphanedIds(
    tx,
    stream,
    rooftop,
    incoming.map(({ id }) => id).filter((id) => !stored.has(id)),
  )
  const written = merged.flatMap(({ id, outcome, rows }) =>
    rows ? [{ id, rows, replaces: outcome === 'updated' || orphaned.has(id) }] : [],
  )
  const touched = stream.tables.map(
    (table) => [table, written.filter(({ rows }) => rows[table] !== undefined)] as const,
  )
  for (const [table, records] of touched) {
    const replaced = records.filter(({ replaces }) => replaces).map(({ id }) => id)
    await deleteRows(tx, stream, rooftop, table, replaced)
  }
  await copyTables(
    tx.client,
    touched.map(([table, records]) => [table, records.flatMap(({ rows }) => rows[table]!)]),
  )
  return merged.map(({ id, outcome }) => ({ id, outcome }))
}

/** All stored rows of the records, by id; without records that are not stored. */
async function storedRows(
  { db }: Pick<Tx, 'db'>,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  ids: readonly number[],
): Promise<Map<number, RowSet>> {
  const [entity, ...children] = stream.tables
  const found = new Map<number, Record<string, Row[]>>()
  const read = async (table: string, keys: readonly number[]) => {
    const { rows } = await sql<Row>`
      select * from ${sql.table(table)}
      where rooftop_id = ${rooftop.id} and ${sql.ref(stream.idColumn)} = any(${keys})`.execute(db)
    for (const row of rows) {
      const id = row[stream.idColumn] as number
      if (table === entity)
        found.set(id, Object.fromEntries(stream.tables.map((name) => [name, []])))
      found.get(id)?.[table]?.push(row)
    }
  }
  await read(entity!, ids)
  if (found.size > 0) for (const table of children) await read(table, [...found.keys()])
  return found
}

/** Records without their own row, but with old child rows. These would collide with new ones, so they must be deleted. */
async function orphanedIds(
  { db }: Tx,
  { tables, idColumn }: WindowedRecords,
  rooftop: RooftopRow,
  ids: readonly number[],
): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const id = sql.ref(idColumn)
  const children = tables.slice(1).map(
    (table) => sql`
      select ${id} as id from ${sql.table(table)} where rooftop_id = ${rooftop.id} and ${id} = any(${ids})`,
  )
  const { rows } = await prepared(sql<{ id: number }>`${sql.join(children, sql` union `)}`).execute(
    db,
  )
  return new Set(rows.map(({ id }) => Number(id)))
}

/** Deletes the records' rows of one table. */
async function deleteRows(
  tx: Tx,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  table: string,
  ids: readonly number[],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from ${sql.table(table)}
    where rooftop_id = ${rooftop.id} and ${sql.ref(stream.idColumn)} = any(${ids})`.execute(tx.db)
}

/** Stores payloads as received, with the run that read them. */
export async function savePayloads(
  tx: Tx,
  endpoint: string,
  rooftop: RooftopRow,
  runId: number,
  payloads: readonly { naturalKey: string; text: string; hash: Buffer; fetchedAt: Date }[],
): Promise<void> {
  const rows = payloads.map((payload) => ({
    rooftop_id: rooftop.id,
    endpoint,
    natural_key: payload.naturalKey,
    fetched_at: payload.fetchedAt,
    content_hash: payload.hash,
    body: payload.text,
    run_id: runId,
  }))
  await copyInto(tx.client, 'raw.payload', rows)
}

/** The text of a list as it is stored: as received, without what is nested too deeply for Postgres. */
export function storableList(text: string): string {
  const body: unknown = JSON.parse(text)
  const pruned = prunedJson(body)
  return pruned === body ? text : JSON.stringify(pruned)
}

/** Hashes of the newest stored payload of each key. */
export async function newestHashes(
  db: Db,
  endpoint: string,
  rooftop: RooftopRow,
  naturalKeys: readonly string[],
): Promise<Map<string, Buffer>> {
  if (naturalKeys.length === 0) return new Map()
  const { rows } = await prepared(sql<{ natural_key: string; content_hash: Buffer }>`
    select distinct on (natural_key) natural_key, content_hash
    from raw.payload
    where rooftop_id = ${rooftop.id} and endpoint = ${endpoint} and natural_key = any(${naturalKeys as string[]})
    order by natural_key, fetched_at desc`).execute(db)
  return new Map(rows.map((row) => [row.natural_key, row.content_hash]))
}

import { sql } from 'kysely'
import { erasedAt, suppressedAmong } from '../../privacy/screen/suppression.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { Row, RowSet } from '../../values/record.ts'
import { isSameValue } from '../../values/same-value.ts'
import { copyTables } from '../../warehouse/db/copy.ts'
import type { Db, Tx } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { readRecord } from './hydrate.ts'
import {
  type DerivedTable,
  type PayloadRows,
  payloadKeys,
  readPayloads,
  rowsByColumn,
} from './payload-rows.ts'

// The rows that stored payloads make: `replay` writes them, `verify --rows` compares them with the tables.

/** Records that a slice of a replay or a verification reads the payloads of. */
export const recordsAtOnce = 500

/** How the rows of a stream follow from its payloads; null: they do not. */
export function findPayloadRows({ payloadRows, records }: Stream): PayloadRows | null {
  return payloadRows ?? (records === undefined ? null : recordRows(records))
}

/** Merges each record's payloads, oldest first, with the same function as a nightly load. */
function recordRows(stream: WindowedRecords): PayloadRows {
  return {
    ...(stream.isSummed ? { isSummed: true } : {}),
    keysOf: (rooftopIds) => payloadKeys(rooftopIds, [stream.endpoint]),
    async derive(db, rooftop, keys, { wire: { appraisal: wire }, mode }) {
      const ids = keys.map(Number)
      const mainTable = stream.tables[0]!
      const giveWay = eventLoopYielder()
      const payloads = await readPayloads(db, rooftop, [stream.endpoint], keys)
      const read = []
      for (const payload of payloads) {
        await giveWay()
        const { naturalKey, text, readAt } = payload
        const source = { id: Number(naturalKey), text, readAt }
        read.push({ payload, ...readRecord(stream, () => rooftop, wire, source) })
      }
      const records = read.filter((entry) => entry.kind === 'record')
      const links = await stream.resolve(
        db,
        rooftop,
        records.map(({ record }) => record),
        wire,
        mode,
      )
      const suppressed = await suppressedAmong(db, rooftop.groupId, ids)
      const stored = await storedSets(db, stream, rooftop.id, [
        ...new Set(records.map(({ id }) => id)),
      ])
      const goneAt = await goneTimes(db, stream, rooftop.id, ids)
      const sets = [...Map.groupBy(records, ({ id }) => id)].map(([id, forms]) => {
        const [first] = forms
        const resumed = stream.resume(stored.get(id)!, first!.payload.fetchedAt)
        let made = resumed?.before ?? null
        for (const { record, payload } of forms) {
          const { fetchedAt, readAt, runId } = payload
          const origin = {
            ...{ fetchedAt, readAt, runId, listedIn: null },
            erasedAt: erasedAt(suppressed, id),
          }
          const { rows } = stream.merge(made, record, links(record), rooftop, origin)
          if (rows) made = { ...made, ...rows }
        }
        const set = resumed?.complete(made!) ?? made!
        const [storedRow] = stored.get(id)![mainTable]!
        const entity = set[mainTable]!.map((row) => ({
          ...row,
          // Only the stored row knows the window that listed the record.
          entry_at: storedRow?.['entry_at'] ?? row['entry_at'] ?? stream.entryAt(first!.record),
          gone_at: goneAt.get(id) ?? null,
        }))
        return { ...set, [mainTable]: entity }
      })
      return {
        tables: stream.tables.map((table) => ({
          table,
          stored: [...stored.values()].flatMap((set) => set[table] ?? []),
          derived: sets.flatMap((set) => set[table] ?? []),
          recordOf: (row) => String(row[stream.idColumn]),
        })),
        unfit: read
          .filter((entry) => entry.kind === 'rejected')
          .map(({ id, issues, payload }) => ({
            ...{ naturalKey: String(id), issues, payload: payload.text },
          })),
      }
    },
  }
}

/** The stored rows of each record, also those whose own row is missing. */
async function storedSets(
  db: Db,
  { tables, idColumn }: WindowedRecords,
  rooftopId: number,
  ids: readonly number[],
): Promise<Map<number, RowSet>> {
  const none = () => Object.fromEntries(tables.map((table) => [table, [] as Row[]]))
  const sets = new Map(ids.map((id) => [id, none()]))
  for (const table of tables)
    for (const row of await rowsByColumn(db, table, rooftopId, idColumn, ids)) {
      const set = sets.get(row[idColumn] as number)!
      set[table] = [...(set[table] ?? []), row]
    }
  return sets
}

/** The payloads do not say which records the source no longer shows. */
async function goneTimes(
  db: Db,
  { name }: WindowedRecords,
  rooftopId: number,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Date>> {
  const { rows } = await sql<{ id: string; at: Date }>`
    select natural_key as id, vanished_at as at from ops.vanished
    where rooftop_id = ${rooftopId} and stream = ${name} and natural_key = any(${ids.map(String)}::text[])`.execute(
    db,
  )
  return new Map(rows.map(({ id, at }) => [Number(id), at]))
}

/** The next keys in order. */
export async function nextKeys(
  db: Db,
  keys: ReturnType<PayloadRows['keysOf']>,
  after: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key from (${keys}) as record where key > ${after} order by key limit ${limit}`.execute(
    db,
  )
  return rows.map(({ key }) => key)
}

/** A row that is stored otherwise than its payloads make it. */
export interface RowDifference {
  readonly table: string
  /** The key of its record among those of the stream. */
  readonly record: string
  /** The primary key. */
  readonly key: Row
  readonly kind: 'missing' | 'extra' | 'changed'
  /** Of a changed row: the columns that differ. */
  readonly columns: readonly string[]
  readonly stored: Row | null
  readonly derived: Row | null
}

/** Compares stored and derived rows by primary key, in the columns that the derived rows have. */
export async function compareRows(
  db: Db,
  tables: readonly DerivedTable[],
): Promise<RowDifference[]> {
  const shapes = await readShapes(
    db,
    tables.map(({ table }) => table),
  )
  return tables.flatMap(({ table, stored, derived, recordOf }) => {
    const { keys: names, json } = shapes.get(table)!
    const isSame = (name: string, old: Row, row: Row) =>
      json.includes(name)
        ? isSameValue([old[name]], [parsedJson(row[name])])
        : isSameValue(old[name], row[name])
    const keyOf = (row: Row) => Object.fromEntries(names.map((name) => [name, row[name]]))
    const textOf = (row: Row) => JSON.stringify(keyOf(row))
    const before = new Map(stored.map((row) => [textOf(row), row]))
    const after = new Map(derived.map((row) => [textOf(row), row]))
    const differences: RowDifference[] = []
    for (const [key, row] of after) {
      const old = before.get(key)
      const columns = Object.keys(row).filter((name) => old && !isSame(name, old, row))
      if (old === undefined || columns.length > 0)
        differences.push({
          ...{ table, record: recordOf(row), key: keyOf(row) },
          ...{ kind: old ? ('changed' as const) : ('missing' as const), columns },
          ...{ stored: old ?? null, derived: row },
        })
    }
    for (const [key, row] of before)
      if (!after.has(key))
        differences.push({
          ...{ table, record: recordOf(row), key: keyOf(row), kind: 'extra', columns: [] },
          ...{ stored: row, derived: null },
        })
    return differences
  })
}

/** The names of a table's columns of its primary key, and of those of type json. */
interface TableShape {
  readonly keys: readonly string[]
  readonly json: readonly string[]
}

async function readShapes(
  db: Db,
  tables: readonly string[],
): Promise<ReadonlyMap<string, TableShape>> {
  const { rows } = await sql<TableShape & { table: string }>`
    select name as table, array_agg(attname::text order by attnum) filter (where attnum = any(indkey)) as keys,
      coalesce(array_agg(attname::text) filter (where atttypid in ('json'::regtype, 'jsonb'::regtype)), '{}') as json
    from unnest(${[...tables]}::text[]) as name
    join pg_index on indrelid = name::regclass and indisprimary
    join pg_attribute on attrelid = indrelid and attnum > 0 and not attisdropped
    group by name`.execute(db)
  return new Map(rows.map(({ table, ...shape }) => [table, shape]))
}

/** The value of a JSON column, which a derived row has as text for COPY. */
function parsedJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}

/** Makes the stored rows those that were derived. Rows that are equal are not written. */
export async function writeDifferences(
  { client, db }: Tx,
  differences: readonly RowDifference[],
): Promise<void> {
  const shapes = await readShapes(db, [...new Set(differences.map(({ table }) => table))])
  for (const [table, ofTable] of Map.groupBy(differences, (difference) => difference.table)) {
    const of = (kind: RowDifference['kind']) => ofTable.filter((one) => one.kind === kind)
    const { keys, json } = shapes.get(table)!
    const stored = sql.table(table)
    const isSameKey = sql.raw(keys.map((name) => `old.${name} = fresh.${name}`).join(' and '))
    const fresh = (rows: readonly unknown[]) =>
      sql`jsonb_populate_recordset(null::${stored}, ${JSON.stringify(rows)}::jsonb) as fresh`
    const gone = of('extra').map(({ key }) => key)
    if (gone.length > 0)
      await sql`delete from ${stored} as old using ${fresh(gone)} where ${isSameKey}`.execute(db)
    // A row that is no longer current first: only one of a key can be.
    const byCurrent = Map.groupBy(of('changed'), ({ derived }) => derived!['is_current'] === true)
    for (const changed of [byCurrent.get(false) ?? [], byCurrent.get(true) ?? []]) {
      if (changed.length === 0) continue
      const names = [...new Set(changed.flatMap(({ columns }) => columns))]
      const sets = sql.raw(names.map((name) => `${name} = fresh.${name}`).join(', '))
      const rows = changed.map(({ derived }) => jsonRow(derived!, json))
      await sql`
        update ${stored} as old set ${sets} from ${fresh(rows)} where ${isSameKey}`.execute(db)
    }
    await copyTables(client, [[table, of('missing').map(({ derived }) => derived!)]])
  }
}

/** A row as jsonb_populate_recordset reads it: bytes in hex, and JSON as the value that it is. */
function jsonRow(row: Row, json: readonly string[]): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (Buffer.isBuffer(value)) return [name, `\\x${value.toString('hex')}`]
      return [name, json.includes(name) ? parsedJson(value) : value]
    }),
  )
}

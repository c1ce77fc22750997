import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import {
  compareRows,
  findPayloadRows,
  nextKeys,
  type RowDifference,
  recordsAtOnce,
} from '../records/derive-rows.ts'
import type { DeriveOptions, PayloadRows } from '../records/payload-rows.ts'
import { readQuarantinedKeys } from '../records/quarantine.ts'
import type { Stream } from '../run/stream.ts'

/** A row that differs from what its payloads make. Personal data and links are hidden. */
export interface DifferingRow {
  readonly rooftop: string
  readonly stream: string
  readonly table: string
  readonly key: Readonly<Record<string, unknown>>
  /** unfit: a payload that makes no rows any more; its columns are the paths and issues. */
  readonly kind: RowDifference['kind'] | 'unfit'
  /** What differs: both values of a changed row. */
  readonly columns: readonly {
    readonly column: string
    readonly stored: string | null
    readonly derived: string | null
  }[]
}

/** Which records to take at random; the same seed takes the same ones. */
export interface RowSample {
  readonly size: number
  readonly seed: string
}

/** The result of deriving rows again from the stored payloads. */
export interface RowsVerification {
  /** Records whose rows were compared. */
  readonly records: number
  /** null: all records. */
  readonly sample: RowSample | null
  /** How many rows differ. */
  readonly differing: number
  /** The streams that have them. */
  readonly streams: readonly string[]
  /** How many of them are payloads that no longer fit. */
  readonly unfit: number
  /** The columns that differ, the most frequent first. */
  readonly columns: readonly DifferingColumn[]
  /** The first 1,000 that differ. */
  readonly rows: readonly DifferingRow[]
}

/** A column that differs in some records of a stream. `column` null: whole rows. */
interface DifferingColumn extends Pick<DifferingRow, 'stream' | 'table' | 'kind'> {
  readonly column: string | null
  readonly records: number
  /** Records of the stream. */
  readonly compared: number
}

const maxNamed = 1000

/** What is compared: all records, some taken at random, or the evaluations completed on some local days. */
export interface RowScope {
  readonly sample: RowSample | null
  /** `[from, to)`, as YYYY-MM-DD; only streams that the sums of the reports count. */
  readonly days: { readonly from: string; readonly to: string } | null
}

/** Derives the rows of all records, or of some, from the stored payloads and compares them with the tables. Reads a slice of records
 *  at a time, each in one snapshot; writes nothing itself. `scope` null: all. `onSlice` gets what was compared and what differs. */
export async function verifyRows(
  warehouse: Pick<Warehouse, 'pool' | 'db' | 'config'>,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  scope: RowScope | null,
  signal: AbortSignal,
  onSlice: (slice: ComparedSlice) => Promise<void> = async () => {},
): Promise<RowsVerification> {
  const { db } = warehouse
  const { sample, days } = scope ?? { sample: null, days: null }
  const derivable = derivableStreams(streams)
    .filter(({ isSummed }) => days === null || isSummed === true)
    .map((stream) => (days === null ? stream : withinDays(stream, days)))
  const sampled = sample === null ? null : await sampleKeys(db, derivable, rooftops, sample)
  const rows: DifferingRow[] = []
  const ofGroups = new Set<string>()
  const columns: DifferingColumn[] = []
  let [records, differing, unfit] = [0, 0, 0]
  for (const stream of derivable) {
    const before = records
    const counts = new Map<string, number>()
    for (const rooftop of rooftops)
      for await (const keys of keySlices(db, stream, rooftop, sampled)) {
        signal.throwIfAborted()
        const compared = await compareKeys(warehouse, stream, rooftop, keys)
        await onSlice({ stream: stream.name, rooftop, keys, found: compared })
        const fresh = compared.filter(({ row }) => isFirst(row, ofGroups))
        records += keys.length
        differing += fresh.length
        unfit += fresh.filter(({ row }) => row.kind === 'unfit').length
        rows.push(...fresh.slice(0, maxNamed - rows.length).map(({ row }) => row))
        countColumns(fresh, counts)
      }
    for (const [name, count] of counts) {
      const [table, kind, column = null] = name.split(' ') as [
        string,
        DifferingRow['kind'],
        string?,
      ]
      const of = { stream: stream.name, table, kind, column }
      columns.push({ ...of, records: count, compared: records - before })
    }
  }
  return {
    ...{ records, sample, differing, unfit, rows },
    streams: [...new Set(columns.map(({ stream }) => stream))],
    columns: columns.toSorted((a, b) => b.records - a.records),
  }
}

/** Adds the records of a slice to the counts, by table, kind and column. */
function countColumns(found: readonly FoundRow[], counts: Map<string, number>): void {
  const names = found.flatMap(({ record, row: { table, kind, columns } }) =>
    kind === 'changed'
      ? columns.map(({ column }) => ({ record, name: `${table} ${kind} ${column}` }))
      : [{ record, name: `${table} ${kind}` }],
  )
  for (const [name, same] of Map.groupBy(names, (one) => one.name)) {
    const { size } = new Set(same.map(({ record }) => record))
    counts.set(name, (counts.get(name) ?? 0) + size)
  }
}

/** Records whose rows were compared, and the rows that differ. */
interface ComparedSlice {
  readonly stream: string
  readonly rooftop: RooftopRow
  readonly keys: readonly string[]
  readonly found: readonly FoundRow[]
}

/** A row that differs, and the key of its record among those of the stream. */
export interface FoundRow {
  readonly record: string
  readonly row: DifferingRow
}

/** The streams whose rows follow from their payloads. */
export function derivableStreams(streams: readonly Stream[]): Derivable[] {
  return streams.flatMap((stream) => {
    const payloadRows = findPayloadRows(stream)
    return payloadRows === null ? [] : [{ name: stream.name, ...payloadRows }]
  })
}

/** The stream with only the evaluations that were completed on these local days, by their rows or by the sums. */
function withinDays(stream: Derivable, { from, to }: NonNullable<RowScope['days']>): Derivable {
  const isWithin = sql`completed_date_local >= ${from}::date and completed_date_local < ${to}::date`
  return {
    ...stream,
    keysOf: (ids) => sql`
      select rooftop_id, key from (${stream.keysOf(ids)}) as every_key
      where (rooftop_id, key) in (
        select rooftop_id, eval_id::text from core.evaluation where rooftop_id in (${sql.join(ids)}) and ${isWithin}
        union select rooftop_id, eval_id::text from core.agg_appraisal where rooftop_id in (${sql.join(ids)}) and ${isWithin})`,
  }
}

/** Whether a row is found for the first time: a row of a dealer group is compared at each of its rooftops. */
function isFirst({ table, key }: DifferingRow, ofGroups: Set<string>): boolean {
  const text = JSON.stringify([table, key])
  if ('rooftop_id' in key || 'natural_key' in key) return true
  return !ofGroups.has(text) && ofGroups.add(text).has(text)
}

/** A stream whose rows follow from its payloads. */
interface Derivable extends PayloadRows {
  readonly name: string
}

/** The sampled keys of each stream and rooftop. */
type Sampled = ReadonlyMap<string, readonly string[]>

async function* keySlices(
  db: Db,
  stream: Derivable,
  { id }: RooftopRow,
  sampled: Sampled | null,
): AsyncGenerator<readonly string[]> {
  const all = sampled?.get(`${stream.name} ${id}`) ?? []
  if (sampled !== null)
    for (let at = 0; at < all.length; at += recordsAtOnce) yield all.slice(at, at + recordsAtOnce)
  const keys = stream.keysOf([id])
  for (let after: string | undefined = ''; sampled === null && after !== undefined; ) {
    const next: string[] = await nextKeys(db, keys, after, recordsAtOnce)
    if (next.length > 0) yield next
    after = next.length < recordsAtOnce ? undefined : next.at(-1)
  }
}

/** Takes records of all streams and rooftops at random. */
async function sampleKeys(
  db: Db,
  streams: readonly Derivable[],
  rooftops: readonly RooftopRow[],
  { size, seed }: RowSample,
): Promise<Sampled> {
  if (rooftops.length === 0) return new Map()
  const ids = rooftops.map(({ id }) => id)
  const all = streams.map(
    (stream) => sql`select ${stream.name}::text || ' ' || rooftop_id as place, key
      from (${stream.keysOf(ids)}) as own`,
  )
  const { rows } = await sql<{ place: string; key: string }>`
    select place, key from (${sql.join(all, sql` union all `)}) as record
    order by md5(${seed}::text || place || ' ' || key) limit ${size}`.execute(db)
  const byPlace = Map.groupBy(rows, ({ place }) => place)
  return new Map([...byPlace].map(([place, rowsThere]) => [place, rowsThere.map(({ key }) => key)]))
}

/** The rows of some records that differ from what their payloads make, in one snapshot. */
export async function compareKeys(
  { pool, config }: Pick<Warehouse, 'pool' | 'config'>,
  stream: Derivable,
  rooftop: RooftopRow,
  keys: readonly string[],
): Promise<FoundRow[]> {
  const options = { wire: config.wire, mode: 'read' } as const
  const read = async ({ db }: { readonly db: Db }) =>
    await compareSlice(db, stream, rooftop, keys, options)
  return await inTransaction(pool, read, 'repeatable read, read only')
}

async function compareSlice(
  db: Db,
  stream: Derivable,
  rooftop: RooftopRow,
  keys: readonly string[],
  options: DeriveOptions,
): Promise<FoundRow[]> {
  const of = { rooftop: rooftop.uid, stream: stream.name }
  const { tables, unfit } = await stream.derive(db, rooftop, keys, options)
  const compared = await compareRows(db, tables)
  const differences = compared
    .map((one) => ({ ...one, columns: one.columns.filter((name) => name !== hashColumn) }))
    .filter(({ kind, columns }) => kind !== 'changed' || columns.length > 0)
  const scope = { stream: stream.name, rooftopId: rooftop.id }
  const broken = unfit.map(({ naturalKey }) => naturalKey)
  const quarantined = await readQuarantinedKeys(db, scope, broken)
  return [
    ...differences.map(({ record, table, key, kind, columns, stored, derived }) => ({
      record,
      row: {
        ...{ ...of, table, key, kind },
        columns: columns.map((column) => ({
          column,
          stored: shownValue(table, column, stored![column]),
          derived: shownValue(table, column, derived![column]),
        })),
      },
    })),
    ...unfit
      .filter(({ naturalKey }) => !quarantined.has(naturalKey))
      .map(({ naturalKey, issues }) => ({
        record: naturalKey,
        row: {
          ...{ ...of, table: 'raw.payload', key: { natural_key: naturalKey } },
          kind: 'unfit' as const,
          columns: issues.map(({ path, message }) => ({
            ...{ column: path, stored: message, derived: null },
          })),
        },
      })),
  ]
}

/** It also covers settings (the rooftop's time zone) and decides only whether a payload is merged. */
const hashColumn = 'content_hash'

/** Columns outside pii that may name a person. */
const personalColumns = new Set(['value_text', 'body', 'display_name', 'insight'])

function shownValue(table: string, column: string, value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (table.startsWith('pii.') || personalColumns.has(column)) return '(hidden)'
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return value.toString('hex').slice(0, 12)
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, 80)
}

import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'
import { type Comparison, type Difference, queriedKeys } from './verify-round.ts'
import { compareKeys, derivableStreams, type FoundRow } from './verify-rows.ts'

// Certificates prove which records are stored. Whether the values of their rows are right takes the payloads: the job "verify"
// compares a share of them each night, and "verify --rows" all at once.

/** Of the payloads of a slice, compressed; one record at least. */
const bytesAtOnce = 8 * 1024 * 1024

/** The rows of each stream with their payloads, by record. */
export function valueComparisons(streams: readonly Stream[]): Comparison[] {
  return derivableStreams(streams).map((stream) => ({
    ...{ stream: stream.name, kind: 'values', keys: queriedKeys(stream.keysOf) },
    bounded: withinBytes,
    compare: async (warehouse, rooftop, keys) =>
      valueDifferences(await compareKeys(warehouse, stream, rooftop, keys)),
  }))
}

/** What differs, by record. */
export function valueDifferences(found: readonly FoundRow[]): Difference[] {
  const byRecord = Map.groupBy(found, ({ record }) => record)
  return [...byRecord].map(([record, [first]]) => ({
    ...{ kind: 'values', record, difference: differenceText(first!) },
  }))
}

/** The keys from the first on whose payloads have few enough bytes together. A key of no payload of its own counts nothing. */
async function withinBytes(
  db: Db,
  { id }: RooftopRow,
  keys: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ key: string; bytes: number }>`
    select natural_key as key, sum(pg_column_size(body))::float8 as bytes from raw.payload
    where rooftop_id = ${id} and natural_key = any(${[...keys]}::text[]) group by 1`.execute(db)
  const bytes = new Map(rows.map((row) => [row.key, row.bytes]))
  let sum = 0
  const end = keys.findIndex((key) => {
    sum += bytes.get(key) ?? 0
    return sum > bytesAtOnce
  })
  return end === -1 ? keys : keys.slice(0, Math.max(1, end))
}

/** The row and its columns; no value, which may be of a customer. */
function differenceText({ row: { table, kind, columns } }: FoundRow): string {
  const names = columns.map(({ column }) => column).join(', ')
  return kind === 'changed' ? `${table} (${names})` : `${table} (${kind})`
}

/** Forgets differences of records whose rows a replay has made what their payloads make. */
export async function forgetDifferences(
  db: Db,
  stream: string,
  { id }: RooftopRow,
  keys: readonly string[],
): Promise<void> {
  await sql`
    delete from ops.value_difference
    where rooftop_id = ${id} and stream = ${stream} and kind = 'values' and compare_keys && ${[...keys]}::text[]`.execute(
    db,
  )
}

/** What was compared of the values of some rooftops, and what differs. */
export interface ValueStatus {
  /** Share of the records, from 0 to 1, that were compared since `since`; 1: all of them. */
  readonly compared: number
  /** null: nothing was compared yet. */
  readonly since: Date | null
  /** By when the rest is compared; null: nothing is left. */
  readonly restBy: Date | null
  readonly differences: readonly ValueDifference[]
}

/** The records of a stream of a rooftop that differ. */
export interface ValueDifference {
  readonly rooftop: string
  readonly stream: string
  readonly records: number
  /** A few of them: the key, and what differs. */
  readonly examples: readonly string[]
  readonly since: Date
}

/** Reads what was compared. A round that is under way does not count where an earlier one was complete. */
export async function readValueStatus(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  withinNights: number,
): Promise<ValueStatus> {
  const ids = rooftops.map(({ id }) => id)
  const names = derivableStreams(streams).map(({ name }) => name)
  const { rows } = await sql<Omit<ValueStatus, 'differences'>>`
    select case when count(*) = count(full_since) then 1
      -- What was never counted is at least something.
      else least(0.99, coalesce(sum(case when full_since is null then least(compared, round_records) else round_records end)::float8
        / nullif(sum(round_records), 0), 0)) end::float8 as compared,
      min(coalesce(full_since, round_started_at)) as since,
      max(case when full_since is null then coalesce(round_started_at, now()) + make_interval(days => ${withinNights}) end) as "restBy"
    from unnest(${ids}::int[]) as rooftop_id cross join unnest(${names}::text[]) as stream
    left join (select * from ops.value_check where kind = 'values') as round using (rooftop_id, stream)`.execute(
    db,
  )
  const { rows: differences } = await sql<ValueDifference>`
    select rooftop_uid as rooftop, stream, count(*)::int as records, min(found_at) as since,
      (array_agg(record_key || ': ' || difference order by record_key))[1:5] as examples
    from ops.value_difference join core.rooftop using (rooftop_id)
    where kind = 'values' and rooftop_id = any(${ids}::int[]) group by 1, 2 order by 1, 2`.execute(
    db,
  )
  return { ...rows[0]!, differences }
}

import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import { uncover } from './verify.ts'
import { type Comparison, type Difference, queriedKeys } from './verify-round.ts'
import { asSpan, brokenSums, type Mismatch, mismatches, type Spans } from './verify-stored.ts'

/** Of the windows of a slice; one window at least. */
const idsAtOnce = 20_000
/** A slice that is still reading its records has listed its windows before others that are certified already. */
const slowestSlice = '6 hours'

/** The stored records with the lists of their windows, by the start of the window: its time ends at the next one. */
export function windowComparisons(streams: readonly Stream[]): Comparison[] {
  return streams.flatMap(({ records }) => (records === undefined ? [] : [compareWindows(records)]))
}

function compareWindows(stream: WindowedRecords): Comparison {
  return {
    ...{ stream: stream.name, kind: 'ids' },
    keys: queriedKeys(
      (rooftopIds) => sql`
      select rooftop_id, ${windowKey} as key from ops.window_certificate
      where rooftop_id in (${sql.join(rooftopIds)}) and stream = ${stream.name}`,
    ),
    bounded: (db, rooftop, keys) => withinIds(db, stream, rooftop, keys),
    // Windows that were listed since, and records that are stored without being listed yet. What else changes a row is found by
    // the round.
    async changed(db, { id }, through) {
      const { rows } = await sql<{ keys: string[]; through: Date | null }>`
        select coalesce(array_agg(${windowKey} order by window_from) filter (
            where ${through}::timestamptz is null or listed_at > ${through}::timestamptz - ${slowestSlice}::interval), '{}')
          || array(select ${windowKeyAt(sql.ref('entry_at'))} from ops.unlisted_record where rooftop_id = ${id} and stream = ${stream.name}) as keys,
          max(listed_at) as through
        from ops.window_certificate where rooftop_id = ${id} and stream = ${stream.name}`.execute(
        db,
      )
      return { ...rows[0]!, isWhole: through === null }
    },
    async compare({ pool }, rooftop, keys) {
      const read = async ({ db }: { readonly db: Db }): Promise<Difference[]> => {
        const spans = await readSpans(db, stream, rooftop, keys)
        const broken = await brokenSums(db, stream, [rooftop.id], spans)
        const found = await mismatches(db, stream, [rooftop.id], spans)
        return windowDifferences(found.get(rooftop.id) ?? [], broken.map(asSpan))
      }
      return await inTransaction(pool, read, 'repeatable read, read only')
    },
    async onFound(db, rooftop, found) {
      const spans = found.flatMap(({ span }) => (span === undefined ? [] : [span]))
      await uncover(db, stream, rooftop, spans)
    },
  }
}

/** What differs, by window. */
export function windowDifferences(
  notStored: readonly Mismatch[],
  broken: readonly { readonly from: string; readonly until: string }[],
): Difference[] {
  return [
    ...notStored.map(({ from, until, missing, unexpected }) => ({
      ...{ kind: 'ids' as const, record: keyText(from), span: { from, until } },
      difference: `missing: ${missing.join(' ')}; not listed: ${unexpected.join(' ')}`,
    })),
    ...broken.map(({ from, until }) => ({
      ...{ kind: 'counts' as const, record: keyText(from), span: { from, until } },
      difference: 'the counts of the certificate are not those of its ids',
    })),
  ]
}

const windowKeyAt = (time: ReturnType<typeof sql>) =>
  sql<string>`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
const windowKey = windowKeyAt(sql.ref('window_from'))

/** The same of an ISO time. */
function keyText(iso: string): string {
  return `${iso.slice(0, 19)}Z`
}

/** The keys from the first on whose windows list few enough ids together. */
async function withinIds(
  db: Db,
  { name }: WindowedRecords,
  { id }: RooftopRow,
  keys: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await sql<{ key: string; listed: number }>`
    select ${windowKey} as key, listed from ops.window_certificate
    where rooftop_id = ${id} and stream = ${name} and window_from = any(${[...keys]}::timestamptz[])`.execute(
    db,
  )
  const listed = new Map(rows.map((row) => [row.key, row.listed]))
  let sum = 0
  const end = keys.findIndex((key) => {
    sum += listed.get(key) ?? 0
    return sum > idsAtOnce
  })
  return end === -1 ? keys : keys.slice(0, Math.max(1, end))
}

/** The time of each window: from its start up to the next one, so that all windows together are all of time. */
async function readSpans(
  db: Db,
  { name }: WindowedRecords,
  { id }: RooftopRow,
  keys: readonly string[],
): Promise<Spans> {
  const windows = sql`ops.window_certificate where rooftop_id = ${id} and stream = ${name}`
  const { rows } = await sql<Spans>`
    select array_agg(lower(span)::text) as froms, array_agg(upper(span)::text) as untils
    from unnest((
      select range_agg(tstzrange(
        case when exists (select from ${windows} and window_from < at) then at else '-infinity' end,
        coalesce((select min(window_from) from ${windows} and window_from > key), 'infinity')))
      from unnest(${[...keys]}::timestamptz[]) as key
      cross join lateral (select coalesce((select max(window_from) from ${windows} and window_from <= key), key) as at) as own
    )) as span`.execute(db)
  return rows[0]!
}

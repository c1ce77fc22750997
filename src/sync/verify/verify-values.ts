import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import { type Db, inTransaction } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import { nextKeys } from '../records/derive-rows.ts'
import type { Stream } from '../run/stream.ts'
import {
  type ComparedSlice,
  compareKeys,
  type Derivable,
  derivableStreams,
  type FoundRow,
} from './verify-rows.ts'

// Certificates prove which records are stored. Whether the values of their rows are right takes the payloads: the job "verify"
// compares a share of them each night, and "verify --rows" all at once.

/** Records compared in one transaction. */
const recordsAtOnce = 100
/** Of them, only as many as have this many bytes of payloads, compressed; one record at least. */
const bytesAtOnce = 8 * 1024 * 1024
/** Records that differ are compared again by each verification, at most this many of a stream of a rooftop. */
const againAtMost = 1000

type Comparing = Pick<Warehouse, 'pool' | 'db' | 'config'>

/** How far a stream of a rooftop is in its round. */
interface Round {
  readonly startedAt: Date
  readonly records: number
  readonly compared: number
  readonly lastKey: string
  /** Nights since its start. */
  readonly nights: number
}

/** What one night compared. */
interface ComparedShare {
  readonly records: number
  /** false: its time was over before the share was done. */
  readonly isDone: boolean
}

/**
 * Compares the next share of the records of each stream and rooftop with their payloads, so that every record comes once in
 * `verify.withinNights`, and again those that differed before. Short transactions; the position is stored after each slice, so the
 * next night continues there, also after a stop.
 */
export async function compareShare(
  warehouse: Comparing,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  signal: AbortSignal,
): Promise<ComparedShare> {
  const { minutes } = warehouse.config.verify
  const until = performance.now() + minutes * 60_000
  const isOver = () => signal.aborted || performance.now() > until
  let records = 0
  for (const [stream, rooftop] of await leastRecent(warehouse.db, streams, rooftops)) {
    if (isOver()) return { records, isDone: false }
    records += await compareAgain(warehouse, stream, rooftop)
    const round = await readRound(warehouse.db, stream, rooftop)
    let left = nightShare(round, warehouse.config.verify.withinNights)
    let after = round.lastKey
    while (left > 0) {
      if (isOver()) return { records, isDone: false }
      const limit = Math.min(recordsAtOnce, left)
      const next = await nextKeys(warehouse.db, stream.keysOf([rooftop.id]), after, limit)
      const keys = await withinBytes(warehouse.db, rooftop, next)
      const found = keys.length === 0 ? [] : await compareKeys(warehouse, stream, rooftop, keys)
      const isEnd = keys.length === next.length && next.length < limit
      await inTransaction(warehouse.pool, async ({ db }) => {
        await saveFound(db, { stream: stream.name, rooftop, keys, found })
        await saveRound(db, stream, rooftop, {
          lastKey: isEnd ? null : keys.at(-1)!,
          added: keys.length,
        })
      })
      records += keys.length
      left = isEnd ? 0 : left - keys.length
      after = keys.at(-1) ?? after
    }
  }
  return { records, isDone: true }
}

/** How many records are compared tonight: the rest of the round in equal shares; in its last night, all that is left. */
export function nightShare(
  { records, compared, nights }: Pick<Round, 'records' | 'compared' | 'nights'>,
  withinNights: number,
): number {
  const nightsLeft = withinNights - nights
  if (nightsLeft <= 1) return Infinity
  return Math.max(1, Math.ceil((records - compared) / nightsLeft))
}

/** Streams of rooftops, those first that were compared the longest time ago. */
async function leastRecent(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
): Promise<(readonly [Derivable, RooftopRow])[]> {
  const { rows } = await sql<{ place: string }>`
    select rooftop_id || ' ' || stream as place from ops.value_check order by compared_at nulls first`.execute(
    db,
  )
  const ranks = new Map(rows.map(({ place }, index) => [place, index]))
  const rank = ([{ name }, { id }]: readonly [Derivable, RooftopRow]) =>
    ranks.get(`${id} ${name}`) ?? -1
  return derivableStreams(streams)
    .flatMap((stream) =>
      rooftops.filter(({ id }) => id !== 0).map((rooftop) => [stream, rooftop] as const),
    )
    .sort((a, b) => rank(a) - rank(b))
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

/** Compares again what differed before; returns how many records those are. */
async function compareAgain(
  warehouse: Comparing,
  stream: Derivable,
  rooftop: RooftopRow,
): Promise<number> {
  const { rows } = await sql<{ key: string }>`
    select distinct key from ops.value_difference cross join unnest(compare_keys) as key
    where rooftop_id = ${rooftop.id} and stream = ${stream.name} order by key limit ${againAtMost}`.execute(
    warehouse.db,
  )
  let left = rows.map(({ key }) => key)
  while (left.length > 0) {
    const keys = await withinBytes(warehouse.db, rooftop, left.slice(0, recordsAtOnce))
    const found = await compareKeys(warehouse, stream, rooftop, keys)
    const slice = { stream: stream.name, rooftop, keys, found }
    await inTransaction(warehouse.pool, async ({ db }) => await saveFound(db, slice))
    left = left.slice(keys.length)
  }
  return rows.length
}

/** Compares again all records that differed before, and forgets those that are equal now. */
export async function compareDifferences(
  warehouse: Comparing,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
): Promise<void> {
  for (const stream of derivableStreams(streams))
    for (const rooftop of rooftops) await compareAgain(warehouse, stream, rooftop)
}

/** Where the round of a stream of a rooftop is; begins one where none is under way. */
async function readRound(db: Db, stream: Derivable, { id }: RooftopRow): Promise<Round> {
  const read = sql<Round>`
    select round_started_at as "startedAt", round_records as records, compared, last_key as "lastKey",
      round(extract(epoch from now() - round_started_at) / 86400)::int as nights
    from ops.value_check where rooftop_id = ${id} and stream = ${stream.name}`
  const [known] = (await read.execute(db)).rows
  if (known !== undefined && known.lastKey !== '') return known
  await sql`
    insert into ops.value_check as old (rooftop_id, stream, round_started_at, round_records)
    select ${id}::int, ${stream.name}::text, now(), count(*) from (${stream.keysOf([id])}) as record
    on conflict (rooftop_id, stream) do update set round_started_at = excluded.round_started_at,
      round_records = excluded.round_records, compared = 0`.execute(db)
  return (await read.execute(db)).rows[0]!
}

/** Moves the position of a round; null: it is at its end, and the next one begins with the next night. */
async function saveRound(
  db: Db,
  { name }: Derivable,
  { id }: RooftopRow,
  { lastKey, added }: { readonly lastKey: string | null; readonly added: number },
): Promise<void> {
  await sql`
    update ops.value_check set compared = compared + ${added}, compared_at = clock_timestamp(), last_key = ${lastKey ?? ''},
      full_since = case when ${lastKey === null} then round_started_at else full_since end
    where rooftop_id = ${id} and stream = ${name}`.execute(db)
}

/** Stores what differs among the records of a slice, and forgets what differed before and is equal now. */
export async function saveFound(
  db: Db,
  { stream, rooftop, keys, found }: ComparedSlice,
): Promise<void> {
  const byRecord = Map.groupBy(found, ({ record }) => record)
  const rows = [...byRecord].map(([record, [first]]) => ({
    record,
    // A row of a vehicle may belong to another evaluation than the one whose payloads were derived.
    keys: keys.includes(record) ? [record] : keys,
    difference: differenceText(first!).slice(0, 400),
  }))
  await sql`
    with found as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f (record text, keys text[], difference text)
    ), equal as (
      delete from ops.value_difference
      where rooftop_id = ${rooftop.id} and stream = ${stream} and compare_keys && ${[...keys]}::text[]
        and record_key not in (select record from found)
    )
    insert into ops.value_difference as old (rooftop_id, stream, record_key, compare_keys, difference)
    select ${rooftop.id}::int, ${stream}::text, record, keys, difference from found
    on conflict (rooftop_id, stream, record_key) do update set compare_keys = excluded.compare_keys, difference = excluded.difference
    where (old.compare_keys, old.difference) is distinct from (excluded.compare_keys, excluded.difference)`.execute(
    db,
  )
}

/** The row and its columns; no value, which may be of a customer. */
function differenceText({ row: { table, kind, columns } }: FoundRow): string {
  const names = columns.map(({ column }) => column).join(', ')
  return kind === 'changed' ? `${table} (${names})` : `${table} (${kind})`
}

/** Records that `verify --rows` has compared all of, for the streams of these rooftops, since an instant. */
export async function saveFullRound(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
  since: Date,
): Promise<void> {
  const ids = rooftops.flatMap(({ id }) => (id === 0 ? [] : [id]))
  const names = derivableStreams(streams).map(({ name }) => name)
  await sql`
    insert into ops.value_check as old (rooftop_id, stream, round_started_at, round_records, compared_at, full_since)
    select id, name, ${since}::timestamptz, 0, clock_timestamp(), ${since}::timestamptz
    from unnest(${ids}::int[]) as id cross join unnest(${names}::text[]) as name
    on conflict (rooftop_id, stream) do update set round_started_at = excluded.round_started_at, last_key = '', compared = 0,
      compared_at = excluded.compared_at, full_since = excluded.full_since`.execute(db)
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
    where rooftop_id = ${id} and stream = ${stream} and compare_keys && ${[...keys]}::text[]`.execute(
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
    left join ops.value_check using (rooftop_id, stream)`.execute(db)
  const { rows: differences } = await sql<ValueDifference>`
    select rooftop_uid as rooftop, stream, count(*)::int as records, min(found_at) as since,
      (array_agg(record_key || ': ' || difference order by record_key))[1:5] as examples
    from ops.value_difference join core.rooftop using (rooftop_id)
    where rooftop_id = any(${ids}::int[]) group by 1, 2 order by 1, 2`.execute(db)
  return { ...rows[0]!, differences }
}

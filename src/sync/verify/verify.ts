import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'
import {
  asSpan,
  brokenSums,
  type IsoSpan,
  type Mismatch,
  mismatches,
  type Orphan,
  orphans,
  type SpanRow,
} from './verify-stored.ts'

/** The result of verifying one rooftop and stream. With all lists empty it is complete and consistent. */
export interface Verification {
  readonly rooftop: string
  readonly stream: string
  readonly windows: number
  readonly listed: number
  readonly loaded: number
  readonly quarantined: number
  readonly vanished: number
  /** Wanted, but in no certificate, and no live run works on it. Times that the source's clock has not reached are not gaps. */
  readonly gaps: readonly IsoSpan[]
  /** Wanted, but in no certificate: a live run works on it and has not listed it yet. */
  readonly unlisted: readonly IsoSpan[]
  /** Certificates that overlap. */
  readonly overlaps: readonly IsoSpan[]
  /** Certificates whose counts do not add up, or differ from their listed ids. */
  readonly brokenSums: readonly IsoSpan[]
  /** Covered, but by no settled certificate. */
  readonly uncertified: readonly IsoSpan[]
  /** Windows that the source may have cut off; they cannot be proved. */
  readonly unprovable: readonly IsoSpan[]
  /** Windows whose certificate and tables differ in records or owners. */
  readonly notStored: readonly Mismatch[]
  /** Records that are not stored, though child rows of them are. */
  readonly orphans: readonly Orphan[]
}

/** What listing and reading a window again repairs. */
export function repairableSpans({ overlaps, brokenSums, notStored }: Verification): IsoSpan[] {
  return [...overlaps, ...brokenSums, ...notStored]
}

/** Verifies a stream of rooftops from the warehouse alone, in their order; `bounds`: without reading stored records. A rooftop that
 *  no run has registered (id 0) has nothing but a gap. It runs several statements, more of them for more records: use a transaction with
 *  one snapshot. */
export async function verifyStreams(
  db: Db,
  stream: WindowedRecords,
  rooftops: readonly RooftopRow[],
  sync: Config['sync'],
  now: Date,
  compared: 'all' | 'bounds' = 'all',
): Promise<Verification[]> {
  const ids = [...new Set(rooftops.map(({ id }) => id))]
  const key = sql`rooftop_id = any(${ids}::int[]) and stream = ${stream.name}`
  const verifiedKey = sql`rooftop_id = own.rooftop_id and stream = ${stream.name}`
  const spans = async (query: ReturnType<typeof sql<SpanRow>>) =>
    Map.groupBy((await query.execute(db)).rows, ({ rooftopId }) => rooftopId)
  const totals = await readTotals(db, stream, ids)
  const certified = sql`coalesce((select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where ${verifiedKey}), '{}')`
  const held = sql`coalesce((select held from core.stream_at_work where ${verifiedKey}), '{}')`
  // A source whose clock was set back has not reached what an earlier sync wanted.
  const future = sql`coalesce((
    select tstzmultirange(tstzrange(source_started_at, null)) from ops.run_stream join ops.run using (run_id)
    where ${verifiedKey} and arguments ->> 'mode' in ('sync', 'backfill') order by run_id desc limit 1), '{}')`
  const never = sql`tstzmultirange(tstzrange(${sync.start}::timestamptz, greatest(${now}::timestamptz, ${sync.start}::timestamptz)))`
  const missing = await sql<SpanRow & { isHeld: boolean }>`
    select rooftop_id as "rooftopId", is_held as "isHeld", lower(span) as "from", upper(span) as "until"
    from (
      select own.rooftop_id, coalesce((select wanted from ops.coverage where ${verifiedKey}), ${never}) - ${certified} - ${future} as uncertified, ${held} as held
      from unnest(${ids}::int[]) as own (rooftop_id)
    ) as wanted
    cross join lateral (
      select true as is_held, unnest(uncertified * held) as span union all select false, unnest(uncertified - held)
    ) as missing`.execute(db)
  const missingSpans = (isHeld: boolean) =>
    Map.groupBy(
      missing.rows.filter((one) => one.isHeld === isHeld),
      ({ rooftopId }) => rooftopId,
    )
  const [gaps, unlisted] = [missingSpans(false), missingSpans(true)]
  const overlaps = await spans(sql`
    select rooftop_id as "rooftopId", next_from as "from", window_until as "until"
    from (
      select rooftop_id, window_until, lead(window_from) over (partition by rooftop_id order by window_from) as next_from
      from ops.window_certificate where ${key}
    ) as pair
    where next_from < window_until`)
  const isWhole = compared === 'all'
  const brokenRows = isWhole ? await brokenSums(db, stream, ids) : []
  const broken = Map.groupBy(brokenRows, ({ rooftopId }) => rooftopId)
  const uncertified = await spans(sql`
    select rooftop_id as "rooftopId", lower(range) as "from", upper(range) as "until"
    from unnest(${ids}::int[]) as own (rooftop_id)
    cross join unnest((select covered from ops.coverage where ${verifiedKey}) - coalesce((
      select range_agg(tstzrange(window_from, window_until)) from ops.window_certificate where ${verifiedKey} and settled
    ), '{}')) as range`)
  const unprovable = await spans(sql`
    select rooftop_id as "rooftopId", window_from as "from", window_until as "until" from ops.window_certificate
    where ${key} and proof = 'unprovable' order by window_from`)
  const notStored = new Map<number, readonly Mismatch[]>()
  if (isWhole)
    for (const part of divideRooftops(ids, totals))
      for (const [id, found] of await mismatches(db, stream, part)) notStored.set(id, found)
  const left = isWhole ? await orphans(db, stream, ids) : new Map<number, Orphan[]>()
  return rooftops.map(({ id, uid }) => {
    const of = (found: ReadonlyMap<number, readonly SpanRow[]>) => (found.get(id) ?? []).map(asSpan)
    return {
      rooftop: uid,
      stream: stream.name,
      ...(totals.get(id) ?? noTotals),
      gaps: of(gaps),
      unlisted: of(unlisted),
      overlaps: of(overlaps),
      brokenSums: of(broken),
      uncertified: of(uncertified),
      unprovable: of(unprovable),
      notStored: notStored.get(id) ?? [],
      orphans: left.get(id) ?? [],
    }
  })
}

/** How many records one statement compares: three million at once were sorted on the disk, for 330 s. */
const recordsAtOnce = 100_000

/** The rooftops in parts of about that number of listed records; a larger rooftop is a part by itself. */
function divideRooftops(ids: readonly number[], totals: ReadonlyMap<number, Totals>): number[][] {
  const parts: number[][] = [[]]
  let records = 0
  for (const id of ids) {
    const { listed } = totals.get(id) ?? noTotals
    if (records > 0 && records + listed > recordsAtOnce) {
      parts.push([])
      records = 0
    }
    parts.at(-1)!.push(id)
    records += listed
  }
  return parts
}

type Totals = Pick<Verification, 'windows' | 'listed' | 'loaded' | 'quarantined' | 'vanished'>

const noTotals: Totals = { windows: 0, listed: 0, loaded: 0, quarantined: 0, vanished: 0 }

async function readTotals(
  db: Db,
  { name }: WindowedRecords,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Totals>> {
  const { rows } = await sql<Totals & { rooftopId: number }>`
    select rooftop_id as "rooftopId", count(*)::int as windows, sum(listed)::int as listed, sum(loaded)::int as loaded,
      sum(quarantined)::int as quarantined, sum(vanished)::int as vanished
    from ops.window_certificate where rooftop_id = any(${[...ids]}::int[]) and stream = ${name}
    group by 1`.execute(db)
  return new Map(rows.map(({ rooftopId, ...totals }) => [rooftopId, totals]))
}

/** Whether everything that is wanted is listed, and nothing is wrong. */
export function isProved(verification: Verification): boolean {
  return isFaultless(verification) && verification.unlisted.length === 0
}

/** Whether the verification found nothing wrong; a live run may have spans left to list. */
export function isFaultless(verification: Verification): boolean {
  const { gaps, overlaps, brokenSums, uncertified, unprovable, notStored, orphans } = verification
  return [gaps, overlaps, brokenSums, uncertified, unprovable, notStored, orphans].every(
    (found) => found.length === 0,
  )
}

/** Removes the spans, and all windows that they touch, from the coverage, so that the next sync lists and reads them again. */
export async function uncover(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  spans: readonly IsoSpan[],
): Promise<void> {
  if (spans.length === 0) return
  const key = sql`rooftop_id = ${rooftop.id} and stream = ${stream.name}`
  await sql`
    with span as (
      select tstzrange("from", until) as range
      from jsonb_to_recordset(${JSON.stringify(spans)}::jsonb) as span ("from" timestamptz, until timestamptz)
      union all
      select touched from ops.window_certificate, tstzrange(window_from, window_until) as touched
      where ${key} and exists (
        select from jsonb_to_recordset(${JSON.stringify(spans)}::jsonb) as span ("from" timestamptz, until timestamptz)
        where touched && tstzrange("from", until))
    )
    update ops.coverage set covered = covered - (select range_agg(range) from span)
    where ${key} and covered && (select range_agg(range) from span)`.execute(db)
}

/** Stores what is covered without a certificate, so that the next sync lists it again. */
export async function saveUncertified(
  db: Db,
  stream: WindowedRecords,
  rooftop: RooftopRow,
  spans: readonly IsoSpan[],
): Promise<void> {
  const uncertified = `{${spans.map(({ from, until }) => `[${from},${until})`).join(',')}}`
  await sql`
    update ops.coverage set uncertified = ${uncertified}::tstzmultirange
    where rooftop_id = ${rooftop.id} and stream = ${stream.name} and uncertified <> ${uncertified}::tstzmultirange`.execute(
    db,
  )
}

/** An evaluation that is stored under several rooftops. */
export interface Duplicate {
  readonly evalId: number
  readonly rooftops: readonly string[]
}

/** Those of all rooftops, or among some ids. This happens when two keys read lists that cover the whole group. */
export async function duplicateIds(
  db: Db,
  ids: readonly string[] | null = null,
): Promise<Duplicate[]> {
  const isWanted = ids === null ? sql`true` : sql`eval_id = any(${[...ids]}::bigint[])`
  const { rows } = await sql<Duplicate>`
    select eval_id as "evalId", array_agg(rooftop_uid::text order by rooftop_uid) as rooftops
    from core.evaluation join core.rooftop using (rooftop_id)
    where ${isWanted} group by eval_id, region, created_at having count(*) > 1
    order by eval_id`.execute(db)
  return rows
}

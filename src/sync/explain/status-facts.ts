import { sql } from 'kysely'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Stream } from '../run/stream.ts'
import type { IsoSpan } from '../verify/verify-stored.ts'

/** What the warehouse holds of a stream of a rooftop: a row of core.stream_status, and what its last verification found. */
export interface StreamFacts {
  readonly rooftopId: number
  readonly stream: string
  readonly lastStatus: string | null
  readonly lastError: string | null
  /** The key whose refusal that is, if it is refused now, as in `ops.rate_budget`. */
  readonly refusedKey: string | null
  readonly lastGoodAt: Date | null
  /** When that run began, by the source's clock. */
  readonly readTo: Date | null
  /** Whether a live run works on the stream. */
  readonly isAtWork: boolean
  readonly isLate: boolean
  /** Its status if nothing is missing. */
  readonly health: 'ok' | 'partial' | 'failed' | 'late' | 'never'
  readonly quarantined: number
  readonly warnings: number
  /** Of a windowed stream: when its rows were last compared with their lists, and what differed. */
  readonly verifiedAt: Date | null
  /** null: nothing, or it was never verified. */
  readonly fault: string | null
}

/** A stream of a rooftop that no run has registered. */
const neverSeen: Omit<StreamFacts, 'rooftopId' | 'stream'> = {
  ...{ lastStatus: null, lastError: null, refusedKey: null, lastGoodAt: null, readTo: null },
  ...{ isAtWork: false, isLate: true, health: 'never', quarantined: 0, warnings: 0 },
  ...{ verifiedAt: null, fault: null },
}

/** The key of a stream of a rooftop. */
export function factsKey(stream: string, rooftopId: number): string {
  return `${stream} ${rooftopId}`
}

/** The facts of each stream for each rooftop. */
export async function readFacts(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
): Promise<ReadonlyMap<string, StreamFacts>> {
  const ids = [...new Set(rooftops.map(({ id }) => id))]
  const names = streams.map(({ name }) => name)
  const { rows } = await sql<StreamFacts>`
    select rooftop_id as "rooftopId", stream, last_status as "lastStatus", last_error as "lastError", refused_key as "refusedKey",
      last_good_run_at as "lastGoodAt", read_to as "readTo", is_at_work as "isAtWork", core.is_late(last_good_run_at, is_at_work) as "isLate",
      core.stream_health(last_status, last_good_run_at, is_at_work, false) as health, quarantined,
      (select count(*)::int from ops.data_quality as warning
        where warning.rooftop_id = status.rooftop_id and warning.stream = status.stream) as warnings,
      verified_at as "verifiedAt", fault
    from core.stream_status as status left join ops.verification using (rooftop_id, stream)
    where rooftop_id = any(${ids}::int[]) and stream = any(${names}::text[])`.execute(db)
  const found = new Map(rows.map((row) => [factsKey(row.stream, row.rooftopId), row]))
  const all = ids.flatMap((rooftopId) => names.map((stream) => ({ rooftopId, stream })))
  return new Map(
    all.map(({ rooftopId, stream }) => {
      const key = factsKey(stream, rooftopId)
      return [key, found.get(key) ?? { ...neverSeen, rooftopId, stream }]
    }),
  )
}

/** What the windows of a rooftop cover. */
export interface Covered {
  readonly rooftopId: number
  /** The end of the listed span, and of the settled span, that contains the start of the sync. */
  readonly listed: Date | null
  readonly settled: Date | null
  /** Spans that are wanted and not listed, and windows that cannot be proved complete, in order. */
  readonly gaps: readonly IsoSpan[]
  readonly unprovable: readonly IsoSpan[]
  /** Records that are known by the list alone, and how many of them are overdue to be read again. */
  readonly records: number
  readonly overdue: number
}

/** What the windows of a stream cover, and what is to be read again; by rooftop id. A rooftop without a row has listed nothing. */
export async function readCovered(
  db: Db,
  stream: string,
  rooftops: readonly RooftopRow[],
  start: Date,
  withinNights: number,
): Promise<ReadonlyMap<number, Covered>> {
  const endIn = (ranges: string) =>
    sql`(select upper(range) from unnest(${sql.ref(ranges)}) as range where range @> ${start}::timestamptz)`
  const iso = (time: string) =>
    sql`to_char(${sql.raw(time)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const span = (from: string, until: string) =>
    sql`jsonb_build_object('from', ${iso(from)}, 'until', ${iso(until)})`
  const { rows } = await sql<Covered>`
    select rooftop_id as "rooftopId", ${endIn('listed')} as listed, ${endIn('settled')} as settled, reread.*,
      (select coalesce(jsonb_agg(${span('lower(gap)', 'upper(gap)')} order by gap), '[]') from unnest(gaps) as gap) as gaps,
      (select coalesce(jsonb_agg(${span('window_from', 'window_until')} order by window_from), '[]') from ops.window_certificate as window_
        where window_.rooftop_id = now.rooftop_id and window_.stream = now.stream and proof = 'unprovable') as unprovable
    from core.stream_status as now
    cross join lateral (
      select coalesce(sum(loaded), 0)::int as records,
        coalesce(sum(loaded) filter (where reread_at < newest.at - make_interval(days => ${withinNights})), 0)::int as overdue
      from ops.window_certificate as known, (
        select max(listed_at) as at from ops.window_certificate as newest
        where newest.rooftop_id = now.rooftop_id and newest.stream = now.stream) as newest
      where known.rooftop_id = now.rooftop_id and known.stream = now.stream
    ) as reread
    where listed is not null and stream = ${stream} and rooftop_id = any(${rooftops.map(({ id }) => id)}::int[])`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.rooftopId, row]))
}

import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { rereadWithinNights } from '../records/reread.ts'
import type { Stream } from '../run/stream.ts'
import { type Verification, verifyStreams } from '../verify/verify.ts'
import type { WindowedRecords } from '../windows/windowed-records.ts'

/** What the ledger holds of a stream of a rooftop. */
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
  /** Records whose values differed from their payloads when they were last compared. */
  readonly differing: number
}

/** What the certificates of a windowed stream show, by rooftop. */
export interface WindowedFacts {
  readonly verifications: ReadonlyMap<number, Verification>
  readonly covered: ReadonlyMap<number, Covered>
  readonly withinNights: number
}

/** The key of a stream of a rooftop. */
export function factsKey(stream: string, rooftopId: number): string {
  return `${stream} ${rooftopId}`
}

/**
 * The newest finished run of each stream for each rooftop, and the newest good one; partial counts as good. A backfill counts only
 * for streams with windows: for others it says nothing about what the nightly runs load.
 */
export async function readFacts(
  db: Db,
  streams: readonly Stream[],
  rooftops: readonly RooftopRow[],
): Promise<ReadonlyMap<string, StreamFacts>> {
  const ids = [...new Set(rooftops.map(({ id }) => id))]
  const names = streams.map(({ name }) => name)
  const isWindowed = streams.map(({ records }) => records !== undefined)
  const ended = sql`
    ops.run_stream as part join ops.run using (run_id)
    where part.stream = known.stream and part.rooftop_id = own.rooftop_id and part.finished_at is not null
      and arguments ->> 'mode' in ('sync', 'backfill', 'reprice') and (is_windowed or lane <> 'background')`
  const { rows } = await sql<StreamFacts>`
    select own.rooftop_id as "rooftopId", known.stream, last.status as "lastStatus", last.error as "lastError",
      case when ops.is_refused(last.refused_key, (select rooftop_uid from core.rooftop where rooftop_id = own.rooftop_id))
        then last.refused_key end as "refusedKey",
      good.finished_at as "lastGoodAt", good.source_started_at as "readTo", work.stream is not null as "isAtWork",
      core.is_late(good.finished_at, work.stream is not null) as "isLate",
      core.stream_health(last.status, good.finished_at, work.stream is not null, false) as health,
      (select count(*)::int from ops.quarantine where rooftop_id = own.rooftop_id and stream = known.stream and resolved_at is null)
        as quarantined,
      (select count(*)::int from ops.data_quality where rooftop_id = own.rooftop_id and stream = known.stream) as warnings,
      (select count(*)::int from ops.value_difference where rooftop_id = own.rooftop_id and stream = known.stream) as differing
    from unnest(${ids}::int[]) as own (rooftop_id)
    cross join unnest(${names}::text[], ${isWindowed}::boolean[]) as known (stream, is_windowed)
    left join core.stream_at_work as work on work.rooftop_id = own.rooftop_id and work.stream = known.stream
    left join lateral (
      select part.status, part.error, part.refused_key from ${ended} order by part.run_id desc limit 1) as last on true
    left join lateral (
      select part.finished_at, source_started_at from ${ended} and part.status in ('ok', 'partial')
      order by part.run_id desc limit 1) as good on true`.execute(db)
  return new Map(rows.map((row) => [factsKey(row.stream, row.rooftopId), row]))
}

/** Verifies the windows of a stream, and reads what they cover. */
export async function readWindowed(
  db: Db,
  records: WindowedRecords,
  rooftops: readonly RooftopRow[],
  facts: ReadonlyMap<string, StreamFacts>,
  { sync }: Config,
): Promise<WindowedFacts> {
  const isRun = ({ id }: RooftopRow) => facts.get(factsKey(records.name, id))!.lastStatus !== null
  const withinNights = rereadWithinNights(sync)
  const verifications = await verifyStreams(db, records, rooftops.filter(isRun), sync, new Date())
  return {
    verifications: new Map(
      rooftops.filter(isRun).map(({ id }, index) => [id, verifications[index]!]),
    ),
    covered: await readCovered(db, records.name, rooftops, sync.start, withinNights),
    withinNights,
  }
}

/** What the certificates of a rooftop cover. */
export interface Covered {
  readonly rooftopId: number
  /** The end of the listed span, and of the settled span, that contains the start of the sync. */
  readonly listed: Date | null
  readonly settled: Date | null
  /** Records that are known by the list alone, and how many of them are overdue to be read again. */
  readonly records: number
  readonly overdue: number
}

/** Until when the windows of some rooftops are listed and settled, and what is to be read again; by rooftop id. */
export async function readCovered(
  db: Db,
  stream: string,
  rooftops: readonly RooftopRow[],
  start: Date,
  withinNights: number,
): Promise<ReadonlyMap<number, Covered>> {
  const endIn = (ranges: string) =>
    sql`(select upper(range) from unnest(${sql.ref(ranges)}) as range where range @> ${start}::timestamptz)`
  const { rows } = await sql<Covered>`
    with certificate as (
      select rooftop_id, tstzrange(window_from, window_until) as span, settled, loaded, reread_at,
        max(listed_at) over (partition by rooftop_id) as newest
      from ops.window_certificate where stream = ${stream} and rooftop_id = any(${rooftops.map(({ id }) => id)}::int[])
    ), certified as (
      select rooftop_id, range_agg(span) as listed, range_agg(span) filter (where settled) as settled, sum(loaded)::int as records,
        coalesce(sum(loaded) filter (where reread_at < newest - make_interval(days => ${withinNights})), 0)::int as overdue
      from certificate group by rooftop_id
    )
    select rooftop_id as "rooftopId", ${endIn('listed')} as listed, ${endIn('settled')} as settled, records, overdue
    from certified`.execute(db)
  return new Map(rows.map((row) => [row.rooftopId, row]))
}

import { type RawBuilder, sql } from 'kysely'
import { plural } from '../../../values/text.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { type SpanState, type StateSpan, spanStates } from '../charts/calendar.ts'
import type { TimeSpan } from '../charts/scale.ts'
import { durationText } from '../parts/instant.ts'

/** A span of a rooftop with a state. */
export interface Span extends StateSpan {
  readonly uid: string
  /** Open records in quarantine of its windows; 0 for another state. */
  readonly records: number
}

/** Windows with quarantined records that are nearer than this part of the frame are one span: the chart has no more pixels. */
const partsOfFrame = 365

/**
 * The spans of a stream with windows, by range arithmetic: what is settled is the coverage, so that only the newest windows are
 * read and the work does not grow with the days. A span that a living run has still to list is not a gap, and not complete either.
 */
export async function readSpans(
  db: Db,
  stream: string,
  uids: readonly string[],
  { from, until }: TimeSpan,
): Promise<Span[]> {
  const seconds = (until.getTime() - from.getTime()) / 1000 / partsOfFrame
  const { rows } = await sql<Span>`
    with frame as (
      select tstzmultirange(tstzrange(${from}, ${until})) as span, make_interval(secs => ${seconds}) as nearest
    ), chosen as materialized (
      select rooftop_id, rooftop_uid from core.rooftop where rooftop_uid = any(${[...uids]}::text[])
    ), status as (
      select rooftop_uid, c.wanted * f.span as wanted, c.covered * f.span as settled,
        coalesce(fresh.ranges, '{}') * f.span - c.covered as fresh, coalesce(doubted.ranges, '{}') * f.span as unprovable,
        coalesce(w.held, '{}') as at_work
      from chosen
      join ops.coverage as c using (rooftop_id)
      cross join frame as f
      cross join lateral (
        select range_agg(tstzrange(window_from, window_until)) as ranges from ops.window_certificate as own
        where own.rooftop_id = chosen.rooftop_id and own.stream = ${stream} and not settled
      ) as fresh
      cross join lateral (
        select range_agg(tstzrange(window_from, window_until)) as ranges from ops.window_certificate as own
        where own.rooftop_id = chosen.rooftop_id and own.stream = ${stream} and proof = 'unprovable'
      ) as doubted
      left join core.stream_at_work as w on w.rooftop_id = chosen.rooftop_id and w.stream = c.stream
      where c.stream = ${stream}
    ), held as (${heldSpans(stream, { from, until })})
    select rooftop_uid as uid, state, lower(part) as "from", upper(part) as until, records
    from (
      select rooftop_uid, state, part, 0 as records from status
      cross join lateral (
        select 'gap' as state, unnest(wanted - settled - fresh - at_work) as part
        union all select 'unlisted', unnest((wanted - settled - fresh) * at_work)
        union all select 'unprovable', unnest(unprovable)
        union all select 'provisional', unnest(wanted * fresh)
        union all select 'settled', unnest(settled)
      ) as spans
      union all
      select rooftop_uid, 'quarantine', part, records from held join chosen using (rooftop_id)
    ) as found
    order by 1, lower(part)`.execute(db)
  return rows
}

/** Spans of windows with quarantined records, cut to the frame, with the number of records. A window is at most 31 days long. */
function heldSpans(stream: string, { from, until }: TimeSpan): RawBuilder<unknown> {
  return sql`
    select rooftop_id, tstzrange(greatest(min(starts), ${from}), least(max(ends), ${until})) as part, sum(records)::int as records
    from (
      select *, count(*) filter (where is_new) over (partition by rooftop_id order by starts) as nr
      from (
        select rooftop_id, starts, ends, records,
          coalesce(starts > max(ends) over (partition by rooftop_id order by starts rows between unbounded preceding and 1 preceding) + nearest, true) as is_new
        from (
          select rooftop_id, nearest, min(window_from) as starts, max(window_until) as ends, count(*) as records
          from frame
          cross join chosen
          cross join lateral (
            select window_from, window_until from ops.quarantine as own
            where own.rooftop_id = chosen.rooftop_id and own.stream = ${stream} and resolved_at is null
              and window_from > ${from}::timestamptz - interval '31 days' and window_from < ${until} and window_until > ${from}
          ) as windows
          group by rooftop_id, nearest, date_bin(nearest, window_from, ${from})
        ) as bin
      ) as step
    ) as island
    group by rooftop_id, nr`
}

/** Open records of a stream in quarantine that no window holds, so that no chart can place them. */
export async function countUnplaced(
  db: Db,
  stream: string,
  uids: readonly string[],
): Promise<number> {
  const { rows } = await sql<{ records: number }>`
    select count(*)::int as records
    from core.rooftop
    cross join lateral (
      select from ops.quarantine as own
      where own.rooftop_id = rooftop.rooftop_id and own.stream = ${stream} and resolved_at is null and window_from is null
    ) as unplaced
    where rooftop_uid = any(${[...uids]}::text[])`.execute(db)
  return rows[0]!.records
}

/** What is wrong with a rooftop in words: `1 gap of 3 days, 40 in quarantine`; `complete` where nothing is. */
export function spanSummary(spans: readonly Span[]): string {
  if (spans.length === 0) return 'nothing was asked for'
  const of = (state: SpanState) => spans.filter((span) => span.state === state)
  const long = (some: readonly Span[]) => durationText(totalSeconds(some))
  const [gaps, unlisted, unprovable] = [of('gap'), of('unlisted'), of('unprovable')]
  const quarantined = spans.reduce((sum, { records }) => sum + records, 0)
  const parts = [
    gaps.length > 0 && `${plural(gaps.length, 'gap')} of ${long(gaps)}`,
    unlisted.length > 0 && `${long(unlisted)} not listed yet`,
    unprovable.length > 0 && `${long(unprovable)} cannot be proved complete`,
    quarantined > 0 && `${quarantined.toLocaleString('en')} in quarantine`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? 'complete' : parts.join(', ')
}

function totalSeconds(spans: readonly Span[]): number {
  const ms = spans.reduce((sum, { from, until }) => sum + until.getTime() - from.getTime(), 0)
  return ms / 1000
}

/** What is missing or in doubt, the worst first. */
export function findDoubts(spans: readonly Span[]): Span[] {
  return [...spanStates]
    .reverse()
    .filter((state) => state !== 'settled' && state !== 'provisional')
    .flatMap((state) => spans.filter((span) => span.state === state))
}

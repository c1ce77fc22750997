import { sql } from 'kysely'
import type { Db } from '../../db/transaction.ts'
import { type SpanState, type StateSpan, spanStates } from '../charts/calendar.ts'
import type { TimeSpan } from '../charts/scale.ts'
import { durationText } from '../parts/instant.ts'
import { plural } from '../../values/text.ts'

/** A span of a rooftop with a state. Instants are texts. */
export interface Span {
  readonly uid: string
  readonly state: SpanState
  readonly from: string
  readonly until: string
}

/** Open records in quarantine: of a window, or without one, which no chart can place. */
export interface Held {
  readonly uid: string
  readonly from: string | null
  readonly until: string | null
  readonly records: number
}

/**
 * The spans of a stream with windows, by range arithmetic over the certificates: their number does not grow with the days. A
 * span that a living run is listing is no gap.
 */
export async function readSpans(
  db: Db,
  stream: string,
  uids: readonly string[],
  { from, until }: TimeSpan,
): Promise<Span[]> {
  const { rows } = await sql<Span>`
    with frame as (
      select tstzmultirange(tstzrange(${from}, ${until})) as span
    ), chosen as materialized (
      select rooftop_id, rooftop_uid from core.rooftop where rooftop_uid = any(${[...uids]}::text[])
    ), listed as (
      select rooftop_id, range_agg(tstzrange(window_from, window_until)) as ranges,
        range_agg(tstzrange(window_from, window_until)) filter (where proof = 'unprovable') as unprovable
      from ops.window_certificate
      where stream = ${stream} and rooftop_id in (select rooftop_id from chosen)
        and window_until > ${from}::timestamptz and window_from < ${until}::timestamptz
      group by 1
    ), held as (
      select rooftop_id, range_agg(tstzrange(window_from, window_until)) as ranges
      from ops.quarantine
      where stream = ${stream} and resolved_at is null and window_from is not null and rooftop_id in (select rooftop_id from chosen)
      group by 1
    ), status as (
      select rooftop_uid, c.wanted * f.span as wanted, c.covered * f.span as covered,
        coalesce(l.ranges, '{}') * f.span as listed, coalesce(l.unprovable, '{}') * f.span as unprovable,
        coalesce(h.ranges, '{}') * f.span as held, coalesce(w.held, '{}') as at_work
      from ops.coverage as c
      join chosen using (rooftop_id)
      cross join frame as f
      left join listed as l using (rooftop_id)
      left join held as h using (rooftop_id)
      left join core.stream_at_work as w on w.rooftop_id = c.rooftop_id and w.stream = c.stream
      where c.stream = ${stream}
    )
    select rooftop_uid as uid, state, to_json(lower(part)) #>> '{}' as "from", to_json(upper(part)) #>> '{}' as until
    from status
    cross join lateral (
      select 'gap' as state, unnest(wanted - listed - at_work) as part
      union all select 'unprovable', unnest(unprovable)
      union all select 'quarantine', unnest(held)
      union all select 'provisional', unnest(wanted * listed - covered)
      union all select 'settled', unnest(covered * listed)
    ) as spans
    order by 1, lower(part)`.execute(db)
  return rows
}

/** Records of a stream in quarantine, by window. */
export async function readHeld(db: Db, stream: string, uids: readonly string[]): Promise<Held[]> {
  const { rows } = await sql<Held>`
    select rooftop_uid as uid, to_json(window_from) #>> '{}' as "from", to_json(window_until) #>> '{}' as until, count(*)::int as records
    from ops.quarantine
    join core.rooftop using (rooftop_id)
    where stream = ${stream} and resolved_at is null and rooftop_uid = any(${[...uids]}::text[])
    group by rooftop_uid, window_from, window_until`.execute(db)
  return rows
}

/** The span for a chart. */
export function chartSpan({ state, from, until }: Span): StateSpan {
  return { state, from: new Date(from), until: new Date(until) }
}

/** What is wrong with a rooftop in words: `1 gap of 3 days, 40 in quarantine`; `complete` where nothing is. */
export function spanSummary(spans: readonly Span[], quarantined: number): string {
  if (spans.length === 0) return 'nothing was asked for'
  const of = (state: SpanState) => spans.filter((span) => span.state === state)
  const long = (own: readonly Span[]) => durationText(secondsOf(own))
  const [gaps, unprovable] = [of('gap'), of('unprovable')]
  const parts = [
    gaps.length > 0 && `${plural(gaps.length, 'gap')} of ${long(gaps)}`,
    unprovable.length > 0 && `${long(unprovable)} cannot be proved complete`,
    quarantined > 0 && `${quarantined.toLocaleString('en')} in quarantine`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? 'complete' : parts.join(', ')
}

function secondsOf(spans: readonly Span[]): number {
  const ms = spans.reduce((sum, { from, until }) => sum + Date.parse(until) - Date.parse(from), 0)
  return ms / 1000
}

/** What a person may have to do something about, the worst first. */
export function unsettled(spans: readonly Span[]): Span[] {
  return [...spanStates]
    .reverse()
    .filter((state) => state !== 'settled' && state !== 'provisional')
    .flatMap((state) => spans.filter((span) => span.state === state))
}

/** Records in quarantine whose window lies in the span. */
export function heldIn({ uid, from, until }: Omit<Span, 'state'>, held: readonly Held[]): number {
  const [start, end] = [Date.parse(from), Date.parse(until)]
  return held
    .filter(
      (one) =>
        one.uid === uid &&
        one.from !== null &&
        Date.parse(one.from) < end &&
        Date.parse(one.until!) > start,
    )
    .reduce((sum, { records }) => sum + records, 0)
}

import { sql } from 'kysely'
import type { Html } from '../../../values/html.ts'
import { addDays, localDay, startOfDay } from '../../../values/instant.ts'
import { plural } from '../../../values/text.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { dayName } from '../charts/scale.ts'
import { type Square, strip } from '../charts/strip.ts'

/** How a stream of a rooftop ended on a local day: its last run of the day, so that what a later run fixed does not count. */
export interface DayEnd {
  readonly uid: string
  readonly stream: string
  readonly day: string
  readonly status: string
}

/** The last days of a zone. */
interface NightSpan {
  readonly zone: string
  readonly now: Date
  readonly count: number
}

/** The days of the span, the oldest first. */
function listNights({ zone, now, count }: NightSpan): string[] {
  const today = localDay(now, zone)
  return Array.from({ length: count }, (_, at) => addDays(today, at + 1 - count))
}

/** How the streams of some rooftops ended on each day of the span. */
export async function readDayEnds(
  db: Db,
  uids: readonly string[],
  span: NightSpan,
): Promise<DayEnd[]> {
  const { rows } = await sql<DayEnd>`
    select rooftop_uid as uid, stream, to_char(day, 'YYYY-MM-DD') as day, status
    from (${dayEnds(uids, span)}) as ended join core.rooftop using (rooftop_id)`.execute(db)
  return rows
}

/** The nights of some rooftops together: many rooftops have many ends, which only Postgres reads. */
export async function readStreamNights(
  db: Db,
  uids: readonly string[],
  span: NightSpan,
): Promise<Night[]> {
  const { rows } = await sql<Night>`
    select to_char(day, 'YYYY-MM-DD') as day, jsonb_object_agg(status, streams) as streams
    from (select day, status, count(*) as streams from (${dayEnds(uids, span)}) as ended group by day, status) as counted
    group by day`.execute(db)
  const nights = new Map(rows.map((night) => [night.day, night]))
  return listNights(span).map((day) => nights.get(day) ?? { day, streams: {} })
}

/** How each stream ended last on each day, by rooftop_id, stream, day and status. */
function dayEnds(uids: readonly string[], span: NightSpan) {
  const since = startOfDay(listNights(span)[0]!, span.zone)
  return sql`
    select distinct on (day, rooftop_id, stream) rooftop_id, stream, day, part.status
    from ops.run
    join ops.run_stream as part using (run_id)
    cross join lateral (
      select (coalesce(part.finished_at, now()) at time zone ${span.zone}::text)::date as day) as local
    where coalesce(run.finished_at, 'infinity'::timestamptz) >= ${since}::timestamptz and lane <> 'event'
      and arguments ->> 'mode' in ('sync', 'backfill', 'reprice')
      and (part.finished_at >= ${since}::timestamptz or part.finished_at is null and run.status = 'running')
      and rooftop_id = any(array(select rooftop_id from core.rooftop where rooftop_uid = any(${[...uids]}::text[])))
    order by day, rooftop_id, stream, run_id desc`
}

/** How many streams ended how in a night. */
interface Night {
  readonly day: string
  readonly streams: Readonly<Record<string, number>>
}

/** Counts the ends of each night. */
export function countNights(ends: readonly DayEnd[], span: NightSpan): Night[] {
  const byDay = Map.groupBy(ends, ({ day }) => day)
  return listNights(span).map((day) => {
    const byStatus = Map.groupBy(byDay.get(day) ?? [], ({ status }) => status)
    const streams = [...byStatus].map(([status, runs]) => [status, runs.length])
    return { day, streams: Object.fromEntries(streams) }
  })
}

/** The nights that are over: today is once all of its runs have ended. */
export function endedNights(nights: readonly Night[]): readonly Night[] {
  const today = Object.keys(nights.at(-1)?.streams ?? {})
  const isOver = today.length > 0 && !today.includes('waiting') && !today.includes('running')
  return isOver ? nights : nights.slice(0, -1)
}

/** The worst first. */
const statuses = ['failed', 'parked', 'partial', 'waiting', 'running', 'ok'] as const

const tones: Readonly<Record<(typeof statuses)[number], Square['tone']>> = {
  ...{ failed: 'bad', parked: 'warn', partial: 'warn', waiting: 'quiet', running: 'quiet' },
  ok: 'ok',
}

/** The nights as squares, each with its worst status; the words count those that are over. `labelEvery` 5: only each fifth has its day below it. */
export function nightStrip(nights: readonly Night[], labelEvery = 1): Html {
  const worst = nights.map(worstStatus)
  const ended = endedNights(nights).map(worstStatus)
  const sums = [...statuses, null].map((status) => {
    const count = ended.filter((one) => one === status).length
    return count === 0 ? '' : `${plural(count, 'night')} ${status ?? 'without a run'}`
  })
  return strip({
    summary: sums.filter((text) => text !== '').join(', '),
    squares: nights.map((night, at) => ({
      label: (nights.length - 1 - at) % labelEvery === 0 ? String(Number(night.day.slice(8))) : '',
      title: `${dayName(night.day)}: ${nightTitle(night)}`,
      tone: worst[at] === null ? 'none' : tones[worst[at]!],
    })),
  })
}

function worstStatus({ streams }: Night): (typeof statuses)[number] | null {
  return statuses.find((status) => (streams[status] ?? 0) > 0) ?? null
}

function nightTitle({ streams }: Night): string {
  const parts = statuses.filter((status) => (streams[status] ?? 0) > 0)
  if (parts.length === 0) return 'no run'
  const all = Object.values(streams).reduce((sum, one) => sum + one, 0)
  if (all === 1) return parts[0]!
  return parts.map((status) => `${plural(streams[status]!, 'stream')} ${status}`).join(', ')
}

import { type RawBuilder, sql } from 'kysely'
import type { Config } from '../config.ts'
import type { Db } from '../db/transaction.ts'
import { fromUnixSeconds, toUnixSeconds } from '../values/unix-seconds.ts'
import { cutIntoWindows, dayNumber, daySeconds, type Window } from '../values/window.ts'
import type { Run } from './run-ledger.ts'

/** Why a window is listed: never settled; listed again for late completions; its turn in the rotation of older windows. */
export type DueReason = 'gap' | 'recheck' | 'deep'

export interface DueWindow extends Window {
  readonly reason: DueReason
}

export interface DueScope {
  readonly rooftopId: number
  readonly stream: string
  readonly run: Run
}

/**
 * The windows that this run has still to list, newest first, at most `limit` of each kind.
 * Level-triggered: it reads what is covered and what this run has listed; nothing is remembered in a process.
 * wanted − covered is one rule for incremental runs, backfill, resume and gap repair. What is covered counts only with a settled
 * certificate, so that a lost one is listed again.
 */
export async function dueWindows(
  db: Db,
  scope: DueScope,
  sync: Config['sync'],
  limit: number,
): Promise<DueWindow[]> {
  const gaps = await gapWindows(db, scope, sync.windowHours * 3600, limit)
  if (scope.run.mode !== 'sync') return gaps
  const again = await listedAgain(db, scope, sync, limit)
  return [...gaps, ...again].sort((a, b) => b.from - a.from)
}

async function gapWindows(
  db: Db,
  scope: DueScope,
  seconds: number,
  limit: number,
): Promise<DueWindow[]> {
  const { run, rooftopId, stream } = scope
  const until = run.until ?? run.sourceStart
  if (until <= run.from) return []
  const end = fromUnixSeconds(until)
  // A sync also repairs what a backfill listed once: windows that verify took out of coverage or that lost their certificate.
  const { rows } = await sql<{ from: Date; until: Date }>`
    with certified as (
      select coalesce(range_agg(span), '{}') as listed, coalesce(range_agg(span) filter (where settled), '{}') as settled,
        coalesce(range_agg(span) filter (where run_id = ${run.runId}), '{}') as by_this_run
      from ops.window_certificate, tstzrange(window_from, window_until) as span
      where rooftop_id = ${rooftopId} and stream = ${stream}
    ), coverage as (
      select coalesce((select covered from ops.coverage where rooftop_id = ${rooftopId} and stream = ${stream}), '{}') as covered
    )
    select lower(gap) as "from", upper(gap) as "until"
    from certified, coverage, unnest(
      tstzmultirange(tstzrange(${fromUnixSeconds(run.from)}, ${end}))
      + case when ${run.mode === 'sync'} then (covered + listed) * tstzmultirange(tstzrange(null, ${end})) else '{}' end
      - covered * settled - by_this_run
    ) as gap
    order by case when ${run.oldestFirst ?? false} then lower(gap) end, lower(gap) desc
    limit ${limit}`.execute(db)
  const ranges = rows.map((row) => ({
    from: toUnixSeconds(row.from),
    until: toUnixSeconds(row.until),
  }))
  const openUntil = run.until === null ? run.sourceStart : null
  const windows = run.oldestFirst
    ? ranges.flatMap((range) => cutIntoWindows([range], seconds, openUntil).reverse())
    : cutIntoWindows(ranges, seconds, openUntil, limit)
  return windows.slice(0, limit).map((window) => ({ ...window, reason: 'gap' }))
}

async function listedAgain(
  db: Db,
  scope: DueScope,
  sync: Config['sync'],
  limit: number,
): Promise<DueWindow[]> {
  const { rows } = await sql<{ from: Date; until: Date; recent: boolean }>`
    select window_from as "from", window_until as "until", ${isRecent(scope, sync)} as recent
    from ops.window_certificate as certificate
    where ${isListedAgain(scope, sync)}
    order by window_from desc
    limit ${limit}`.execute(db)
  const seconds = sync.windowHours * 3600
  return rows.flatMap((row) => {
    const range = { from: toUnixSeconds(row.from), until: toUnixSeconds(row.until) }
    const reason: DueReason = row.recent ? 'recheck' : 'deep'
    // A window keeps its bounds from night to night, unless it has become larger than may be asked for at once.
    const windows =
      range.until - range.from <= seconds
        ? [{ ...range, open: false }]
        : cutIntoWindows([range], seconds, null)
    return windows.map((window) => ({ ...window, reason }))
  })
}

function isRecent({ run }: DueScope, sync: Config['sync']): RawBuilder<boolean> {
  return sql<boolean>`window_until > ${fromUnixSeconds(recheckSince(run.sourceStart, sync))}`
}

/** A window that ends after this instant (Unix seconds) is listed again by every run that begins at `sourceStart`. */
export function recheckSince(sourceStart: number, { recheckDays }: Config['sync']): number {
  return Math.floor(sourceStart - recheckDays * daySeconds)
}

/** Settled, not yet listed by this run, and recent, or with a record aside that is to be tried again, or with its turn come
 *  since it was listed last. */
function isListedAgain(scope: DueScope, sync: Config['sync']): RawBuilder<boolean> {
  const today = dayNumber(scope.run.sourceStart)
  const nights = sync.deepRelistNights
  return sql<boolean>`
    rooftop_id = ${scope.rooftopId} and stream = ${scope.stream} and settled and run_id <> ${scope.run.runId}
    and window_until <= ${fromUnixSeconds(scope.run.sourceStart)}
    and (${isRecent(scope, sync)} or quarantined > 0 or listed_at < to_timestamp(
      (${today}::bigint - mod(${today}::bigint - floor(extract(epoch from window_from) / ${daySeconds})::bigint, ${nights}::bigint)) * ${daySeconds}
    ))
    and exists (
      select from ops.coverage where rooftop_id = ${scope.rooftopId} and stream = ${scope.stream}
      and covered @> tstzrange(certificate.window_from, certificate.window_until)
    )`
}

export interface DueCounts {
  readonly gap: number
  readonly recheck: number
  readonly deep: number
}

/** How many windows of each kind are due: for the dry run and the progress bar. */
export async function countDue(db: Db, scope: DueScope, sync: Config['sync']): Promise<DueCounts> {
  const gap = (await gapWindows(db, scope, sync.windowHours * 3600, 1_000_000)).length
  if (scope.run.mode !== 'sync') return { gap, recheck: 0, deep: 0 }
  const { rows } = await sql<{ recheck: number; deep: number }>`
    select count(*) filter (where ${isRecent(scope, sync)})::int as recheck,
      count(*) filter (where not ${isRecent(scope, sync)})::int as deep
    from ops.window_certificate as certificate
    where ${isListedAgain(scope, sync)}`.execute(db)
  return { gap, ...rows[0]! }
}

import { type RawBuilder, sql } from 'kysely'
import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import { fromUnixSeconds, toUnixSeconds } from '../values/unix-seconds.ts'
import { cutIntoWindows, dayNumber, daySeconds, type Window } from '../values/window.ts'
import type { Run } from './run-ledger.ts'

/** Why a window is listed. gap: not settled yet; recheck: recent, for late completions; deep: rotation through older windows. */
export type DueReason = 'gap' | 'recheck' | 'deep'

/** A window to list, with the reason. */
export interface DueWindow extends Window {
  readonly reason: DueReason
}

/** The stream of a rooftop, and the run that lists it. */
export interface DueScope {
  readonly rooftopId: number
  readonly stream: string
  readonly run: Run
}

/**
 * The windows that this run must still list, newest first, at most `limit` of each kind.
 * Level-triggered: it reads the coverage and what this run has listed; no process holds state.
 * wanted − covered is the one rule for incremental runs, backfill, resume and gap repair. Coverage counts only with a settled
 * certificate, so a window that lost its certificate is listed again.
 */
export async function dueWindows(
  db: Db,
  scope: DueScope,
  sync: Config['sync'],
  limit: number,
): Promise<DueWindow[]> {
  const gaps = await gapWindows(db, scope, sync.windowHours * 3600, limit)
  if (scope.run.mode !== 'sync') return gaps
  const relisted = await relistWindows(db, scope, sync, limit)
  return [...gaps, ...relisted].sort((a, b) => b.from - a.from)
}

/** Windows of `[from, until)` of the run that no settled certificate covers. */
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
  // A sync also repairs windows that a backfill listed once: those that verify uncovered, or that lost their certificate.
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

/** Settled windows that are listed again, because they are recent or due by the rotation. */
async function relistWindows(
  db: Db,
  scope: DueScope,
  sync: Config['sync'],
  limit: number,
): Promise<DueWindow[]> {
  const { rows } = await sql<{ from: Date; until: Date; recent: boolean }>`
    select window_from as "from", window_until as "until", ${isRecent(scope, sync)} as recent
    from ops.window_certificate as certificate
    where ${isRelistDue(scope, sync)}
    order by window_from desc
    limit ${limit}`.execute(db)
  const seconds = sync.windowHours * 3600
  return rows.flatMap((row) => {
    const range = { from: toUnixSeconds(row.from), until: toUnixSeconds(row.until) }
    const reason: DueReason = row.recent ? 'recheck' : 'deep'
    // A window has the same bounds every night, unless it is larger than the config now allows.
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

/** Whether a window is listed again: it is settled, not yet listed by this run, and either recent, or with a quarantined record to
 *  retry, or due by the rotation since its last listing. */
function isRelistDue(scope: DueScope, sync: Config['sync']): RawBuilder<boolean> {
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

/** Numbers of due windows, by reason. */
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
    where ${isRelistDue(scope, sync)}`.execute(db)
  return { gap, ...rows[0]! }
}

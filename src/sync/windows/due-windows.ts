import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { fromUnixSeconds, toUnixSeconds } from '../../values/unix-seconds.ts'
import { cutIntoWindows, daySeconds, type Window } from '../../values/window.ts'
import { type Db, prepared } from '../../warehouse/db/transaction.ts'
import type { Run } from '../run/run-ledger.ts'

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

/** The same for several rooftops. */
interface DueScopes extends Omit<DueScope, 'rooftopId'> {
  readonly rooftopIds: readonly number[]
}

/** The windows of one rooftop, as `dueWindowsOf` returns them. */
export async function dueWindows(
  db: Db,
  { rooftopId, ...scope }: DueScope,
  sync: Config['sync'],
  limit: number,
): Promise<DueWindow[]> {
  const due = await findDueWindows(db, { ...scope, rooftopIds: [rooftopId] }, sync, limit)
  return due.get(rooftopId) ?? []
}

/**
 * The windows that this run must still list, by rooftop: newest first, at most `limit` of each kind. A rooftop without any is left
 * out. Level-triggered: it reads the coverage and what this run has listed; no process holds state.
 * wanted − covered is the one rule for incremental runs, backfill, resume and gap repair. It reads no certificates of what is covered:
 * a window that lost its settled certificate is listed again once `verify` has found that.
 */
export async function findDueWindows(
  db: Db,
  scopes: DueScopes,
  sync: Config['sync'],
  limit: number,
): Promise<Map<number, DueWindow[]>> {
  const due = await gapWindows(db, scopes, sync.windowHours * 3600, limit)
  if (scopes.run.mode !== 'sync') return due
  const relisted = await relistWindows(db, scopes, sync, limit)
  for (const [rooftopId, windows] of relisted)
    due.set(
      rooftopId,
      [...(due.get(rooftopId) ?? []), ...windows].sort((a, b) => b.from - a.from),
    )
  return due
}

/** A span of a rooftop. */
interface SpanRow {
  readonly rooftopId: number
  readonly from: Date
  readonly until: Date
}

function unixRange({ from, until }: SpanRow) {
  return { from: toUnixSeconds(from), until: toUnixSeconds(until) }
}

/** Windows of `[from, until)` of the run that are not covered; with `relists`, all that it has not listed yet. */
async function gapWindows(
  db: Db,
  { run, rooftopIds, stream }: DueScopes,
  seconds: number,
  limit: number,
): Promise<Map<number, DueWindow[]>> {
  const until = run.until ?? run.sourceStart
  if (until <= run.from) return new Map()
  const end = fromUnixSeconds(until)
  // A sync also repairs windows that a backfill listed once: those that verify uncovered, or that lost their certificate.
  const { rows } = await prepared(sql<SpanRow>`
    select rooftop_id as "rooftopId", lower(gap) as "from", upper(gap) as "until"
    from unnest(${[...rooftopIds]}::int[]) as rooftop (rooftop_id)
    cross join lateral (
      select coalesce((array_agg(covered))[1], '{}') as covered, case when ${run.relists ?? false} then '{}' else coalesce((array_agg(covered - uncertified))[1], '{}') end as done
      from ops.coverage where coverage.rooftop_id = rooftop.rooftop_id and stream = ${stream}
    ) as coverage
    cross join lateral (
      select coalesce(range_agg(span), '{}') as listed, coalesce(range_agg(span) filter (where run_id = ${run.runId}), '{}') as by_this_run
      from unnest(tstzmultirange(tstzrange(null, ${end})) - done) as hole
      cross join lateral ops.certificates_over(rooftop.rooftop_id, ${stream}, coalesce(lower(hole), '-infinity'), upper(hole)),
      tstzrange(window_from, window_until) as span
    ) as certified
    cross join lateral (
      select gap from unnest(
        tstzmultirange(tstzrange(${fromUnixSeconds(run.from)}, ${end}))
        + case when ${run.mode === 'sync'} then (covered + listed) * tstzmultirange(tstzrange(null, ${end})) else '{}' end
        - done - by_this_run
      ) as gap
      order by case when ${run.oldestFirst ?? false} then lower(gap) end, lower(gap) desc
      limit ${limit}
    ) as gaps`).execute(db)
  const openUntil = run.until === null ? run.sourceStart : null
  const byRooftop = [...Map.groupBy(rows, ({ rooftopId }) => rooftopId)]
  return new Map(
    byRooftop.map(([rooftopId, gaps]) => {
      const ranges = gaps.map(unixRange)
      const windows = run.oldestFirst
        ? ranges.flatMap((range) => cutIntoWindows([range], seconds, openUntil).reverse())
        : cutIntoWindows(ranges, seconds, openUntil, limit)
      return [rooftopId, windows.slice(0, limit).map((window) => ({ ...window, reason: 'gap' }))]
    }),
  )
}

/** Settled windows that are listed again, because they are recent or due by the rotation. */
async function relistWindows(
  db: Db,
  scopes: DueScopes,
  sync: Config['sync'],
  limit: number,
): Promise<Map<number, DueWindow[]>> {
  const { run, stream } = scopes
  const { rows } = await prepared(sql<SpanRow & { recent: boolean }>`
    select rooftop.rooftop_id as "rooftopId", due.*
    from unnest(${[...scopes.rooftopIds]}::int[]) as rooftop (rooftop_id)
    cross join lateral (
      select window_from as "from", window_until as "until", recent
      from ops.windows_to_relist(rooftop_id, ${stream}, ${run.runId}, ${fromUnixSeconds(run.sourceStart)},
        ${fromUnixSeconds(recheckSince(run.sourceStart, sync))}, ${sync.deepRelistNights})
      order by window_from desc limit ${limit}
    ) as due`).execute(db)
  const seconds = sync.windowHours * 3600
  const due = rows.flatMap((row) => {
    const range = unixRange(row)
    const reason: DueReason = row.recent ? 'recheck' : 'deep'
    // A window has the same bounds every night, unless it is larger than the config now allows.
    const windows =
      range.until - range.from <= seconds
        ? [{ ...range, open: false }]
        : cutIntoWindows([range], seconds, null)
    return windows.map((window) => ({ rooftopId: row.rooftopId, due: { ...window, reason } }))
  })
  const byRooftop = Map.groupBy(due, ({ rooftopId }) => rooftopId)
  return new Map(
    [...byRooftop].map(([rooftopId, windows]) => [rooftopId, windows.map((window) => window.due)]),
  )
}

/** A window that ends after this instant (Unix seconds) is listed again by every run that begins at `sourceStart`. */
export function recheckSince(sourceStart: number, { recheckDays }: Config['sync']): number {
  return Math.floor(sourceStart - recheckDays * daySeconds)
}

/** How many windows are due, by rooftop: for the progress bar. */
export async function countDue(
  db: Db,
  scopes: DueScopes,
  sync: Config['sync'],
): Promise<Map<number, number>> {
  const { run, stream } = scopes
  const gaps = await gapWindows(db, scopes, sync.windowHours * 3600, 1_000_000)
  const { rows } = await sql<{ rooftopId: number; count: number }>`
    select rooftop_id as "rooftopId", count(*)::int as count
    from unnest(${run.mode === 'sync' ? [...scopes.rooftopIds] : []}::int[]) as rooftop (rooftop_id)
    cross join lateral ops.windows_to_relist(rooftop_id, ${stream}, ${run.runId}, ${fromUnixSeconds(run.sourceStart)},
      ${fromUnixSeconds(recheckSince(run.sourceStart, sync))}, ${sync.deepRelistNights}) group by 1`.execute(
    db,
  )
  const relisted = new Map(rows.map(({ rooftopId, count }) => [rooftopId, count]))
  return new Map(
    scopes.rooftopIds.map((id) => [id, (gaps.get(id)?.length ?? 0) + (relisted.get(id) ?? 0)]),
  )
}

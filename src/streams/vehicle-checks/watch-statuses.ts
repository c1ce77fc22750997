import { type Kysely, type Selectable, sql } from 'kysely'
import type { RecordWarning } from '../../values/record.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { type CheckAnswer, checkKey, isList, keyedChecks, type Watch } from './check-answers.ts'
import type { CheckRow, StoredChecks } from './merge.ts'

export type StatusChange = Selectable<Tables['core.watch_status_change']>

/** The status of a known check, from an answer. */
interface ReportedStatus {
  readonly answer: CheckAnswer
  /** The check's, see `checkKey`. */
  readonly key: string
  readonly status: string
}

/** What an answer says about the watches of known checks. */
interface Report {
  readonly statuses: readonly ReportedStatus[]
  /** It names a search that is not known here, or does not say which one it means: the past searches have to be listed again. */
  readonly needsListing: boolean
  readonly warnings: readonly RecordWarning[]
}

/** Pure. `checks`: after the lists were merged into them. */
export function reportStatuses(
  answers: readonly CheckAnswer[],
  { checks, terminal }: Omit<StoredChecks, 'links'>,
): Map<CheckAnswer, Report> {
  const byVin = Map.groupBy(checks.values(), ({ vin }) => vin)
  const read = (answer: CheckAnswer): Report => {
    if (isList(answer)) {
      const statuses = keyedChecks(answer).flatMap(({ key, check: { watchStatus: status } }) =>
        status !== null && checks.get(key)?.vin === answer.vin ? [{ answer, key, status }] : [],
      )
      return { statuses, needsListing: false, warnings: [] }
    }
    const isListed = (row: CheckRow) => row.check_kind === 'ppsr' && row.gone_at === null
    const known = (byVin.get(answer.vin) ?? []).filter(isListed)
    const { statuses, needsListing } = matchSearches(answer.watch, known, terminal)
    return {
      statuses: statuses.map(({ row, status }) => ({
        ...{ answer, key: checkKey('ppsr', row.check_ref), status },
      })),
      needsListing,
      warnings: idWarnings(answer.watch, known),
    }
  }
  return new Map(answers.map((answer) => [answer, read(answer)]))
}

/** Matches the items of a watch with the known searches. When none matches, the top-level status is that of the only search there
 *  is; with several, only the list of past searches says which one it is. */
function matchSearches(
  { byRef, items, status }: Watch,
  known: readonly CheckRow[],
  terminal: ReadonlySet<string>,
) {
  const refs = new Set(known.map(({ check_ref }) => check_ref))
  const isNew = [...byRef.keys()].some((ref) => !refs.has(ref))
  const statuses = known.flatMap((row) => {
    const found = byRef.get(row.check_ref)
    return found === undefined ? [] : [{ row, status: found }]
  })
  if (statuses.length > 0) return { statuses, needsListing: isNew }
  const [only, ...others] = known
  if (only !== undefined && others.length === 0 && items <= 1)
    return { statuses: [{ row: only, status }], needsListing: false }
  const isOpen = known.some(({ watch_status }) => !terminal.has(watch_status ?? ''))
  return { statuses, needsListing: isNew || isOpen }
}

/** Ids that no listing has make every watch request a listing, which doubles the calls. */
function idWarnings({ byRef }: Watch, known: readonly CheckRow[]): readonly RecordWarning[] {
  if (byRef.size === 0 || known.some(({ check_ref }) => byRef.has(check_ref))) return []
  const detail =
    'no id of /ppsrwatch is that of a listed search: see wire.appraisal.watch.checkId and wire.appraisal.pastCheck.id'
  return [{ check: 'watch-ids-differ', detail }]
}

/** A reported status, the row of its check before it, and the change that it makes; null: it makes none. */
interface MergedStatus extends ReportedStatus {
  readonly before: CheckRow
  readonly change: StatusChange | null
}

/** Merges reported statuses into the rows, one after the other. A terminal status never changes [A §3], and an older answer changes
 *  nothing. Pure. */
export function mergeStatuses(
  { checks, terminal }: Omit<StoredChecks, 'links'>,
  reported: readonly ReportedStatus[],
) {
  const merged = new Map(checks)
  const statuses = reported.map((one): MergedStatus => {
    const { status, key } = one
    const { at, latest = at } = one.answer
    const before = merged.get(key)!
    const { watch_status: from_status, watch_status_since: since } = before
    const isOlder = since !== null && latest < since
    if (from_status === status || terminal.has(from_status ?? '') || isOlder)
      return { ...one, before, change: null }
    // Always later than the status before it, also when the source's clock shows the same second.
    const observed_at = new Date(Math.max(at.getTime(), Number(since ?? -Infinity) + 1))
    const { rooftop_id, eval_id, check_kind, check_ref } = before
    merged.set(key, { ...before, watch_status: status, watch_status_since: observed_at })
    const change = { rooftop_id, eval_id, check_kind, check_ref, observed_at, from_status }
    return { ...one, before, change: { ...change, to_status: status } }
  })
  return { checks: merged, statuses }
}

/** Warnings about a status that the document does not name, or that the check can no longer have. They stop nothing. */
export function statusWarnings(
  { before: { check_ref, watch_status }, status }: MergedStatus,
  unknown: ReadonlySet<string>,
  terminal: ReadonlySet<string>,
): RecordWarning[] {
  const warnings: RecordWarning[] = []
  if (unknown.has(status))
    warnings.push({
      check: 'watch-status-unknown',
      detail: `check ${check_ref} has the status "${status}", which the document does not name: stored as it is`,
    })
  if (terminal.has(watch_status ?? '') && watch_status !== status)
    warnings.push({
      check: 'watch-status-terminal',
      detail: `check ${check_ref} was "${watch_status}", which never changes, and is now "${status}": the first one stays`,
    })
  return warnings
}

/** Adds the statuses that the document does not name, so that they can be stored; returns them. */
export async function addUnknownStatuses(
  db: Kysely<Tables>,
  reported: readonly Pick<ReportedStatus, 'status'>[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(reported.map(({ status }) => status))].sort()
  if (names.length === 0) return new Set()
  const stored = await db
    .selectFrom('core.ref_watch_status')
    .select(['watch_status', 'is_known'])
    .where('watch_status', 'in', names)
    .execute()
  if (stored.length < names.length)
    await sql`
      insert into core.ref_watch_status (watch_status, noteworthiness, is_terminal, is_known)
      select status, 0, false, false from unnest(${names}::text[]) as status
      on conflict do nothing`.execute(db)
  const known = new Set(stored.filter(({ is_known }) => is_known).map((row) => row.watch_status))
  return new Set(names.filter((status) => !known.has(status)))
}

import type { Kysely } from 'kysely'
import { watchAnswer } from '../../api/contract/appraisal/shapes.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { RecordIssues, type RecordWarning } from '../../values/record.ts'
import { storable } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import { type KnownCheck, knownChecks } from './known-checks.ts'
import {
  addUnknownStatuses,
  changesStatus,
  type StatusSeen,
  statusWarnings,
  updateStatuses,
} from './watch-statuses.ts'

/** What `/ppsrwatch` says about a vehicle [A §4]. */
export interface Watch {
  /** The most noteworthy across its checks. */
  readonly status: string
  /** Status by `check_ref`, of the items that name both. */
  readonly byRef: ReadonlyMap<string, string>
  /** Items in all. */
  readonly items: number
}

/** An answer of `/ppsrwatch` about a vehicle of the dealer group. */
interface WatchAnswer {
  readonly groupId: number
  readonly vin: string
  readonly watch: Watch
  readonly at: Date
}

/** What a watch answer changed in the warehouse. */
export interface WatchLoaded {
  readonly statusChanged: boolean
  readonly warnings: readonly RecordWarning[]
  /** It names a search that is not known here, or does not say which one it means: the past searches have to be listed again. */
  readonly needsListing: boolean
}

/** Pure. RecordIssues when the answer is of another shape. */
export function readWatch(body: unknown, { watch: names }: Pick<AppraisalWire, 'watch'>): Watch {
  const parsed = watchAnswer.safeParse(body)
  if (!parsed.success)
    throw new RecordIssues(
      parsed.error.issues.map(({ path, message }) => ({ path: path.join('.') || '$', message })),
    )
  const given = valueAt(body, names.checks)
  const items: readonly unknown[] = Array.isArray(given) ? given : []
  const byRef = new Map(
    items.flatMap((item): [string, string][] => {
      const ref = textAt(item, names.checkId, 80)
      const status = textAt(item, names.checkStatus, 40)
      return ref === null || status === null ? [] : [[ref, status]]
    }),
  )
  const status = storable(parsed.data.WatchStatus).slice(0, 40)
  return { status, byRef, items: items.length }
}

function textAt(item: unknown, path: JsonPath, length: number): string | null {
  const value = valueAt(item, path)
  if (typeof value !== 'string' && typeof value !== 'number') return null
  return storable(String(value)).trim().slice(0, length) || null
}

/** The part of an answer that decides whether it is stored again: without the times of the daily checks. */
export function watchContent(
  body: unknown,
  { watch: names }: Pick<AppraisalWire, 'watch'>,
): unknown {
  const { byRef, status } = readWatch(body, { watch: names })
  return [status, [...byRef].sort(([a], [b]) => (a < b ? -1 : 1))]
}

/** Updates the statuses of the PPSR searches that the answers are about, inside the caller's transaction. */
export async function loadWatches(
  db: Kysely<Tables>,
  answers: readonly WatchAnswer[],
): Promise<WatchLoaded[]> {
  const loaded = new Map<WatchAnswer, WatchLoaded>()
  for (const [groupId, groupAnswers] of Map.groupBy(answers, (one) => one.groupId)) {
    const vins = groupAnswers.map(({ vin }) => vin)
    const known = (await knownChecks(db, groupId, vins)).filter(
      ({ kind, goneAt }) => kind === 'ppsr' && goneAt === null,
    )
    const matches = groupAnswers.map((one) => ({
      one,
      ...matchSearches(
        one,
        known.filter(({ vin }) => vin === one.vin),
      ),
    }))
    const seen = matches.flatMap((match) => match.seen)
    const unknown = await addUnknownStatuses(
      db,
      seen.map(({ status }) => status),
    )
    const changed = new Set(seen.filter(changesStatus))
    await updateStatuses(db, [...changed])
    for (const { one, seen: mine, needsListing } of matches)
      loaded.set(one, {
        statusChanged: mine.some((each) => changed.has(each)),
        warnings: [
          ...mine.flatMap((each) => statusWarnings(each, unknown)),
          ...idWarnings(one.watch, mine),
        ],
        needsListing,
      })
  }
  return answers.map((one) => loaded.get(one)!)
}

/** Matches the answer's items with the known searches. When none matches, the top-level status is that of the only search there
 *  is; with several, only the list of past searches says which one it is. */
export function matchSearches(
  { watch, at }: Pick<WatchAnswer, 'watch' | 'at'>,
  known: readonly KnownCheck[],
): { readonly seen: StatusSeen[]; readonly needsListing: boolean } {
  const refs = new Set(known.map(({ ref }) => ref))
  const isNew = [...watch.byRef.keys()].some((ref) => !refs.has(ref))
  const seen = known.flatMap((check): StatusSeen[] => {
    const status = watch.byRef.get(check.ref)
    return status === undefined ? [] : [{ check, status, at }]
  })
  if (seen.length > 0) return { seen, needsListing: isNew }
  const [only, ...others] = known
  const isOne = only !== undefined && others.length === 0 && watch.items <= 1
  if (isOne) return { seen: [{ check: only, status: watch.status, at }], needsListing: false }
  const isOpen = known.some(({ isTerminal }) => !isTerminal)
  return { seen: [], needsListing: isNew || isOpen }
}

/** Ids that no listing has make every watch ask for a listing, which doubles the calls. */
function idWarnings({ byRef }: Watch, seen: readonly StatusSeen[]): readonly RecordWarning[] {
  if (byRef.size === 0 || seen.some(({ check }) => byRef.has(check.ref))) return []
  const detail =
    'no id of /ppsrwatch is that of a listed search: see wire.appraisal.watch.checkId and wire.appraisal.pastCheck.id'
  return [{ check: 'watch-ids-differ', detail }]
}

import type { Selectable } from 'kysely'
import type { Tables } from '../../warehouse/db/tables.ts'
import { checkKey, keyedChecks, type ListAnswer, type ListedCheck } from './check-answers.ts'

// What lists make of the stored rows. Pure; load, replay and verification go by it.

export type CheckRow = Selectable<Tables['core.vehicle_check']>
export type LinkRow = Selectable<Tables['pii.signed_link']>
type LinkKey = Omit<LinkRow, 'url' | 'signed_at' | 'expires_at' | 'is_in_scope'>

/** What is stored about the checks of some vehicles. */
export interface StoredChecks {
  /** By `checkKey`. */
  readonly checks: ReadonlyMap<string, CheckRow>
  /** By `linkKey`. */
  readonly links: ReadonlyMap<string, LinkRow>
  /** Statuses that never change again. */
  readonly terminal: ReadonlySet<string>
}

export function linkKey(link: LinkKey): string {
  return `${link.rooftop_id} ${link.eval_id} ${link.link_kind} ${link.link_ref}`
}

/** 14 days a search [A §8]. */
const watchPeriodMs = 14 * 86_400_000
/** How long a signed link lives [A §8]. */
const linkLifeMs = 7 * 86_400_000

const after = (at: Date, ms: number) => new Date(at.getTime() + ms)

/** The row of a check that is listed for the first time, before its list is merged into it. */
export function newCheck(
  { answer: { groupId, vin, kind, at, runId }, check: { ref } }: ListedCheck,
  owner: Pick<CheckRow, 'rooftop_id' | 'eval_id'>,
  counts: Partial<CheckRow> = {},
): CheckRow {
  return {
    ...owner,
    ...{ check_kind: kind, check_ref: ref, group_id: groupId, vin },
    ...{ searched_at: null, search_number: null, certificate_number: null },
    ...{ security_interest_count: null, written_off_count: null, stolen_count: null },
    ...{ watch_status: null, watch_status_since: null },
    watch_ends_at: kind === 'ppsr' ? after(at, watchPeriodMs) : null,
    ...{ first_seen_at: at, gone_at: null, run_id: runId },
    ...counts,
  }
}

/** What an answer leaves out stays, and a check that is listed later is not gone. */
export function mergeListed(known: CheckRow, { answer, check }: ListedCheck): CheckRow {
  const { searchedAt, searchNumber, certificateNumber } = check
  return {
    ...known,
    vin: answer.vin,
    searched_at: searchedAt ?? known.searched_at,
    search_number: searchNumber ?? known.search_number,
    certificate_number: certificateNumber ?? known.certificate_number,
    watch_ends_at:
      answer.kind === 'ppsr' && searchedAt ? after(searchedAt, watchPeriodMs) : known.watch_ends_at,
    // A list that is older than the one without it proves nothing.
    gone_at: known.gone_at !== null && known.gone_at > answer.at ? known.gone_at : null,
  }
}

/** The link that a list shows for a check; null: it shows none. A link that was signed later stays. */
function mergeLink(
  known: LinkRow | undefined,
  { answer: { at, latest = at }, check: { pdfUrl } }: ListedCheck,
  key: LinkKey,
): LinkRow | null {
  if (known !== undefined && known.signed_at > latest) return known
  return pdfUrl === null
    ? null
    : {
        ...{ ...key, url: pdfUrl, signed_at: at, expires_at: after(at, linkLifeMs) },
        // Triggers keep it: a listed check has nearly always an evaluation.
        is_in_scope: known?.is_in_scope ?? true,
      }
}

/** Which checks of the vehicle its list no longer shows. A check that was added after the list is not gone. */
function lostChecks(list: ListAnswer, ofVehicle: readonly CheckRow[]): CheckRow[] {
  const { kind, at, latest = at, isOfThisVehicle, itemsWithoutId = 0 } = list
  if (!isOfThisVehicle || itemsWithoutId > 0) return []
  const listed = new Set(keyedChecks(list).map(({ check }) => check.ref))
  return ofVehicle.filter(
    (row) =>
      row.check_kind === kind &&
      !listed.has(row.check_ref) &&
      row.gone_at === null &&
      row.first_seen_at < latest,
  )
}

/** The rows that lists make. */
interface MergedLists extends StoredChecks {
  /** By key of a check, the list that shows it or shows it no longer. */
  readonly lists: ReadonlyMap<string, ListAnswer>
}

/** Merges lists into the stored rows. `newChecks`: rows of checks that are listed for the first time. */
export function mergeLists(
  stored: StoredChecks,
  newChecks: ReadonlyMap<string, CheckRow>,
  listed: ReadonlyMap<string, ListedCheck>,
  answers: readonly ListAnswer[],
): MergedLists {
  const [checks, links] = [new Map(stored.checks), new Map(stored.links)]
  const lists = new Map<string, ListAnswer>()
  for (const [key, one] of listed) {
    const { answer, check } = one
    const known = stored.checks.get(key) ?? newChecks.get(key)
    if (known === undefined || (!answer.isOfThisVehicle && known.vin !== answer.vin)) continue
    checks.set(key, mergeListed(known, one))
    lists.set(key, answer)
    const { rooftop_id, eval_id } = known
    const link = { rooftop_id, eval_id, link_kind: `${answer.kind}_pdf`, link_ref: check.ref }
    const merged = mergeLink(stored.links.get(linkKey(link)), one, link)
    if (merged === null) links.delete(linkKey(link))
    else links.set(linkKey(link), merged)
  }
  const byVin = Map.groupBy(checks.values(), ({ vin }) => vin)
  for (const list of answers)
    for (const lost of lostChecks(list, byVin.get(list.vin) ?? [])) {
      const key = checkKey(lost.check_kind, lost.check_ref)
      checks.set(key, { ...lost, gone_at: list.at })
      lists.set(key, list)
    }
  return { ...stored, checks, links, lists }
}

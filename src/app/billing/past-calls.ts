import { runCarHistory, searchPpsr } from '../../api/contract/appraisal/checks.ts'
import {
  type CheckKind,
  type PastCheck,
  pastOperations,
} from '../../api/contract/appraisal/past-checks.ts'

/** Null: no operation lists its checks, so an unknown outcome stays unknown. */
export function listedKind(operation: string): CheckKind | null {
  if (operation === searchPpsr.name) return 'ppsr'
  return operation === runCarHistory.name ? 'car_history' : null
}

/** The operation that lists the checks of a billable operation; null: none does. */
export function listOperation(operation: string): string | null {
  const kind = listedKind(operation)
  return kind === null ? null : pastOperations[kind].name
}

/** How long a call may run at the source, in ms. */
export function maxRunMs(kind: CheckKind): number {
  const { timeoutSeconds } = kind === 'ppsr' ? searchPpsr : runCarHistory
  return timeoutSeconds! * 1000
}

/** How the wait for an answer ended. */
export interface EndedWait {
  /** From the reservation, in ms. */
  readonly waitedMs: number
  /** Our own time-out ended it. */
  readonly hasTimedOut: boolean
}

/** The longest possible wait, assumed for a process that has ended. `timeoutSeconds`: http.timeoutSeconds. */
export function longestWait(kind: CheckKind, timeoutSeconds: number): EndedWait {
  return { waitedMs: Math.max(timeoutSeconds * 1000, maxRunMs(kind)), hasTimedOut: true }
}

/** Delay until the source lists a new check. */
const listingMs = 30_000
/** Further time for a call that ran into our time-out: it takes longer than documented, and how long is unknown. */
const overtimeMs = 10 * 60_000

/** The time after the reservation, in ms, at which a call without a listed check had no effect. */
export function endedAfterMs(kind: CheckKind, { waitedMs, hasTimedOut }: EndedWait): number {
  return waitedMs + (hasTimedOut ? overtimeMs : maxRunMs(kind) + listingMs)
}

/** The past checks of an evaluation, with the fields that the ledger uses. */
export interface PastList {
  readonly checks: readonly { readonly ref: string; readonly searchedAt: Date | null }[]
  /** Source time of the answer; our time when the answer had no date. */
  readonly at: Date
  /** Whether the answer had a date. */
  readonly isDated: boolean
}

/** A call of unknown outcome, with the facts known before it was sent. */
export interface UnknownCall {
  /** Checks listed before the call; null: not read. */
  readonly knownRefs: readonly string[] | null
  /** The source's time of the reservation; null: not read. */
  readonly sourceAt: Date | null
  /** How long ago it was reserved, in ms. */
  readonly ageMs: number
}

/** Tolerance for checks, which may be dated by another clock than the answers of the source. */
const stampToleranceMs = 5 * 60_000

/** The check that the call must have made: the oldest new check that no other call made (`refsOfOthers`). Without a list from before
 *  the call, the first check since the reservation; a check without a time also counts then. Null: none. */
export function checkMadeBy(
  doubt: UnknownCall,
  past: PastList,
  refsOfOthers: ReadonlySet<string>,
): string | null {
  const since = reservedAt(doubt, past).getTime() - stampToleranceMs
  const fresh = past.checks.filter(({ ref, searchedAt }) => {
    if (refsOfOthers.has(ref)) return false
    if (doubt.knownRefs !== null) return !doubt.knownRefs.includes(ref)
    return searchedAt === null || searchedAt.getTime() >= since
  })
  const byAge = fresh.toSorted((a, b) => searchTime(a) - searchTime(b))
  return byAge[0]?.ref ?? null
}

/** What the answer of a paid call says about the check that it made. Null: nothing. */
export interface AnsweredCheck {
  readonly ref: string | null
  readonly certificateNumber: string | null
}

/** The listed check of an answered call: the one with the id or the certificate number of the answer. Where those do not identify it,
 *  the only check that is new since `before` and that no other call made (`refsOfOthers`). undefined: not listed yet, or someone
 *  else may have made it at the same time. */
export function checkInAnswer<Check extends PastCheck>(
  { ref, certificateNumber }: AnsweredCheck,
  listed: readonly Check[],
  before: PastList | null,
  refsOfOthers: ReadonlySet<string>,
): Check | undefined {
  const named = listed.find((check) => ref !== null && check.ref === ref)
  if (named !== undefined || before === null) return named
  const known = new Set([...before.checks.map((check) => check.ref), ...refsOfOthers])
  const fresh = listed.filter((check) => !known.has(check.ref))
  const certain = fresh.filter(
    (check) => certificateNumber !== null && check.certificateNumber === certificateNumber,
  )
  // The list may leave out the id, the number, or both; what it has must not differ.
  const possible = fresh.filter(
    (check) =>
      (ref === null || check.isOfVehicle) &&
      (certificateNumber === null || check.certificateNumber === null),
  )
  const [made, other] = certain.length > 0 ? certain : possible
  return other === undefined ? made : undefined
}

/** Whether the call may still run at the source without a listed check, until `endedMs` after its reservation. When the two clocks
 *  disagree, the shorter time counts; an answer without a date is ignored. */
export function mayStillRun(
  { sourceAt, ageMs }: UnknownCall,
  { at, isDated }: PastList,
  endedMs: number,
): boolean {
  const sourceMs = sourceAt === null || !isDated ? ageMs : at.getTime() - sourceAt.getTime()
  return Math.min(sourceMs, ageMs) < endedMs
}

/** The source's time of the reservation. */
export function reservedAt({ sourceAt, ageMs }: UnknownCall, { at }: PastList): Date {
  return sourceAt ?? new Date(at.getTime() - ageMs)
}

function searchTime({ searchedAt }: PastList['checks'][number]): number {
  return searchedAt?.getTime() ?? Number.POSITIVE_INFINITY
}

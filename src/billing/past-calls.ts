import {
  listPastCarHistory,
  listPastPpsr,
  runCarHistory,
  searchPpsr,
} from '../contract/appraisal/checks.ts'

/** What a billable operation makes, where the source lists what was made before. */
export type ListedKind = 'ppsr' | 'car_history'

/** Null: nothing lists what the operation made, so an outcome that is not known stays unknown. */
export function listedKindOf(operation: string): ListedKind | null {
  if (operation === searchPpsr.name) return 'ppsr'
  return operation === runCarHistory.name ? 'car_history' : null
}

/** The operation that lists what a billable one made; null: none does. */
export function listOperationOf(operation: string): string | null {
  const kind = listedKindOf(operation)
  if (kind === null) return null
  return kind === 'ppsr' ? listPastPpsr.name : listPastCarHistory.name
}

/** How long a call may be running at the source, in ms. */
export function maxRunMs(kind: ListedKind): number {
  const { timeoutSeconds } = kind === 'ppsr' ? searchPpsr : runCarHistory
  return timeoutSeconds! * 1000
}

/** How the wait for an answer has ended. */
export interface EndedWait {
  /** From the reservation, in ms. */
  readonly waitedMs: number
  /** Nothing ended it but our own patience. */
  readonly hasTimedOut: boolean
}

/** The wait of a process that is gone: nobody saw its end, so it counts as the longest. `patienceSeconds`: http.timeoutSeconds. */
export function longestWait(kind: ListedKind, patienceSeconds: number): EndedWait {
  return { waitedMs: Math.max(patienceSeconds * 1000, maxRunMs(kind)), hasTimedOut: true }
}

/** A source may be slow to list what it has made. */
const listingMs = 30_000
/** A source that outlasts our patience takes longer than it should, and nobody knows how long. */
const overtimeMs = 10 * 60_000

/** So long after its reservation a call that shows nothing has done nothing, in ms. */
export function endedAfterMs(kind: ListedKind, { waitedMs, hasTimedOut }: EndedWait): number {
  return waitedMs + (hasTimedOut ? overtimeMs : maxRunMs(kind) + listingMs)
}

/** The past checks of an evaluation, as far as the ledger looks at them. */
export interface PastList {
  readonly checks: readonly { readonly ref: string; readonly searchedAt: Date | null }[]
  /** The source's time of the answer, ours where it told none. */
  readonly at: Date
  /** Whether the source told its time. */
  readonly isDated: boolean
}

/** A call of unknown outcome, by what was known before it was sent. */
export interface UnknownCall {
  /** Checks that were listed before; null: not read. */
  readonly knownRefs: readonly string[] | null
  /** The source's time of the reservation; null: not read. */
  readonly sourceAt: Date | null
  /** How long ago it was reserved, in ms. */
  readonly ageMs: number
}

/** A source may stamp a check by another clock than the one that dates its answers. */
const stampToleranceMs = 5 * 60_000

/** The check that the call must have made: the oldest that was not there before and that nobody else has made (`taken`).
 *  Without a list from before, the first since the reservation; one without a time is then taken for it. Null: none. */
export function checkMadeBy(
  doubt: UnknownCall,
  past: PastList,
  taken: ReadonlySet<string>,
): string | null {
  const since = reservedAt(doubt, past).getTime() - stampToleranceMs
  const fresh = past.checks.filter(({ ref, searchedAt }) => {
    if (taken.has(ref)) return false
    if (doubt.knownRefs !== null) return !doubt.knownRefs.includes(ref)
    return searchedAt === null || searchedAt.getTime() >= since
  })
  const byAge = fresh.toSorted((a, b) => timeOf(a) - timeOf(b))
  return byAge[0]?.ref ?? null
}

/** Whether the call may be at work at the source while nothing shows it yet, until `endedMs` after its reservation. Of two
 *  clocks that disagree, the one by which less time has passed is right; an answer without a date proves no time. */
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

function timeOf({ searchedAt }: PastList['checks'][number]): number {
  return searchedAt?.getTime() ?? Number.POSITIVE_INFINITY
}

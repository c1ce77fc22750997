import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { halve, type Window } from '../../values/window.ts'
import type { ListedRecord, RecordList } from './windowed-records.ts'

/** A listed window and how its completeness is known. */
export interface ProvenPart {
  readonly window: Window
  readonly items: readonly ListedRecord[]
  /** List items that name no record. */
  readonly malformed: RecordList['malformed']
  readonly listedAt: Date
  readonly proof: 'plain' | 'halved' | 'unprovable'
}

/** What is known about a source's list size: its largest answer, and the silent cap that a mismatch has shown. */
export interface ListLimit {
  readonly largest: number
  readonly cap: number | null
}

/** The parts of a window, which cover it without a gap, and what the answers showed about the list limit. */
export interface Proof {
  readonly parts: readonly ProvenPart[]
  readonly listLimit: ListLimit
}

/** How to list a window, and what is known before the proof. */
interface ProveOptions {
  list(window: Window): Promise<RecordList>
  readonly listLimit: ListLimit
  /** Whether an earlier certificate of this window has proved exactly this answer. */
  isConfirmed(items: readonly ListedRecord[]): boolean
  /** The most items of a part: memory is bounded by the slice, not by the window. */
  readonly maxItems: number
}

/** Smaller answers are never suspect: no source caps its list at one. */
const minCap = 2

/**
 * Lists a window and proves that nothing was cut off. The list has no pages and no truncation signal [A §4 /getevallist],
 * so the proof is conservation: ids(whole) = ids(left) + ids(right).
 *
 * An answer smaller than an earlier one was not cut off, unless the source has since introduced a cap; then the count is round.
 * An answer at the maximum is halved until its parts are smaller. A mismatch shows the cap; from then on windows are split until
 * they fit under it. A single second that does not fit is unprovable.
 */
export async function proveWindow(window: Window, options: ProveOptions): Promise<Proof> {
  const listing = await options.list(window)
  return await proveListing(closed(window, listing), listing, options)
}

/** Proves a listed window: accepts its answer, or halves it and proves the halves. */
async function proveListing(
  window: Window,
  listing: RecordList,
  options: ProveOptions,
): Promise<Proof> {
  const count = listing.items.length + listing.malformed.length
  const listLimit = withCount(options.listLimit, count)
  const part = (proof: ProvenPart['proof']): Proof => ({
    parts: [{ window, ...listing, proof }],
    listLimit,
  })
  const suspect =
    listLimit.cap !== null
      ? count >= listLimit.cap
      : (count >= minCap && count >= listLimit.largest) || isRound(count)
  const tooLarge = count > options.maxItems
  if (!suspect && !tooLarge) return part('plain')
  if (!tooLarge && listLimit.cap === null && options.isConfirmed(listing.items))
    return part('halved')
  const halves = halve(window)
  if (halves === null) return part(isCapped(count, listLimit) ? 'unprovable' : 'halved')
  const [left, right] = await Promise.all([options.list(halves[0]), options.list(halves[1])])
  const ids = new Set(listing.items.map((item) => item.id))
  const missing = [...left.items, ...right.items].some((item) => !ids.has(item.id))
  const next: ProveOptions = {
    ...options,
    listLimit: missing ? await findCap(window, listing, listLimit, options) : listLimit,
  }
  if (!missing && !tooLarge && listLimit.cap === null) {
    // Conserved, but a half with as many items as the whole proves nothing yet.
    const full = [left, right].findIndex((half) => half.items.length >= count)
    if (full < 0) return part('halved')
    const inner = await proveListing(halves[full]!, [left, right][full]!, next)
    if (inner.listLimit.cap === null) return { ...part('halved'), listLimit: inner.listLimit }
    return await proveHalves(halves, [left, right], { ...next, listLimit: inner.listLimit })
  }
  return await proveHalves(halves, [left, right], next)
}

async function proveHalves(
  [left, right]: readonly [Window, Window],
  listings: readonly RecordList[],
  options: ProveOptions,
): Promise<Proof> {
  const first = await proveListing(left, listings[0]!, options)
  const second = await proveListing(closed(right, listings[1]!), listings[1]!, {
    ...options,
    listLimit: first.listLimit,
  })
  return { parts: [...first.parts, ...second.parts], listLimit: second.listLimit }
}

/** A mismatch shows a cap, unless the window changed meanwhile; then a new listing returns another number. */
async function findCap(
  window: Window,
  listing: RecordList,
  listLimit: ListLimit,
  options: ProveOptions,
): Promise<ListLimit> {
  const again = await options.list(window)
  if (again.items.length !== listing.items.length) return withCount(listLimit, again.items.length)
  return { ...listLimit, cap: listing.items.length }
}

/** The limit after an answer of this size. An answer larger than the cap disproves it. */
function withCount(listLimit: ListLimit, count: number): ListLimit {
  return {
    largest: Math.max(listLimit.largest, count),
    cap: listLimit.cap !== null && count > listLimit.cap ? null : listLimit.cap,
  }
}

/** Whether a single second may be cut off. If no cap is known, only a large round count is suspicious. */
function isCapped(count: number, { cap }: ListLimit): boolean {
  return cap !== null ? count >= cap : isRound(count)
}

/** Whether a count may be a configured limit. */
function isRound(count: number): boolean {
  return count >= 100 && count % 50 === 0
}

/** The window with its end: the newest window ends when it was listed. */
function closed(window: Window, listing: RecordList): Window {
  return window.open
    ? { ...window, until: Math.max(toUnixSeconds(listing.listedAt), window.from + 1) }
    : window
}

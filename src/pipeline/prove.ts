import type { ListedEvaluation, MalformedItem } from '../sources/appraisal/evaluation-list.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { halve, type Window } from '../values/window.ts'

export interface Listing {
  readonly items: readonly ListedEvaluation[]
  readonly malformed: readonly MalformedItem[]
  readonly listedAt: Date
}

/** A listed window and how its completeness is known. */
export interface ProvenPart {
  readonly window: Window
  readonly items: readonly ListedEvaluation[]
  /** Listed, but naming no record. */
  readonly malformed: readonly MalformedItem[]
  readonly listedAt: Date
  readonly proof: 'plain' | 'halved' | 'unprovable'
}

/** What is known of a source's lists: the largest it gave, and the silent cap that a mismatch exposed. */
export interface ListLimit {
  readonly largest: number
  readonly cap: number | null
}

export interface Proof {
  readonly parts: readonly ProvenPart[]
  readonly listLimit: ListLimit
}

export interface ProveOptions {
  list(window: Window): Promise<Listing>
  readonly listLimit: ListLimit
  /** Does an earlier certificate of this window vouch for exactly this answer? */
  isConfirmed(items: readonly ListedEvaluation[]): boolean
  /** A part holds at most so many items, so that memory is bounded by the slice and never by the window. */
  readonly maxItems: number
}

/** Answers so small are taken as they are: no source caps its list at one. */
const leastCap = 2

/**
 * Lists a window and proves that nothing was cut off. The list has no page and no truncation signal [A §4 /getevallist],
 * so the proof is conservation: ids(whole) = ids(left) + ids(right). An answer smaller than one that the source has given
 * before cannot have been cut, unless the source has brought in a cap since, which a round count betrays; one at the maximum
 * is halved until its parts are smaller. A mismatch teaches the cap, and from then on windows split until they fit; a single
 * second that does not fit is unprovable.
 */
export async function proveWindow(window: Window, options: ProveOptions): Promise<Proof> {
  const listing = await options.list(window)
  return await proveListing(closed(window, listing), listing, options)
}

async function proveListing(
  window: Window,
  listing: Listing,
  options: ProveOptions,
): Promise<Proof> {
  const count = listing.items.length + listing.malformed.length
  const knowledge = grown(options.listLimit, count)
  const part = (proof: ProvenPart['proof']): Proof => ({
    parts: [{ window, ...listing, proof }],
    listLimit: knowledge,
  })
  const suspect =
    knowledge.cap !== null
      ? count >= knowledge.cap
      : (count >= leastCap && count >= knowledge.largest) || isRound(count)
  const tooLarge = count > options.maxItems
  if (!suspect && !tooLarge) return part('plain')
  if (!tooLarge && knowledge.cap === null && options.isConfirmed(listing.items))
    return part('halved')
  const halves = halve(window)
  if (halves === null) return part(isCapped(count, knowledge) ? 'unprovable' : 'halved')
  const [left, right] = await Promise.all([options.list(halves[0]), options.list(halves[1])])
  const ids = new Set(listing.items.map((item) => item.evalId))
  const missing = [...left.items, ...right.items].some((item) => !ids.has(item.evalId))
  const next: ProveOptions = {
    ...options,
    listLimit: missing ? await learn(window, listing, knowledge, options) : knowledge,
  }
  if (!missing && !tooLarge && knowledge.cap === null) {
    // Conserved; but a half that is as full as the whole proves nothing yet.
    const full = [left, right].findIndex((half) => half.items.length >= count)
    if (full < 0) return part('halved')
    const inner = await proveListing(halves[full]!, [left, right][full]!, next)
    if (inner.listLimit.cap === null) return { ...part('halved'), listLimit: inner.listLimit }
    return await both(halves, [left, right], { ...next, listLimit: inner.listLimit })
  }
  return await both(halves, [left, right], next)
}

async function both(
  [left, right]: readonly [Window, Window],
  listings: readonly Listing[],
  options: ProveOptions,
): Promise<Proof> {
  const first = await proveListing(left, listings[0]!, options)
  const second = await proveListing(closed(right, listings[1]!), listings[1]!, {
    ...options,
    listLimit: first.listLimit,
  })
  return { parts: [...first.parts, ...second.parts], listLimit: second.listLimit }
}

/** A mismatch is a cap, unless the window has just changed under our hands: then listing it again shows more. */
async function learn(
  window: Window,
  listing: Listing,
  knowledge: ListLimit,
  options: ProveOptions,
): Promise<ListLimit> {
  const again = await options.list(window)
  if (again.items.length !== listing.items.length) return grown(knowledge, again.items.length)
  return { ...knowledge, cap: listing.items.length }
}

/** A larger answer than the cap shows that there is none, or none so low. */
function grown(knowledge: ListLimit, count: number): ListLimit {
  return {
    largest: Math.max(knowledge.largest, count),
    cap: knowledge.cap !== null && count > knowledge.cap ? null : knowledge.cap,
  }
}

/** Of a single second: no cap was ever seen, then only a round and large number is a reason to doubt. */
function isCapped(count: number, { cap }: ListLimit): boolean {
  return cap !== null ? count >= cap : isRound(count)
}

/** A number that somebody may have set as a limit. */
function isRound(count: number): boolean {
  return count >= 100 && count % 50 === 0
}

/** The newest window ends when it was listed. */
function closed(window: Window, listing: Listing): Window {
  return window.open
    ? { ...window, until: Math.max(toUnixSeconds(listing.listedAt), window.from + 1) }
    : window
}

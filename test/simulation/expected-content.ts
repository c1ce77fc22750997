import type { Evaluation, Moment } from './evaluation.ts'
import { dayMs, nightAt, type Settings } from './settings.ts'

/** What may correctly be stored of an evaluation on a morning, derived from the promised rules, not from the code. */
export interface AllowedContent {
  /** It may be missing or marked as gone. */
  readonly absent: boolean
  /** States that may be stored, each under the rooftop that owned it. */
  readonly moments: readonly Moment[]
}

/** What the expectation depends on. */
export interface Circumstances {
  readonly night: number
  /** The source's time of the morning, ms. */
  readonly now: number
  readonly settings: Settings
  /** The list is silently cut off: late completions may be hidden until their window is listed again. */
  readonly capped: boolean
  /** When a webhook last caused a read of this evaluation; null: never. */
  readonly hintedAt: number | null
}

/** The latest night that certainly listed the second of its creation; -1: none. */
export function lastCertainListing(
  createdAt: number,
  night: number,
  { sync }: Settings,
  capped: boolean,
): number {
  const second = Math.floor(createdAt / 1000) * 1000
  const inTurn = night - (sync.deepRelistNights - 1)
  const margin = Math.max(sync.recheckDays, sync.settleDays) * dayMs
  for (let listing = night; listing >= 0; listing--) {
    const at = nightAt(listing)
    // A night before its creation has seen everything that existed of it.
    if (second > at) return listing
    const firstSight = listing === 0 || second >= nightAt(listing - 1)
    if (!capped && (firstSight || second >= at - margin)) return listing
    if (listing <= inTurn) return listing
  }
  return -1
}

/** The expectation: the state at the last certain listing is stored, or any later state. */
export function allowedContent(
  evaluation: Evaluation,
  circumstances: Circumstances,
): AllowedContent {
  const { night, now, settings, capped, hintedAt } = circumstances
  const listing = lastCertainListing(evaluation.createdAt, night, settings, capped)
  const hinted = hintedAt ?? Number.NEGATIVE_INFINITY
  const seen = Math.max(timeOf(listing, circumstances), hinted)
  const read = Math.max(
    timeOf(listing - daysUnread(evaluation, circumstances), circumstances),
    hinted,
  )
  const handedOver = handOver(evaluation, listing, circumstances)
  const presence = momentsBetween(evaluation, seen, now)
  const absent = handedOver !== null || presence.some((moment) => !moment?.visible)
  const isThere = handedOver !== null || presence.some((moment) => moment?.visible)
  if (!isThere) return { absent, moments: [] }
  const contents = momentsBetween(evaluation, Math.min(read, handedOver ?? read), now)
  return { absent, moments: contents.filter((moment) => moment !== null) }
}

/** If a world's clock moved during its night, the night saw the state at its end. */
function timeOf(listing: number, { night, now }: Circumstances): number {
  if (listing < 0) return Number.NEGATIVE_INFINITY
  return listing === night ? now : nightAt(listing)
}

/** Without update times in the list, a known record is read at every listing while it is young, otherwise every 7 or 28 nights. */
function daysUnread({ completedAt }: Evaluation, { now, settings }: Circumstances): number {
  const age = (now - completedAt) / dayMs
  if (settings.listCarriesUpdatedAt || age < 13.9) return 0
  return age < 59.9 ? 7 : 28
}

/** Since when a change of rooftop may be pending: the old rooftop must list it as gone first, then the new one must list it. */
function handOver(
  evaluation: Evaluation,
  listing: number,
  { settings, capped, now }: Circumstances,
): number | null {
  const before = lastCertainListing(evaluation.createdAt, listing - 1, settings, capped)
  const since = before < 0 ? Number.NEGATIVE_INFINITY : nightAt(before)
  const between = momentsBetween(evaluation, since, now).filter((moment) => moment !== null)
  return new Set(between.map(({ rooftop }) => rooftop)).size > 1 ? since : null
}

/** The state at `from` and all states until `until`; null: not complete yet. */
function momentsBetween(
  { moments }: Evaluation,
  from: number,
  until: number,
): readonly (Moment | null)[] {
  const first = moments.findLastIndex(({ at }) => at <= from)
  const last = moments.findLastIndex(({ at }) => at <= until)
  if (last < 0) return [null]
  const span = moments.slice(Math.max(first, 0), last + 1)
  return first < 0 ? [null, ...span] : span
}

import type { Evaluation, Moment } from './evaluation.ts'
import { dayMs, nightAt, type Settings } from './settings.ts'

/** What may rightly be stored of an evaluation on a morning, by design.md section 2 alone: nothing here looks at the code. */
export interface AllowedContent {
  /** Not stored, or marked as gone. */
  readonly absent: boolean
  /** Moments whose content, each under the rooftop that had it, may be the stored one. */
  readonly moments: readonly Moment[]
}

/** What the promise depends on. */
export interface Circumstances {
  readonly night: number
  /** The source's time of the morning, ms. */
  readonly now: number
  readonly settings: Settings
  /** The list is cut off without a sign: what completes late may be hidden until its window's turn. */
  readonly capped: boolean
  /** A webhook of this evaluation made it be read at this instant, the latest of all; null: none did. */
  readonly hintedAt: number | null
}

/** The latest night in which the second of its creation was listed for certain, -1 before the first. */
export function lastCertainListing(
  createdAt: number,
  night: number,
  { sync }: Settings,
  capped: boolean,
): number {
  const second = Math.floor(createdAt / 1000) * 1000
  const inTurn = night - (sync.deepRelistNights - 1)
  const margin = Math.max(sync.recheckDays, sync.settleDays) * dayMs
  for (let look = night; look >= 0; look--) {
    const at = nightAt(look)
    // Before its creation every night has seen all that there was of it.
    if (second > at) return look
    const firstSight = look === 0 || second >= nightAt(look - 1)
    if (!capped && (firstSight || second >= at - margin)) return look
    if (look <= inTurn) return look
  }
  return -1
}

/** The promise: what was so at the last sure look is stored; what has happened since may be. */
export function allowedContent(
  evaluation: Evaluation,
  circumstances: Circumstances,
): AllowedContent {
  const { night, now, settings, capped, hintedAt } = circumstances
  const look = lastCertainListing(evaluation.createdAt, night, settings, capped)
  const hinted = hintedAt ?? Number.NEGATIVE_INFINITY
  const seen = Math.max(timeOf(look, circumstances), hinted)
  const read = Math.max(timeOf(look - daysUnread(evaluation, circumstances), circumstances), hinted)
  const handedOver = handOver(evaluation, look, circumstances)
  const presence = momentsBetween(evaluation, seen, now)
  const absent = handedOver !== null || presence.some((moment) => !moment?.visible)
  const isThere = handedOver !== null || presence.some((moment) => moment?.visible)
  if (!isThere) return { absent, moments: [] }
  const contents = momentsBetween(evaluation, Math.min(read, handedOver ?? read), now)
  return { absent, moments: contents.filter((moment) => moment !== null) }
}

/** A world whose clock moved on while its night ran has seen what there was at its end. */
function timeOf(look: number, { night, now }: Circumstances): number {
  if (look < 0) return Number.NEGATIVE_INFINITY
  return look === night ? now : nightAt(look)
}

/** Without an update time in the list a known record is read again at every look while it is young, else in 7 or 28 nights. */
function daysUnread({ completedAt }: Evaluation, { now, settings }: Circumstances): number {
  const age = (now - completedAt) / dayMs
  if (settings.listCarriesUpdatedAt || age < 13.9) return 0
  return age < 59.9 ? 7 : 28
}

/** Its old rooftop has to give it up, and the new one to list it after that: a look each. Since when that may have gone on. */
function handOver(
  evaluation: Evaluation,
  look: number,
  { settings, capped, now }: Circumstances,
): number | null {
  const before = lastCertainListing(evaluation.createdAt, look - 1, settings, capped)
  const since = before < 0 ? Number.NEGATIVE_INFINITY : nightAt(before)
  const between = momentsBetween(evaluation, since, now).filter((moment) => moment !== null)
  return new Set(between.map(({ rooftop }) => rooftop)).size > 1 ? since : null
}

/** What it was at `from`, and everything that it became until `until`; null: not complete yet. */
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

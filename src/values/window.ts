/** Half-open, `[from, until)`, in whole Unix seconds. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** A half-open window of source time in whole Unix seconds. */
export interface Window extends Span {
  /** The newest window: `enddate` is left out, `until` is the time of the listing. */
  readonly open: boolean
}

export const daySeconds = 86_400

/**
 * Cuts ranges (newest first) into windows of at most `seconds`, on a grid of whole multiples of it, newest first.
 * `openUntil`: a window that ends there is the newest one and stays open.
 */
export function cutIntoWindows(
  ranges: readonly Span[],
  seconds: number,
  openUntil: number | null,
  limit = Number.POSITIVE_INFINITY,
): Window[] {
  const windows: Window[] = []
  for (const range of ranges) {
    let until = range.until
    while (until > range.from && windows.length < limit) {
      const from = Math.max(range.from, (Math.ceil(until / seconds) - 1) * seconds)
      windows.push({ from, until, open: until === openUntil })
      until = from
    }
  }
  return windows
}

/** Whether they have a moment in common. */
export function overlap(one: Span, other: Span): boolean {
  return one.from < other.until && one.until > other.from
}

/** Does an instant lie in the window? The second in which the newest window was listed was not over: it counts as inside. */
export function isWithin(window: Window, at: Date): boolean {
  const seconds = Math.floor(at.getTime() / 1000)
  return seconds >= window.from && seconds < window.until + (window.open ? 1 : 0)
}

/** Both halves of a window; null when it is a single second. */
export function halve(window: Window): [Window, Window] | null {
  if (window.until - window.from < 2) return null
  const middle = Math.floor((window.from + window.until) / 2)
  return [
    { from: window.from, until: middle, open: false },
    { from: middle, until: window.until, open: window.open },
  ]
}

/** Whole days since 1970 of an instant. */
export function dayNumber(seconds: number): number {
  return Math.floor(seconds / daySeconds)
}

/**
 * The start (Unix seconds) of the latest day, up to today, on which `slot` has its turn in a rotation of `nights`.
 * Something last done before that instant is due; a missed night changes nothing.
 */
export function latestRotationStart(slot: number, nights: number, now: number): number {
  const today = dayNumber(now)
  const since = (((today - slot) % nights) + nights) % nights
  return (today - since) * daySeconds
}

/** The start (Unix seconds) of the first day, that of `from` being the first, on which `slot` has its turn. */
export function nextRotationStart(slot: number, nights: number, from: number): number {
  return latestRotationStart(slot, nights, from + (nights - 1) * daySeconds)
}

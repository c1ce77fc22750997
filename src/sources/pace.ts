/** The share of an allowed rate that is used. The rest allows for requests that arrive unevenly at the source. */
export const usedShare = 0.95
/** A send time missed by more than this, in ms, is dropped: after a stall, calls must not be sent all at once. */
export const maxLateMs = 40

/** Send times at an even pace, for one process alone. Times are ms of any one clock. */
export class Pace {
  #nextAt = -Infinity

  /** Reserves `count` send times at `perSecond`, from `now` and after all earlier ones; returns the first. */
  reserve(now: number, perSecond: number, count = 1): number {
    const first = Math.max(this.#nextAt, now)
    this.#nextAt = first + (count * 1000) / perSecond
    return first
  }

  /** Drops what was reserved and not used. */
  reset(): void {
    this.#nextAt = -Infinity
  }
}

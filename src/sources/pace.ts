/** So much of an allowed rate is used: the rest takes up how unevenly requests arrive at the source. */
export const usedShare = 0.95
/** A send time that is missed by more than this is given up, in ms: after a stall, calls must not go in a heap. */
export const maxLateMs = 40

/** Send times at an even pace, for one process alone. Times are ms of any one clock. */
export class Pace {
  #nextAt = -Infinity

  /** The first of `count` send times at `perSecond`: none before `now`, none in the place of an earlier one. */
  reserve(now: number, perSecond: number, count = 1): number {
    const first = Math.max(this.#nextAt, now)
    this.#nextAt = first + (count * 1000) / perSecond
    return first
  }

  /** Lets what was taken and not used go. */
  reset(): void {
    this.#nextAt = -Infinity
  }
}

/** The share of an allowed rate that is used. The rest allows for requests that arrive unevenly at the source. */
export const usedShare = 0.95
/** A send time missed by more than this, in ms, is dropped: after a stall, calls must not be sent all at once. */
const maxLateMs = 40
/** How long before the last reserved send time new ones are requested, in ms. */
const aheadMs = 250

/** Send times at an even pace, for one process alone. Times are ms of any one clock. */
export class Pace {
  #nextAt = -Infinity

  /** Reserves a send time at `perSecond`, from `now` and after all earlier ones. */
  reserve(now: number, perSecond: number): number {
    const at = Math.max(this.#nextAt, now)
    this.#nextAt = at + 1000 / perSecond
    return at
  }
}

interface Waiter {
  readonly signals: readonly (AbortSignal | undefined)[]
  readonly resolve: (isSent: boolean) => void
}

/** Makes calls wait for their send times, first come, first served. Reserves no more times than there are calls. */
export class SendSlots {
  readonly #reserve: (count: number) => Promise<readonly number[]>
  #waiters: Waiter[] = []
  #times: number[] = []
  #timer: NodeJS.Timeout | undefined
  #isRequesting = false

  /** `reserve` returns up to `count` send times in order, in ms of performance.now(); none: all waiting calls must check again.
   *  It never rejects. */
  constructor(reserve: (count: number) => Promise<readonly number[]>) {
    this.#reserve = reserve
  }

  /** Resolves to true at the call's send time, to false when the caller must check the key's blocks again. Never rejects. */
  wait(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#waiters.push({ signals, resolve })
    this.#pump()
    return promise
  }

  /** Drops the reserved times, and makes every waiting call check again. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#times = []
    for (const { resolve } of this.#waiters.splice(0)) resolve(false)
  }

  #pump(): void {
    clearTimeout(this.#timer)
    const now = performance.now()
    this.#dispatch(now)
    const wakes = this.#times.slice(0, 1)
    if (!this.#isRequesting && this.#waiters.length > this.#times.length) {
      const requestAt = (this.#times.at(-1) ?? -Infinity) - aheadMs
      if (requestAt > now) wakes.push(requestAt)
      else void this.#request()
    }
    if (this.#waiters.length === 0 || wakes.length === 0) return
    this.#timer = setTimeout(() => this.#pump(), Math.max(1, Math.min(...wakes) - now))
  }

  #dispatch(now: number): void {
    this.#waiters = this.#waiters.filter(({ signals, resolve }) => {
      const isGone = signals.some((signal) => signal?.aborted)
      if (isGone) resolve(false)
      return !isGone
    })
    // A timer wakes up to a millisecond early.
    const due = this.#times.filter((time) => time <= now + 1)
    this.#times = this.#times.slice(due.length)
    const late = due.filter((time) => now - time > maxLateMs)
    // After a stall one late call is sent: a process that is always late would otherwise send nothing.
    const usable = due.length - Math.max(0, late.length - 1)
    for (const { resolve } of this.#waiters.splice(0, usable)) resolve(true)
  }

  async #request(): Promise<void> {
    this.#isRequesting = true
    const times = await this.#reserve(this.#waiters.length - this.#times.length)
    this.#isRequesting = false
    this.#times = [...this.#times, ...times].sort((a, b) => a - b)
    if (times.length === 0) this.clear()
    else this.#pump()
  }
}

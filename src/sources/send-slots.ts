import { maxLateMs } from './pace.ts'

interface Waiter {
  readonly signals: readonly (AbortSignal | undefined)[]
  readonly resolve: (isSent: boolean) => void
}

/** Returns `count` send times in order, in ms of performance.now(). An empty list: all waiting calls must check again. */
export type Reserve = (count: number) => Promise<readonly number[]> | readonly number[]

/** How long before the last reserved send time new ones are requested, in ms; longer when a request takes long. */
const minAheadMs = 100
const maxAheadMs = 1000

/** Makes calls wait for their send times, first come, first served. Reserves no more times than there are calls. */
export class SendSlots {
  readonly #reserve: Reserve
  #waiters: Waiter[] = []
  #times: number[] = []
  #timer: NodeJS.Timeout | undefined
  #isRequesting = false
  #aheadMs = minAheadMs

  /** `reserve` never rejects. */
  constructor(reserve: Reserve) {
    this.#reserve = reserve
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#waiters.length
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
    this.#dispatch(performance.now())
    this.#request()
    if (this.#waiters.length === 0) return
    const wakes = [
      this.#times[0],
      this.#isRequesting || !this.#needsTimes() ? undefined : this.#requestAt(),
    ]
    const at = Math.min(...wakes.filter((time) => time !== undefined))
    if (!Number.isFinite(at)) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#pump(), Math.max(1, at - performance.now()))
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

  #needsTimes(): boolean {
    return this.#waiters.length > this.#times.length
  }

  #requestAt(): number {
    return (this.#times.at(-1) ?? -Infinity) - this.#aheadMs
  }

  #request(): void {
    if (this.#isRequesting || !this.#needsTimes() || this.#requestAt() > performance.now()) return
    this.#isRequesting = true
    const requestedAt = performance.now()
    const given = this.#reserve(this.#waiters.length - this.#times.length)
    if (!('then' in given)) {
      this.#add(given)
      return
    }
    void given.then((times) => {
      const tookMs = performance.now() - requestedAt
      this.#aheadMs = Math.min(maxAheadMs, Math.max(minAheadMs, 3 * tookMs))
      this.#add(times)
    })
  }

  #add(times: readonly number[]): void {
    this.#isRequesting = false
    this.#times = [...this.#times, ...times].sort((a, b) => a - b)
    if (times.length === 0) this.clear()
    else this.#pump()
  }
}

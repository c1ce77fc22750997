import { maxLateMs } from './pace.ts'

interface Waiter {
  readonly signals: readonly (AbortSignal | undefined)[]
  readonly resolve: (isSent: boolean) => void
}

/** Gives so many send times, ms of performance.now() in order; an empty list: ask again about everything. */
export type Reserve = (count: number) => Promise<readonly number[]> | readonly number[]

/** New send times are asked for when the last one that is held is so near, in ms; sooner where asking takes long. */
const leastAheadMs = 100
const mostAheadMs = 1000

/** Calls that wait for their send times, first come, first served. Holds no more times than calls wait for. */
export class SendSlots {
  readonly #reserve: Reserve
  #waiters: Waiter[] = []
  #times: number[] = []
  #timer: NodeJS.Timeout | undefined
  #isAsking = false
  #aheadMs = leastAheadMs

  /** `reserve` rejects never. */
  constructor(reserve: Reserve) {
    this.#reserve = reserve
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#waiters.length
  }

  /** Resolves to true at the call's send time, to false when the caller must look again first. Never rejects. */
  wait(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#waiters.push({ signals, resolve })
    this.#pump()
    return promise
  }

  /** Lets the times go that are held, and sends every call to look again. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#times = []
    for (const { resolve } of this.#waiters.splice(0)) resolve(false)
  }

  #pump(): void {
    clearTimeout(this.#timer)
    this.#dispatch(performance.now())
    this.#ask()
    if (this.#waiters.length === 0) return
    const wakes = [this.#times[0], this.#isAsking || !this.#lacks() ? undefined : this.#askAt()]
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
    // After a stall one goes: a process that is always late would send nothing else.
    const usable = due.length - Math.max(0, late.length - 1)
    for (const { resolve } of this.#waiters.splice(0, usable)) resolve(true)
  }

  #lacks(): boolean {
    return this.#waiters.length > this.#times.length
  }

  #askAt(): number {
    return (this.#times.at(-1) ?? -Infinity) - this.#aheadMs
  }

  #ask(): void {
    if (this.#isAsking || !this.#lacks() || this.#askAt() > performance.now()) return
    this.#isAsking = true
    const askedAt = performance.now()
    const given = this.#reserve(this.#waiters.length - this.#times.length)
    if (!('then' in given)) {
      this.#take(given)
      return
    }
    void given.then((times) => {
      const tookMs = performance.now() - askedAt
      this.#aheadMs = Math.min(mostAheadMs, Math.max(leastAheadMs, 3 * tookMs))
      this.#take(times)
    })
  }

  #take(times: readonly number[]): void {
    this.#isAsking = false
    this.#times = [...this.#times, ...times].sort((a, b) => a - b)
    if (times.length === 0) this.clear()
    else this.#pump()
  }
}

import {
  advance,
  noAnswers,
  type RateEvent,
  type RateState,
  rateAt,
  unlimited,
} from './rate-law.ts'

/** The answer to a call. `isLate`: it was sent before the last cut. `retryAfterMs`: of a 429, null if it names none; left out: it is
 *  not a 429. */
export interface KeyAnswer {
  readonly isLate: boolean
  readonly retryAfterMs?: number | null
}

/** What the rate of a key decides for its limiter, a KeyLimiter. */
interface RatedLimiter {
  block(ms: number): boolean
  onCut(isSeenHere: boolean): void
}

/** How fast this process may use a key: by the law of rate-law.ts, at most at a ceiling, at an even pace. */
export class KeyRate {
  readonly #limiter: RatedLimiter
  /** Requests a second; null: no ceiling. */
  readonly #ceiling: number | null
  readonly #sendSlots = new SendSlots((count) => this.reserve(count))
  readonly #pace = new Pace()
  readonly #recent = new RecentAnswers()
  #state = unlimited

  constructor(limiter: RatedLimiter, requestsPerSecond: number | null) {
    this.#limiter = limiter
    this.#ceiling = requestsPerSecond === null ? null : requestsPerSecond * usedShare
  }

  /** Requests a second of all processes; null: no limit. */
  get perSecond(): number | null {
    const learnt = rateAt(this.#state, this.now())
    if (learnt === null || this.#ceiling === null) return learnt ?? this.#ceiling
    return Math.min(learnt, this.#ceiling)
  }

  /** Null: a call may be sent now. Else true at its send time, false when the caller must check the key's blocks again.
   *  Never rejects. */
  sendSlot(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> | null {
    this.#recent.recordSend(performance.now())
    return this.perSecond === null ? null : this.#sendSlots.wait(signals)
  }

  /** Records an answer, which may rest the key or change its rate; returns it for the law. */
  record(answer: KeyAnswer): RateEvent {
    const event = this.#eventOf(answer)
    this.apply(advance(this.#state, event, this.now()), true)
    return event
  }

  /** Makes every waiting call check again. */
  clear(): void {
    this.#sendSlots.clear()
  }

  /** The clock of the state, in ms. */
  protected now(): number {
    return performance.now()
  }

  protected get state(): RateState {
    return this.#state
  }

  #eventOf({ isLate, retryAfterMs }: KeyAnswer): RateEvent {
    const isRefused = retryAfterMs !== undefined
    if (!isRefused) this.#recent.recordClean(performance.now())
    const isCounted = isRefused && !isLate
    return {
      ...noAnswers(this.#state.generation),
      ...{ calls: Number(!isLate), refused: Number(isCounted), excess: Number(isCounted) },
      ...{ lateRefused: Number(isRefused && isLate), retryAfterMs: retryAfterMs ?? null },
      ...(isCounted && this.pastRate()),
    }
  }

  /** How fast this process was answered in the last second. */
  protected pastRate(): Pick<RateEvent, 'answered' | 'speed'> {
    return this.#recent.rate(performance.now())
  }

  /** Applies a state. `isSeenHere`: this process saw the refusal that changed it. */
  protected apply(state: RateState, isSeenHere: boolean): void {
    const before = this.#state
    this.#state = state
    const restMs = state.restUntil - this.now()
    if (restMs > 0 && state.restUntil > before.restUntil) this.rest(restMs)
    if (state.generation !== before.generation) this.#limiter.onCut(isSeenHere)
    if (state.cutAt !== before.cutAt) this.clear()
  }

  /** Blocks the key, and clears the waiting calls, since an older send time would let a call through. */
  protected rest(ms: number): void {
    if (this.#limiter.block(ms)) this.clear()
  }

  /** Up to `count` send times in order, in ms of performance.now(); none: waiting calls must check again. Never rejects. */
  protected async reserve(_count: number): Promise<readonly number[]> {
    return this.reserveHere(this.perSecond)
  }

  protected reserveHere(perSecond: number | null): readonly number[] {
    return perSecond === null ? [] : [this.#pace.reserve(performance.now(), perSecond)]
  }
}

/** Counts the clean answers of this second and the one before. Times are performance.now(). */
class RecentAnswers {
  #second = 0
  #current = 0
  #previous = 0
  #activeSince = 0
  #sentAt = -Infinity

  recordSend(now: number): void {
    // After a rest or a pause: the time without calls is not part of their rate.
    if (now - this.#sentAt > 500) this.#activeSince = now
    this.#sentAt = now
  }

  recordClean(now: number): void {
    this.#advance(now)
    this.#current += 1
  }

  /** `answered`: in the last second. `speed`: the same by the time since calls are sent again. */
  rate(now: number): Pick<RateEvent, 'answered' | 'speed'> {
    this.#advance(now)
    const answered = this.#current + this.#previous * (1 - (now % 1000) / 1000)
    const active = Math.max(0.01, Math.min(1, (now - this.#activeSince) / 1000))
    return { answered, speed: answered / active }
  }

  #advance(now: number): void {
    const second = Math.floor(now / 1000)
    if (second === this.#second) return
    this.#previous = second === this.#second + 1 ? this.#current : 0
    this.#current = 0
    this.#second = second
  }
}

/** The share of an allowed rate that is used. The rest allows for requests that arrive unevenly at the source. */
const usedShare = 0.95
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

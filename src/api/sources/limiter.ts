import pLimit, { type LimitFunction } from 'p-limit'
import { onAbort } from '../../values/on-abort.ts'
import { sleep } from '../../values/sleep.ts'
import { KeyRate } from './key-rate.ts'
import { RequestFault, rests } from './status-rules.ts'

/** The key is blocked for longer than a call may wait: nothing was sent. `until` is our clock. */
export class KeyBlocked extends RequestFault {
  override readonly name = 'KeyBlocked'

  constructor(until: Date) {
    super('keyBlocked', `the source asked to wait until ${until.toISOString()}`)
  }
}

/** Makes the rate of a limiter; `keyName` as in the config, `null` for the key of the vehicle-data APIs. */
export type OpenBudget = (keyName: string | null, limiter: KeyLimiter) => KeyRate

/** Rates that are known to this process alone. `requestsPerSecond`: a ceiling; null: none. */
export function localBudgets(requestsPerSecond: number | null): OpenBudget {
  return (_, limiter) => new KeyRate(limiter, requestsPerSecond)
}

const longBlockMs = 10_000

/** Adaptive concurrency of one API key (AIMD): limits are not published [A §8], so it starts low, rises by 1 per `concurrency`
 *  clean answers up to `max`, and halves on a fault, or when a 429 cuts the rate of the key. All rooftops of a key share one. */
export class KeyLimiter {
  readonly max: number
  readonly #limit: LimitFunction
  readonly #rate: KeyRate
  /** The concurrency that this process has reached; its share of the key may be less. */
  #level: number
  #share: number
  #inFlight = 0
  #clean = 0
  #generation = 0
  /** Calls of an earlier generation were sent before the last cut. */
  #cutGeneration = 0
  /** Monotonic (performance.now), so that a step of the wall clock blocks nothing. */
  #blockedUntil = 0
  readonly #onLongBlock: ((until: Date) => void) | undefined

  constructor({
    max,
    initial = 4,
    budget,
    onLongBlock,
  }: {
    readonly max: number
    readonly initial?: number
    /** Default: a rate that this process learns alone. */
    readonly budget?: ((limiter: KeyLimiter) => KeyRate) | undefined
    /** Called when the key will be blocked for 10 seconds or more, once a block. */
    readonly onLongBlock?: ((until: Date) => void) | undefined
  }) {
    this.max = max
    this.#level = Math.min(initial, max)
    this.#share = max
    this.#onLongBlock = onLongBlock
    this.#limit = pLimit(this.#level)
    this.#rate = budget?.(this) ?? new KeyRate(this, null)
  }

  /** How many calls may be in flight now. */
  get concurrency(): number {
    return this.#limit.concurrency
  }

  /** How many calls are running now. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Calls that wait for a slot or for their send time. */
  get waiting(): number {
    return this.#limit.pendingCount + this.#limit.activeCount - this.#inFlight
  }

  /** Sets this process's share of the key: the greatest number of calls in flight. */
  setShare(share: number): void {
    this.#share = Math.min(share, this.max)
    this.#fit()
  }

  /** Starts no new call for `ms`. Returns whether the key was not blocked for as long before. */
  block(ms: number): boolean {
    const until = performance.now() + ms
    const isLonger = until > this.#blockedUntil
    // The same block is reported again with a little less or more left.
    const isNew = until > this.#blockedUntil + 1_000
    this.#blockedUntil = Math.max(this.#blockedUntil, until)
    if (isNew && ms >= longBlockMs) this.#onLongBlock?.(new Date(Date.now() + ms))
    return isLonger
  }

  /** Records a cut of the rate: calls that were sent before say nothing about the new one. `isSeenHere`: this process saw the 429. */
  onCut(isSeenHere: boolean): void {
    if (isSeenHere) this.onFault()
    else this.#ignoreEarlierCalls()
    this.#cutGeneration = this.#generation
  }

  /** Before this instant (our clock) no new call starts; null when the key is not blocked. */
  get blockedUntil(): Date | null {
    const left = this.#blockedUntil - performance.now()
    return left > 0 ? new Date(Date.now() + left) : null
  }

  /** Runs `fn` when a slot is free and the key is not blocked. `fn` gets its generation, to give back with the outcome.
   *  Rejects at once with the reason of an aborted signal, and with KeyBlocked when the block is too long to wait for. */
  async run<T>(
    fn: (generation: number) => Promise<T>,
    ...signals: readonly (AbortSignal | undefined)[]
  ): Promise<T> {
    for (const signal of signals) signal?.throwIfAborted()
    const cancelled = Promise.withResolvers<never>()
    const stopListening = onAbort(signals, cancelled.reject)
    try {
      return await Promise.race([this.#limit(() => this.#start(fn, signals)), cancelled.promise])
    } finally {
      stopListening()
    }
  }

  /** Records a clean answer. */
  onSuccess(generation: number = this.#generation): void {
    this.#rate.record({ isLate: generation < this.#cutGeneration })
    // Clean answers at a small share do not show that more calls would be answered.
    if (generation !== this.#generation || this.#level >= this.#share) return
    this.#clean += 1
    if (this.#clean < this.concurrency) return
    this.#clean = 0
    this.#level += 1
    this.#fit()
  }

  /** Records a 429. The call itself waits for `retryAfterMs`; whether the key does, and at which rate it goes on, is in rate-law.ts. */
  onThrottle(retryAfterMs?: number, generation: number = this.#generation): void {
    const blockedUntil = this.#blockedUntil
    const isLate = generation < this.#cutGeneration
    this.#rate.record({ isLate, retryAfterMs: retryAfterMs ?? null })
    if (this.#blockedUntil > blockedUntil) this.onFault(generation)
  }

  /** Records a timeout, a reset or a 5xx: halves the concurrency, once a burst. Calls that started before the last halving report
   *  nothing new. */
  onFault(generation: number = this.#generation): void {
    if (generation !== this.#generation) return
    this.#ignoreEarlierCalls()
    this.#level = Math.max(1, Math.floor(this.concurrency / 2))
    this.#fit()
  }

  #ignoreEarlierCalls(): void {
    this.#generation += 1
    this.#clean = 0
  }

  #fit(): void {
    this.#limit.concurrency = Math.max(1, Math.min(this.#level, this.#share))
  }

  async #start<T>(
    fn: (generation: number) => Promise<T>,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<T> {
    for (;;) {
      // A call that was cancelled in the queue frees its slot.
      for (const signal of signals) signal?.throwIfAborted()
      const left = this.#blockedUntil - performance.now()
      if (left > rests.longestOfCallMs) throw new KeyBlocked(new Date(Date.now() + left))
      if (left > 0) {
        // Rounded up: a timer that wakes a moment early would let a call through before the block ends.
        await sleep(Math.ceil(left), signals)
        continue
      }
      const slot = this.#rate.sendSlot(signals)
      if (slot === null) break
      // The key may have been blocked while the call waited for its send time.
      if ((await slot) && this.#blockedUntil <= performance.now()) break
    }
    this.#inFlight += 1
    try {
      return await fn(this.#generation)
    } finally {
      this.#inFlight -= 1
    }
  }
}

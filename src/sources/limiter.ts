import pLimit, { type LimitFunction } from 'p-limit'
import { sleep } from '../values/sleep.ts'

/** The longest that a call waits for a blocked key. Beyond it the work goes back to the pipeline instead of holding a slot. */
export const longestBlockMs = 15 * 60_000

/** The key is blocked for longer than a call may wait. `until` is our clock. */
export class KeyBlocked extends Error {
  override readonly name = 'KeyBlocked'
  readonly until: Date

  constructor(until: Date) {
    super(`the source asked to wait until ${until.toISOString()}`)
    this.until = until
  }
}

/** Adaptive concurrency of one API key (AIMD): limits are not published [A §8], so it starts low, rises by 1 per `concurrency`
 *  clean answers up to `max`, and halves on a throttle or a fault. All rooftops of a key share one. */
export class KeyLimiter {
  readonly max: number
  readonly #limit: LimitFunction
  #inFlight = 0
  #clean = 0
  #generation = 0
  /** Monotonic (performance.now), so that a step of the wall clock blocks nothing. */
  #blockedUntil = 0

  constructor({ max, initial = 4 }: { readonly max: number; readonly initial?: number }) {
    this.max = max
    this.#limit = pLimit(Math.min(initial, max))
  }

  /** How many calls may be in flight now. */
  get concurrency(): number {
    return this.#limit.concurrency
  }

  /** How many calls are running now. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Before this instant (our clock) no new call starts; null when the key is not blocked. */
  get blockedUntil(): Date | null {
    const left = this.#blockedUntil - performance.now()
    return left > 0 ? new Date(Date.now() + left) : null
  }

  /** Runs `fn` when a slot is free and the key is not blocked. `fn` is told its generation, to hand back with the outcome.
   *  Rejects at once with the reason of an aborted signal, and with KeyBlocked when the block is too long to wait for. */
  async run<T>(
    fn: (generation: number) => Promise<T>,
    ...signals: readonly (AbortSignal | undefined)[]
  ): Promise<T> {
    for (const signal of signals) signal?.throwIfAborted()
    const cancelled = Promise.withResolvers<never>()
    const onAbort = (event: Event) => cancelled.reject((event.target as AbortSignal).reason)
    for (const signal of signals) signal?.addEventListener('abort', onAbort)
    try {
      return await Promise.race([this.#limit(() => this.#start(fn, signals)), cancelled.promise])
    } finally {
      for (const signal of signals) signal?.removeEventListener('abort', onAbort)
    }
  }

  /** A clean answer of a call. */
  onSuccess(generation: number = this.#generation): void {
    if (generation !== this.#generation || this.concurrency >= this.max) return
    this.#clean += 1
    if (this.#clean < this.concurrency) return
    this.#clean = 0
    this.#limit.concurrency += 1
  }

  /** The source said "too many": halves, and with `retryAfterMs` starts no new call of the key before it has passed. */
  onThrottle(retryAfterMs?: number, generation: number = this.#generation): void {
    if (retryAfterMs !== undefined)
      this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + retryAfterMs)
    this.#halve(generation)
  }

  /** A timeout, a reset or a 5xx: halves. */
  onFault(generation: number = this.#generation): void {
    this.#halve(generation)
  }

  /** Calls that started before the last halving tell what was already learnt from it: one burst halves once. */
  #halve(generation: number): void {
    if (generation !== this.#generation) return
    this.#generation += 1
    this.#clean = 0
    this.#limit.concurrency = Math.max(1, Math.floor(this.concurrency / 2))
  }

  async #start<T>(
    fn: (generation: number) => Promise<T>,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<T> {
    // A call that was cancelled while it queued gives its slot on.
    for (const signal of signals) signal?.throwIfAborted()
    for (;;) {
      const left = this.#blockedUntil - performance.now()
      if (left <= 0) break
      if (left > longestBlockMs) throw new KeyBlocked(new Date(Date.now() + left))
      // Woken a moment early, a timer would let a call through before the block ends.
      await sleep(Math.ceil(left), signals)
    }
    this.#inFlight += 1
    try {
      return await fn(this.#generation)
    } finally {
      this.#inFlight -= 1
    }
  }
}

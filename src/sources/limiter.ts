import pLimit, { type LimitFunction } from 'p-limit'
import { onAbort } from '../values/on-abort.ts'
import { sleep } from '../values/sleep.ts'
import { Pace, usedShare } from './pace.ts'
import { SendSlots } from './send-slots.ts'
import { RequestFault, rests } from './status-rules.ts'

/** The key is blocked for longer than a call may wait: nothing was sent. `until` is our clock. */
export class KeyBlocked extends RequestFault {
  override readonly name = 'KeyBlocked'

  constructor(until: Date) {
    super('keyBlocked', `the source asked to wait until ${until.toISOString()}`)
  }
}

/** The options of a limiter. */
export interface LimiterOptions {
  readonly max: number
  readonly initial?: number
  readonly budget?: ((limiter: LimitedKey) => KeyBudget) | undefined
}

/** The part of a limiter that its budget reads and sets. */
export interface LimitedKey {
  readonly max: number
  readonly inFlight: number
  readonly concurrency: number
  readonly blockedUntil: Date | null
  /** Calls that wait for a slot or for their send time. */
  readonly waiting: number
  /** Clean answers of the last second. */
  readonly cleanPerSecond: number
  /** Sets this process's share of the key: the greatest number of calls in flight. */
  setShare(share: number): void
  /** Starts no new call for `ms`. */
  block(ms: number): void
  /** Ignores the outcomes of calls that were sent before now: they are known already. */
  ignoreEarlierCalls(): void
}

/** How fast a key may be used, beyond the calls in flight; it may be shared with other processes. */
export interface KeyBudget {
  /** Null: a call may be sent now. Else true at its send time, false when the caller must check the key's blocks again.
   *  Never rejects. */
  sendSlot(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> | null
  /** Reports that the key is used too fast. `isNew`: the refused call was sent after the last cut. */
  reportThrottle(isNew: boolean, throttle: Throttle): void
}

/** What a limiter knows about a throttle. */
export interface Throttle {
  /** How long the key waits; 0: it continues more slowly; undefined: it waits, and the source did not say how long. */
  readonly blockMs: number | undefined
  /** Clean answers of the last second in this process. */
  readonly cleanPerSecond: number
}

/** Makes the budget of a limiter; `keyName` as in the config, `null` for the key of the vehicle-data APIs. */
export type OpenBudget = (keyName: string | null, limiter: LimitedKey) => KeyBudget

/** A budget of this process alone: an even pace below `requestsPerSecond`; null: none. */
export function localBudgets(requestsPerSecond: number | null): OpenBudget | undefined {
  if (requestsPerSecond === null) return undefined
  return () => {
    const pace = new Pace()
    const perSecond = requestsPerSecond * usedShare
    const slots = new SendSlots(() => [pace.reserve(performance.now(), perSecond)])
    return { sendSlot: (signals) => slots.wait(signals), reportThrottle: () => {} }
  }
}

/** Adaptive concurrency of one API key (AIMD): limits are not published [A §8], so it starts low, rises by 1 per `concurrency`
 *  clean answers up to `max`, and halves on a fault, or when the source throttles the key. All rooftops of a key share one. */
export class KeyLimiter implements LimitedKey {
  readonly max: number
  readonly #limit: LimitFunction
  readonly #budget: KeyBudget | undefined
  /** The concurrency that this process has reached; its share of the key may be less. */
  #level: number
  #share: number
  #inFlight = 0
  #clean = 0
  #generation = 0
  readonly #answers = new RecentAnswers()
  /** Monotonic (performance.now), so that a step of the wall clock blocks nothing. */
  #blockedUntil = 0

  constructor({ max, initial = 4, budget }: LimiterOptions) {
    this.max = max
    this.#level = Math.min(initial, max)
    this.#share = max
    this.#limit = pLimit(this.#level)
    this.#budget = budget?.(this)
  }

  /** How many calls may be in flight now. */
  get concurrency(): number {
    return this.#limit.concurrency
  }

  /** How many calls are running now. */
  get inFlight(): number {
    return this.#inFlight
  }

  get waiting(): number {
    return this.#limit.pendingCount + this.#limit.activeCount - this.#inFlight
  }

  setShare(share: number): void {
    this.#share = Math.min(share, this.max)
    this.#fit()
  }

  block(ms: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + ms)
  }

  get cleanPerSecond(): number {
    return this.#answers.cleanPerSecond(performance.now())
  }

  ignoreEarlierCalls(): void {
    this.#generation += 1
    this.#clean = 0
    this.#answers.forgetRefusals()
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
    this.#answers.recordClean(performance.now())
    // Clean answers at a small share do not show that more calls would be answered.
    if (generation !== this.#generation || this.#level >= this.#share) return
    this.#clean += 1
    if (this.#clean < this.concurrency) return
    this.#clean = 0
    this.#level += 1
    this.#fit()
  }

  /** Records a 429; the call itself waits for `retryAfterMs`. The key waits too when the source refuses everything or asks for a
   *  long wait. It slows down when the source refuses more than a few calls. */
  onThrottle(retryAfterMs?: number, generation: number = this.#generation): void {
    const now = performance.now()
    const isNew = generation === this.#generation
    const isLong = retryAfterMs !== undefined && retryAfterMs >= rests.briefMs
    if (isNew) this.#answers.recordRefused(now)
    if (!isLong && !(isNew && this.#answers.isTooFast(now))) return
    const blockMs = isLong || this.#answers.isRefusingAll ? retryAfterMs : 0
    const { cleanPerSecond } = this
    if (blockMs !== undefined) this.block(blockMs)
    this.#halve(generation)
    this.#budget?.reportThrottle(isNew, { blockMs, cleanPerSecond })
  }

  /** Records a timeout, a reset or a 5xx: halves the concurrency. */
  onFault(generation: number = this.#generation): void {
    this.#halve(generation)
  }

  /** Halves once a burst: calls that started before the last halving report nothing new. */
  #halve(generation: number): void {
    if (generation !== this.#generation) return
    this.ignoreEarlierCalls()
    this.#level = Math.max(1, Math.floor(this.concurrency / 2))
    this.#fit()
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
      const slot = this.#budget?.sendSlot(signals) ?? null
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

const bucketMs = 100
/** The share of refused calls is taken over all buckets, the rate of clean answers over the newer half of them. */
const buckets = 20

interface Bucket {
  clean: number
  refused: number
}

/**
 * Counts what a source answered to a key in the last two seconds: it shows whether a 429 is a single one or the source is called too fast.
 * A single 429 concerns its own call alone: a key that slowed down for each would lose almost all of its throughput to one
 * 429 in a hundred answers. Times are performance.now().
 */
class RecentAnswers {
  readonly #buckets: Bucket[] = Array.from({ length: buckets }, () => ({ clean: 0, refused: 0 }))
  #newest = 0
  #refusedInARow = 0

  recordClean(now: number): void {
    this.#bucket(now).clean += 1
    this.#refusedInARow = 0
  }

  recordRefused(now: number): void {
    this.#bucket(now).refused += 1
    this.#refusedInARow += 1
  }

  /** The last answers were all refusals. */
  get isRefusingAll(): boolean {
    return this.#refusedInARow >= rests.refusalsInARow
  }

  /** The source refuses more than a few calls: the key is used too fast. */
  isTooFast(now: number): boolean {
    this.#bucket(now)
    const sum = (of: keyof Bucket) => this.#buckets.reduce((total, one) => total + one[of], 0)
    const refused = sum('refused')
    return (
      this.isRefusingAll ||
      (refused >= rests.refusalsInARow &&
        refused * 100 > rests.toleratedPercent * (refused + sum('clean')))
    )
  }

  /** Clean answers of the last second. */
  cleanPerSecond(now: number): number {
    this.#bucket(now)
    const newer = Array.from({ length: buckets / 2 }, (_, age) => this.#at(this.#newest - age))
    return newer.reduce((total, { clean }) => total + clean, 0)
  }

  /** Forgets the refusals: those of calls sent before a cut say nothing about the rate after it. Keeps the clean answers. */
  forgetRefusals(): void {
    this.#refusedInARow = 0
    for (const bucket of this.#buckets) bucket.refused = 0
  }

  #bucket(now: number): Bucket {
    const current = Math.floor(now / bucketMs)
    const passed = Math.min(current - this.#newest, buckets)
    for (let step = 0; step < passed; step += 1) {
      const stale = this.#at(current - step)
      stale.clean = 0
      stale.refused = 0
    }
    this.#newest = Math.max(this.#newest, current)
    return this.#at(this.#newest)
  }

  #at(bucket: number): Bucket {
    return this.#buckets[((bucket % buckets) + buckets) % buckets]!
  }
}

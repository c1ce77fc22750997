import pLimit, { type LimitFunction } from 'p-limit'
import { onAbort } from '../values/on-abort.ts'
import { sleep } from '../values/sleep.ts'
import { Pace, SendSlots, usedShare } from './send-slots.ts'
import { RequestFault, rests } from './status-rules.ts'

/** The key is blocked for longer than a call may wait: nothing was sent. `until` is our clock. */
export class KeyBlocked extends RequestFault {
  override readonly name = 'KeyBlocked'

  constructor(until: Date) {
    super('keyBlocked', `the source asked to wait until ${until.toISOString()}`)
  }
}

/** How fast a key may be used, beyond the calls in flight; it may be shared with other processes. */
export interface KeyBudget {
  /** Null: a call may be sent now. Else true at its send time, false when the caller must check the key's blocks again.
   *  Never rejects. */
  sendSlot(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> | null
  /** Reports that the key is used too fast. `isNew`: the refused call was sent after the last cut. `blockMs`: how long the key waits;
   *  0: it continues more slowly; undefined: it waits, and the source did not say how long. */
  reportThrottle(isNew: boolean, blockMs: number | undefined): void
}

/** Makes the budget of a limiter; `keyName` as in the config, `null` for the key of the vehicle-data APIs. */
export type OpenBudget = (keyName: string | null, limiter: KeyLimiter) => KeyBudget

/** A budget of this process alone: an even pace below `requestsPerSecond`; null: none. */
export function localBudgets(requestsPerSecond: number | null): OpenBudget | undefined {
  if (requestsPerSecond === null) return undefined
  return () => {
    const pace = new Pace()
    const perSecond = requestsPerSecond * usedShare
    const slots = new SendSlots(async () => [pace.reserve(performance.now(), perSecond)])
    return { sendSlot: (signals) => slots.wait(signals), reportThrottle: () => {} }
  }
}

const longBlockMs = 10_000

/** Adaptive concurrency of one API key (AIMD): limits are not published [A §8], so it starts low, rises by 1 per `concurrency`
 *  clean answers up to `max`, and halves on a fault, or when the source throttles the key. All rooftops of a key share one. */
export class KeyLimiter {
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
  readonly #onLongBlock: ((until: Date) => void) | undefined

  constructor({
    max,
    initial = 4,
    budget,
    onLongBlock,
  }: {
    readonly max: number
    readonly initial?: number
    readonly budget?: ((limiter: KeyLimiter) => KeyBudget) | undefined
    /** Called when the key will be blocked for 10 seconds or more, once a block. */
    readonly onLongBlock?: ((until: Date) => void) | undefined
  }) {
    this.max = max
    this.#level = Math.min(initial, max)
    this.#share = max
    this.#onLongBlock = onLongBlock
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

  /** Calls that wait for a slot or for their send time. */
  get waiting(): number {
    return this.#limit.pendingCount + this.#limit.activeCount - this.#inFlight
  }

  /** Sets this process's share of the key: the greatest number of calls in flight. */
  setShare(share: number): void {
    this.#share = Math.min(share, this.max)
    this.#fit()
  }

  /** Starts no new call for `ms`. */
  block(ms: number): void {
    const until = performance.now() + ms
    // The same block is reported again with a little less or more left.
    const isNew = until > this.#blockedUntil + 1_000
    this.#blockedUntil = Math.max(this.#blockedUntil, until)
    if (isNew && ms >= longBlockMs) this.#onLongBlock?.(new Date(Date.now() + ms))
  }

  /** Clean answers of the last second. */
  get cleanPerSecond(): number {
    return this.#answers.cleanPerSecond(performance.now())
  }

  /** Ignores the outcomes of calls that were sent before now: they are known already. */
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
    if (blockMs !== undefined) this.block(blockMs)
    this.onFault(generation)
    this.#budget?.reportThrottle(isNew, blockMs)
  }

  /** Records a timeout, a reset or a 5xx: halves the concurrency, once a burst. Calls that started before the last halving report
   *  nothing new. */
  onFault(generation: number = this.#generation): void {
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

interface Counts {
  clean: number
  refused: number
}

/**
 * Counts what a source answered to a key in this second and the one before: it shows whether a 429 is a single one or the source is
 * called too fast. A single 429 concerns its own call alone: a key that slowed down for each would lose almost all of its throughput
 * to one 429 in a hundred answers. Times are performance.now().
 */
class RecentAnswers {
  #second = 0
  #current: Counts = { clean: 0, refused: 0 }
  #previous: Counts = { clean: 0, refused: 0 }
  #refusedInARow = 0

  recordClean(now: number): void {
    this.#advance(now)
    this.#current.clean += 1
    this.#refusedInARow = 0
  }

  recordRefused(now: number): void {
    this.#advance(now)
    this.#current.refused += 1
    this.#refusedInARow += 1
  }

  /** The last answers were all refusals. */
  get isRefusingAll(): boolean {
    return this.#refusedInARow >= rests.refusalsInARow
  }

  /** The source refuses more than a few calls: the key is used too fast. */
  isTooFast(now: number): boolean {
    this.#advance(now)
    const clean = this.#current.clean + this.#previous.clean
    const refused = this.#current.refused + this.#previous.refused
    const isMuch = refused * 100 > rests.toleratedPercent * (refused + clean)
    return this.isRefusingAll || (refused >= rests.refusalsInARow && isMuch)
  }

  /** Clean answers of the last second; those of the previous one count by the share of it that has not passed. */
  cleanPerSecond(now: number): number {
    this.#advance(now)
    return Math.round(this.#current.clean + this.#previous.clean * (1 - (now % 1000) / 1000))
  }

  /** Forgets the refusals: those of calls sent before a cut say nothing about the rate after it. Keeps the clean answers. */
  forgetRefusals(): void {
    this.#refusedInARow = 0
    this.#current.refused = 0
    this.#previous.refused = 0
  }

  #advance(now: number): void {
    const second = Math.floor(now / 1000)
    if (second === this.#second) return
    this.#previous = second === this.#second + 1 ? this.#current : { clean: 0, refused: 0 }
    this.#current = { clean: 0, refused: 0 }
    this.#second = second
  }
}

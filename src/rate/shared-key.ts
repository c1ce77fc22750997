import { usedShare, Pace } from '../sources/pace.ts'
import type { KeyBudget, LimitedKey, Throttle } from '../sources/limiter.ts'
import { SendSlots } from '../sources/send-slots.ts'
import { backoffMs, throttleBackoff } from '../sources/status-rules.ts'
import type { BudgetRow, BudgetRows, OtherUsage, KeyUsage } from './budget-rows.ts'
import { DatabaseClock } from './database-clock.ts'
import { sharesOf } from './share.ts'

/** What a process knows about a key, for metrics. */
export interface RateReading {
  readonly service: 'appraisal' | 'vehicle-data'
  /** Its name under keys:, or `vehicleData`. */
  readonly key: string
  /** Requests a second that all processes may send together; null: no ceiling. */
  readonly perSecond: number | null
  /** No process sends before this time, by our clock. */
  readonly blockedUntil: Date | null
  /** Calls of this process. */
  readonly inFlight: number
  readonly waiting: number
  /** Calls in flight that this process may have now, at most its share of the key. */
  readonly concurrency: number
  readonly share: number
  /** Processes that use the key now, this one included. */
  readonly processes: number
}

/** What a key needs from the store of rate budgets. */
export interface RateBudgetStore {
  readonly rows: BudgetRows
  readonly isDisconnected: boolean
  readonly isClosed: boolean
  /** Reads the budgets of all keys in use. Never rejects; after a failure `isDisconnected` is true. */
  refresh(): Promise<void>
  /** Reports that Postgres did not answer. Until it does, the last known limits are used. */
  onConnectionLost(error: unknown): void
  /** Observes a statement: closing waits for it, and its failure is reported. */
  track(statement: Promise<unknown>): void
}

/** After this many ms without a refresh, a call refreshes first. */
const staleMs = 2000
const idleMs = 2000
/** How far ahead all processes together reserve send times, in seconds. */
const aheadSeconds = 0.2
/** The longest block that is shared. After it, a source with a longer Retry-After is asked again. */
const longestSharedBlockMs = 24 * 3_600_000

/** The budget of one key in this process: the last state from the warehouse, and the send times reserved there. */
export class SharedKey implements KeyBudget {
  /** In the warehouse: `appraisal/<name under keys:>`, or `vehicleData`. */
  readonly name: string
  readonly #keyName: string | null
  readonly #limiter: LimitedKey
  readonly #ceiling: number | null
  readonly #store: RateBudgetStore
  readonly #sendSlots: SendSlots
  readonly #pace = new Pace()
  readonly #clock = new DatabaseClock()
  #learnt: number | null = null
  #generation = 0
  #strikes = 0
  #share: number
  #processes = 1
  #cleanOfOthers = 0
  #blockedUntil = 0
  #refreshedAt = -Infinity
  #usedAt = -Infinity

  /** `keyName` null: the key of the vehicle-data APIs. `requestsPerSecond`: the limit in the config; null: no limit but the source's. */
  constructor(
    keyName: string | null,
    limiter: LimitedKey,
    requestsPerSecond: number | null,
    store: RateBudgetStore,
  ) {
    this.name = keyName === null ? 'vehicleData' : `appraisal/${keyName}`
    this.#keyName = keyName
    this.#limiter = limiter
    this.#ceiling = requestsPerSecond === null ? null : requestsPerSecond * usedShare
    this.#store = store
    this.#share = limiter.max
    this.#sendSlots = new SendSlots((count) => this.#reserve(count))
  }

  /** Whether calls were active in the last seconds. */
  get isActive(): boolean {
    const { inFlight, waiting } = this.#limiter
    return inFlight > 0 || waiting > 0 || performance.now() - this.#usedAt < idleMs
  }

  /** What this process reports to the others. */
  get usage(): KeyUsage {
    const { inFlight, waiting, max, cleanPerSecond } = this.#limiter
    const demand = Math.min(inFlight + waiting, max)
    return { keyName: this.name, demand, inFlight, cleanPerSecond }
  }

  get reading(): RateReading {
    const { inFlight, waiting, concurrency, blockedUntil } = this.#limiter
    return {
      service: this.#keyName === null ? 'vehicle-data' : 'appraisal',
      key: this.#keyName ?? 'vehicleData',
      ...{ inFlight, waiting, concurrency, blockedUntil },
      perSecond: this.#perSecond,
      share: this.#share,
      processes: this.#processes,
    }
  }

  sendSlot(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> | null {
    const now = performance.now()
    this.#usedAt = now
    if (this.#store.isClosed) return null
    if (!this.#store.isDisconnected && now - this.#refreshedAt > staleMs)
      return this.#store.refresh().then(() => false)
    return this.#perSecond === null ? null : this.#sendSlots.wait(signals)
  }

  reportThrottle(isNew: boolean, { blockMs: asked, cleanPerSecond }: Throttle): void {
    const { rows, isDisconnected } = this.#store
    const blockMs = asked ?? (isNew ? this.#jitterMs() : 0)
    if (!isNew && performance.now() + blockMs <= this.#blockedUntil) return
    this.#block(blockMs)
    const statement = rows.throttle({
      keyName: this.name,
      generation: isNew ? this.#generation : null,
      blockMs: Math.min(blockMs, longestSharedBlockMs),
      ceiling: this.#ceiling,
      cleanPerSecond: cleanPerSecond + this.#cleanOfOthers,
    })
    this.#store.track(statement)
    if (!isNew) return
    if (isDisconnected && this.#perSecond !== null) this.#learnt = this.#perSecond * 0.7
    // This process or another one has lowered the rate: the next 429 of this burst must not lower it again.
    this.#generation += 1
    this.#strikes += 1
  }

  /** Applies the state from the warehouse; `reported` is the use that this process reported. */
  update(row: BudgetRow, reported: KeyUsage, others: readonly OtherUsage[]): void {
    this.#refreshedAt = performance.now()
    if (row.generation > this.#generation) this.#limiter.ignoreEarlierCalls()
    this.#generation = row.generation
    this.#strikes = row.strikes
    this.#learnt = row.rate
    this.#processes = others.length + 1
    this.#cleanOfOthers = others.reduce((sum, { cleanPerSecond }) => sum + cleanPerSecond, 0)
    const ids = others.map(({ memberId, demand }) => ({ id: memberId, demand }))
    const self = { id: this.#store.rows.memberId, demand: reported.demand }
    this.#share = sharesOf(this.#limiter.max, [self, ...ids])[0]!
    this.#limiter.setShare(this.#share)
    if (row.blockedMs > 0) this.#block(row.blockedMs)
    if (this.#perSecond === null) this.#sendSlots.clear()
  }

  /** Makes every waiting call check again. */
  clear(): void {
    this.#sendSlots.clear()
  }

  get #perSecond(): number | null {
    if (this.#learnt === null || this.#ceiling === null) return this.#learnt ?? this.#ceiling
    return Math.min(this.#learnt, this.#ceiling)
  }

  async #reserve(calls: number): Promise<readonly number[]> {
    const perSecond = this.#perSecond
    if (perSecond === null) return []
    if (this.#store.isDisconnected)
      return [this.#pace.reserve(performance.now(), perSecond / this.#processes)]
    const most = Math.ceil((perSecond * aheadSeconds) / this.#processes)
    const count = Math.min(calls, Math.max(1, most))
    const askedAt = performance.now()
    try {
      const row = await this.#store.rows.reserve(this.name, count, this.#ceiling)
      if (row === undefined) {
        await this.#store.refresh()
        return []
      }
      this.#clock.learn(askedAt, performance.now(), row.databaseNow)
      this.#learnt = row.rate
      const first = this.#clock.toLocal(row.firstAt)
      return Array.from({ length: count }, (_, at) => first + at * row.intervalMs)
    } catch (error) {
      this.#store.onConnectionLost(error)
      return []
    }
  }

  /** Blocks the key and clears the waiting calls, since an older send time would let a call through. */
  #block(ms: number): void {
    const until = performance.now() + ms
    // A difference below 50 ms is the same block, reported again.
    if (until <= this.#blockedUntil + 50) return
    this.#blockedUntil = until
    this.#limiter.block(ms)
    this.#sendSlots.clear()
  }

  #jitterMs(): number {
    return backoffMs(this.#strikes + 1, throttleBackoff, Math.random)
  }
}

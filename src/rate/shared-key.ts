import { usedShare, Pace } from '../sources/pace.ts'
import type { KeyBudget, LimitedKey, Throttle } from '../sources/limiter.ts'
import { SendSlots } from '../sources/send-slots.ts'
import { backoffMs, throttleBackoff } from '../values/backoff.ts'
import type { BudgetRow, BudgetRows, OtherUsage, KeyUsage } from './budget-rows.ts'
import { DatabaseClock } from './database-clock.ts'
import { sharesOf } from './share.ts'

/** What a process knows of a key: for metrics. */
export interface RateReading {
  readonly service: 'appraisal' | 'vehicle-data'
  /** Its name under keys:, or `vehicleData`. */
  readonly key: string
  /** Requests a second that all processes may send together; null: no ceiling. */
  readonly perSecond: number | null
  /** No process sends before it, our clock. */
  readonly blockedUntil: Date | null
  /** Calls of this process. */
  readonly inFlight: number
  readonly waiting: number
  /** Calls in flight at once that this process may have now, and its share of the key, which it works below. */
  readonly concurrency: number
  readonly share: number
  /** Processes that use the key now, this one included. */
  readonly processes: number
}

/** What a key needs of those that share the connection. */
export interface RateBudgetStore {
  readonly rows: BudgetRows
  readonly isDisconnected: boolean
  readonly isClosed: boolean
  /** Asks the warehouse about every key in use. Never rejects; when it fails, `isLost` is true. */
  refresh(): Promise<void>
  /** Postgres did not answer: from here on every process goes by what it knows. */
  onConnectionLost(error: unknown): void
  /** Waits for a statement at closing time, and hears of its failure. */
  track(statement: Promise<unknown>): void
}

/** What was heard is old after so many ms: a call asks first. */
const staleMs = 2000
const idleMs = 2000
/** Reserved at once, by all processes together, in seconds. */
const aheadSeconds = 0.2
/** Beyond it a source's Retry-After is asked again. */
const longestSharedBlockMs = 24 * 3_600_000

/** The budget of one key in this process: what the warehouse said last, and the send times that were reserved there. */
export class SharedKey implements KeyBudget {
  /** In the warehouse: `appraisal/<name under keys:>`, or `vehicleData`. */
  readonly name: string
  readonly #keyName: string | null
  readonly #limiter: LimitedKey
  readonly #ceiling: number | null
  readonly #office: RateBudgetStore
  readonly #turns: SendSlots
  readonly #pace = new Pace()
  readonly #clock = new DatabaseClock()
  #learnt: number | null = null
  #generation = 0
  #strikes = 0
  #share: number
  #processes = 1
  #cleanOfOthers = 0
  #blockedUntil = 0
  #heardAt = -Infinity
  #usedAt = -Infinity

  /** `keyName` null: the key of the vehicle-data APIs. `requestsPerSecond`: what the config allows; null: what the source bears. */
  constructor(
    keyName: string | null,
    limiter: LimitedKey,
    requestsPerSecond: number | null,
    office: RateBudgetStore,
  ) {
    this.name = keyName === null ? 'vehicleData' : `appraisal/${keyName}`
    this.#keyName = keyName
    this.#limiter = limiter
    this.#ceiling = requestsPerSecond === null ? null : requestsPerSecond * usedShare
    this.#office = office
    this.#share = limiter.max
    this.#turns = new SendSlots((count) => this.#reserve(count))
  }

  /** Whether calls were under way in the last seconds. */
  get isActive(): boolean {
    const { inFlight, waiting } = this.#limiter
    return inFlight > 0 || waiting > 0 || performance.now() - this.#usedAt < idleMs
  }

  /** What this process tells the others. */
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
    if (this.#office.isClosed) return null
    if (!this.#office.isDisconnected && now - this.#heardAt > staleMs)
      return this.#office.refresh().then(() => false)
    return this.#perSecond === null ? null : this.#turns.wait(signals)
  }

  reportThrottle(isNew: boolean, { blockMs: asked, cleanPerSecond }: Throttle): void {
    const { rows, isDisconnected: isLost } = this.#office
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
    this.#office.track(statement)
    if (!isNew) return
    if (isLost && this.#perSecond !== null) this.#learnt = this.#perSecond * 0.7
    // Ours or another's: it was cut since.
    this.#generation += 1
    this.#strikes += 1
  }

  /** Takes over what the warehouse says; `own` is what it was told of us. */
  update(row: BudgetRow, own: KeyUsage, others: readonly OtherUsage[]): void {
    this.#heardAt = performance.now()
    if (row.generation > this.#generation) this.#limiter.ignoreEarlierCalls()
    this.#generation = row.generation
    this.#strikes = row.strikes
    this.#learnt = row.rate
    this.#processes = others.length + 1
    this.#cleanOfOthers = others.reduce((sum, { cleanPerSecond }) => sum + cleanPerSecond, 0)
    const ids = others.map(({ memberId, demand }) => ({ id: memberId, demand }))
    const self = { id: this.#office.rows.memberId, demand: own.demand }
    this.#share = sharesOf(this.#limiter.max, [self, ...ids])[0]!
    this.#limiter.setShare(this.#share)
    if (row.blockedMs > 0) this.#block(row.blockedMs)
    if (this.#perSecond === null) this.#turns.clear()
  }

  /** Lets everything that waits look again. */
  clear(): void {
    this.#turns.clear()
  }

  get #perSecond(): number | null {
    if (this.#learnt === null || this.#ceiling === null) return this.#learnt ?? this.#ceiling
    return Math.min(this.#learnt, this.#ceiling)
  }

  async #reserve(calls: number): Promise<readonly number[]> {
    const perSecond = this.#perSecond
    if (perSecond === null) return []
    if (this.#office.isDisconnected)
      return [this.#pace.reserve(performance.now(), perSecond / this.#processes)]
    const most = Math.ceil((perSecond * aheadSeconds) / this.#processes)
    const count = Math.min(calls, Math.max(1, most))
    const askedAt = performance.now()
    try {
      const row = await this.#office.rows.reserve(this.name, count, this.#ceiling)
      if (row === undefined) {
        await this.#office.refresh()
        return []
      }
      this.#clock.learn(askedAt, performance.now(), row.databaseNow)
      this.#learnt = row.rate
      const first = this.#clock.toLocal(row.firstAt)
      return Array.from({ length: count }, (_, at) => first + at * row.intervalMs)
    } catch (error) {
      this.#office.onConnectionLost(error)
      return []
    }
  }

  /** Blocks and what waits for its turn go together: a send time from before would let a call through. */
  #block(ms: number): void {
    const until = performance.now() + ms
    // Told again, a moment more exactly, it is the same block.
    if (until <= this.#blockedUntil + 50) return
    this.#blockedUntil = until
    this.#limiter.block(ms)
    this.#turns.clear()
  }

  #jitterMs(): number {
    return backoffMs(this.#strikes + 1, throttleBackoff, Math.random)
  }
}

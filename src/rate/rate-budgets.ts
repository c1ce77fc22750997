import type pg from 'pg'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { KeyBudget, KeyLimiter } from '../sources/limiter.ts'
import { Pace, SendSlots, usedShare } from '../sources/send-slots.ts'
import { backoffMs, rests, throttleBackoff } from '../sources/status-rules.ts'
import { type BudgetRow, BudgetRows, type KeyUsage, type OtherUsage } from './budget-rows.ts'
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

/** The interval between exchanges with the warehouse, in ms. */
const exchangeMs = 500
const retryMs = 2000
/** After this many ms without a refresh, a call refreshes first. A key is in use for as long after its last call. */
const staleMs = 2000
/** How far ahead all processes together reserve send times, in seconds. */
const aheadSeconds = 0.2

/** The rate budgets of all keys, shared by all processes of a warehouse: one row per key in ops.rate_budget. While a key is in
 *  use, its row is read twice a second; with a ceiling, send times are reserved there. While Postgres is unavailable, every
 *  process uses the last known limits and logs this once. */
export class RateBudgets implements AsyncDisposable {
  readonly rows: BudgetRows
  isDisconnected = false
  isClosed = false
  readonly #log: Log
  readonly #requestsPerSecond: number | null
  readonly #keys: SharedKey[] = []
  #cuts: Promise<unknown> = Promise.resolve()
  #refreshing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  /** `requestsPerSecond`: the limit per key in the config; null: no limit but the source's. */
  constructor(pool: pg.Pool, log: Log, requestsPerSecond: number | null) {
    this.rows = new BudgetRows(pool)
    this.#log = log
    this.#requestsPerSecond = requestsPerSecond
  }

  /** The budget of a limiter's key; null: the key of the vehicle-data APIs. */
  readonly open = (keyName: string | null, limiter: KeyLimiter): KeyBudget => {
    const key = new SharedKey(keyName, limiter, this.#requestsPerSecond, this)
    this.#keys.push(key)
    return key
  }

  /** What this process knows about every key, for metrics. */
  readings(): RateReading[] {
    return this.#keys.map((key) => key.reading)
  }

  /** Reads the budgets of all keys in use. Never rejects; after a failure `isDisconnected` is true. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#exchange().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** Reports that Postgres did not answer. Until it does, the last known limits are used. */
  onConnectionLost(error: unknown): void {
    const reason = messageOf(error)
    if (!this.isDisconnected && !this.isClosed)
      this.#log.warn({ reason }, 'rate budgets unavailable; using last known limits')
    this.isDisconnected = true
    for (const key of this.#keys) key.clear()
  }

  /** Stores a throttle; closing waits for it. */
  throttle(cut: Parameters<BudgetRows['throttle']>[0]): void {
    const stored = this.rows.throttle(cut).catch((error: unknown) => this.onConnectionLost(error))
    this.#cuts = Promise.all([this.#cuts, stored]).then(() => undefined)
  }

  /** Leaves the keys and ends every wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    clearTimeout(this.#timer)
    for (const key of this.#keys) key.clear()
    await Promise.all([this.#refreshing, this.#cuts])
    // A failure is harmless: after a few seconds of silence this process no longer counts.
    if (!this.isDisconnected) await this.rows.leave().catch(() => undefined)
  }

  async #exchange(): Promise<void> {
    clearTimeout(this.#timer)
    const active = this.#keys.filter((key) => key.isActive)
    const usages = active.map((key) => key.usage)
    try {
      const { budgets, others } = await this.rows.exchange(usages)
      if (this.isDisconnected) this.#log.info('rate budgets available again')
      this.isDisconnected = false
      for (const [at, key] of active.entries()) {
        const isOfKey = ({ keyName }: { readonly keyName: string }) => keyName === key.name
        key.update(budgets.find(isOfKey)!, usages[at]!.demand, others.filter(isOfKey))
      }
    } catch (error) {
      this.onConnectionLost(error)
    }
    if (this.isClosed) return
    const refreshIfActive = () => {
      if (this.#keys.some((key) => key.isActive)) void this.refresh()
    }
    this.#timer = setTimeout(refreshIfActive, this.isDisconnected ? retryMs : exchangeMs).unref()
  }
}

/** The budget of one key in this process: the last state from the warehouse, and the send times reserved there. */
class SharedKey implements KeyBudget {
  /** In the warehouse: `appraisal/<name under keys:>`, or `vehicleData`. */
  readonly name: string
  readonly #keyName: string | null
  readonly #limiter: KeyLimiter
  readonly #ceiling: number | null
  readonly #budgets: RateBudgets
  readonly #sendSlots = new SendSlots((count) => this.#reserve(count))
  readonly #pace = new Pace()
  #learnt: number | null = null
  #generation = 0
  #strikes = 0
  #share: number
  #processes = 1
  #cleanOfOthers = 0
  #blockedUntil = 0
  #refreshedAt = -Infinity
  #usedAt = -Infinity

  constructor(
    keyName: string | null,
    limiter: KeyLimiter,
    requestsPerSecond: number | null,
    budgets: RateBudgets,
  ) {
    this.name = keyName === null ? 'vehicleData' : `appraisal/${keyName}`
    this.#keyName = keyName
    this.#limiter = limiter
    this.#ceiling = requestsPerSecond === null ? null : requestsPerSecond * usedShare
    this.#budgets = budgets
    this.#share = limiter.max
  }

  /** Whether calls were active in the last seconds. */
  get isActive(): boolean {
    const { inFlight, waiting } = this.#limiter
    return inFlight > 0 || waiting > 0 || performance.now() - this.#usedAt < staleMs
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
    if (this.#budgets.isClosed) return null
    if (!this.#budgets.isDisconnected && now - this.#refreshedAt > staleMs)
      return this.#budgets.refresh().then(() => false)
    return this.#perSecond === null ? null : this.#sendSlots.wait(signals)
  }

  reportThrottle(isNew: boolean, asked: number | undefined): void {
    const random = () => backoffMs(this.#strikes + 1, throttleBackoff, Math.random)
    const blockMs = asked ?? (isNew ? random() : 0)
    if (!isNew && performance.now() + blockMs <= this.#blockedUntil) return
    this.#block(blockMs)
    const wasDisconnected = this.#budgets.isDisconnected
    this.#budgets.throttle({
      keyName: this.name,
      generation: isNew ? this.#generation : null,
      blockMs: Math.min(blockMs, rests.longestOfKeyMs),
      ceiling: this.#ceiling,
      cleanPerSecond: this.#limiter.cleanPerSecond + this.#cleanOfOthers,
    })
    if (!isNew) return
    if (wasDisconnected && this.#perSecond !== null) this.#learnt = this.#perSecond * 0.7
    // This process or another one has lowered the rate: the next 429 of this burst must not lower it again.
    this.#generation += 1
    this.#strikes += 1
  }

  /** Applies the state from the warehouse; `demand` is what this process reported. */
  update(row: BudgetRow, demand: number, others: readonly OtherUsage[]): void {
    this.#refreshedAt = performance.now()
    if (row.generation > this.#generation) this.#limiter.ignoreEarlierCalls()
    this.#generation = row.generation
    this.#strikes = row.strikes
    this.#learnt = row.rate
    this.#processes = others.length + 1
    this.#cleanOfOthers = others.reduce((sum, { cleanPerSecond }) => sum + cleanPerSecond, 0)
    const self = { memberId: this.#budgets.rows.memberId, demand }
    this.#share = sharesOf(this.#limiter.max, [self, ...others])[0]!
    this.#limiter.setShare(this.#share)
    if (row.blockedMs > 0) this.#block(row.blockedMs)
    if (this.#perSecond === null) this.clear()
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
    const { rows, isDisconnected } = this.#budgets
    const ofThisProcess = perSecond / this.#processes
    if (isDisconnected) return [this.#pace.reserve(performance.now(), ofThisProcess)]
    const count = Math.min(calls, Math.max(1, Math.ceil(ofThisProcess * aheadSeconds)))
    const askedAt = performance.now()
    try {
      const reserved = await rows.reserve(this.name, count, this.#ceiling)
      if (reserved === undefined) {
        await this.#budgets.refresh()
        return []
      }
      const { rate, delayMs, intervalMs } = reserved
      this.#learnt = rate
      // The database counts the delay from about the middle of the statement.
      const first = (askedAt + performance.now()) / 2 + delayMs
      return Array.from({ length: count }, (_, at) => first + at * intervalMs)
    } catch (error) {
      this.#budgets.onConnectionLost(error)
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
    this.clear()
  }
}

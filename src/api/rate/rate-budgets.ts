import type pg from 'pg'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { type KeyAnswer, KeyRate } from '../sources/key-rate.ts'
import type { KeyLimiter } from '../sources/limiter.ts'
import { addEvents, advance, noAnswers, type RateEvent } from '../sources/rate-law.ts'
import { type BudgetRow, BudgetRows, type KeyUsage, type OtherUsage } from './budget-rows.ts'

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
 *  use, its row is read twice a second; where a limit is known, send times are reserved there. A rest is announced to all processes
 *  at once. While Postgres is unavailable, every process goes on by itself and logs this once. */
export class RateBudgets implements AsyncDisposable {
  readonly rows: BudgetRows
  isDisconnected = false
  isClosed = false
  readonly #log: Log
  readonly #requestsPerSecond: number | null
  readonly #keys: SharedKey[] = []
  #refreshing: Promise<void> | undefined
  #refreshingAgain: Promise<void> | undefined
  #stopListening: Promise<(() => void) | undefined> | undefined
  #timer: NodeJS.Timeout | undefined

  /** `requestsPerSecond`: the limit per key in the config; null: no limit but the source's. */
  constructor(pool: pg.Pool, log: Log, requestsPerSecond: number | null) {
    this.rows = new BudgetRows(pool)
    this.#log = log
    this.#requestsPerSecond = requestsPerSecond
  }

  /** The budget of a limiter's key; null: the key of the vehicle-data APIs. */
  readonly open = (keyName: string | null, limiter: KeyLimiter): KeyRate => {
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

  /** Reads the budgets as they are now: a refresh that has begun may have read them before. */
  refreshAtOnce(): Promise<void> {
    if (this.#refreshing === undefined) return this.refresh()
    this.#refreshingAgain ??= this.#refreshing.then(() => {
      this.#refreshingAgain = undefined
      return this.isClosed ? undefined : this.refresh()
    })
    return this.#refreshingAgain
  }

  /** Reports that Postgres did not answer. Until it does, the last known limits are used. */
  onConnectionLost(error: unknown): void {
    const reason = errorText(error)
    if (!this.isDisconnected && !this.isClosed)
      this.#log.warn({ reason }, 'rate budgets unavailable; using last known limits')
    this.isDisconnected = true
    for (const key of this.#keys) key.clear()
  }

  /** Leaves the keys and ends every wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    clearTimeout(this.#timer)
    for (const key of this.#keys) key.clear()
    await Promise.all([this.#refreshing, this.#refreshingAgain])
    // What the last calls were answered.
    if (!this.isDisconnected && this.#keys.some((key) => key.hasNews)) await this.refresh()
    const stopListening = await this.#stopListening
    stopListening?.()
    // A failure is harmless: after a few seconds of silence this process no longer counts.
    if (!this.isDisconnected) await this.rows.leave().catch(() => undefined)
  }

  async #exchange(): Promise<void> {
    clearTimeout(this.#timer)
    const active = this.#keys.filter((key) => key.isActive)
    const usages = active.map((key) => key.usage)
    try {
      this.#stopListening ??= this.#listen()
      const { budgets, others } = await this.rows.exchange(usages)
      if (this.isDisconnected) this.#log.info('rate budgets available again')
      this.isDisconnected = false
      for (const [at, key] of active.entries()) {
        const isOfKey = ({ keyName }: { readonly keyName: string }) => keyName === key.name
        await key.update(budgets.find(isOfKey)!, usages[at]!.demand, others.filter(isOfKey))
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

  /** Without it, rests are known at the next exchange. */
  async #listen(): Promise<(() => void) | undefined> {
    try {
      const onEnd = () => {
        this.#stopListening = undefined
      }
      return await this.rows.listen((rest) => {
        this.#keys.find(({ name }) => name === rest.keyName)?.onRest(rest.restMs)
      }, onEnd)
    } catch {
      this.#stopListening = undefined
      return undefined
    }
  }
}

/** The budget of one key in this process: the last state from the warehouse, and what the warehouse does not know yet. */
class SharedKey extends KeyRate {
  /** In the warehouse: `appraisal/<name under keys:>`, or `vehicleData`. */
  readonly name: string
  readonly #keyName: string | null
  readonly #limiter: KeyLimiter
  readonly #budgets: RateBudgets
  #unstored = noAnswers(0)
  /** The last cut to which this process has added its part. */
  #answeredUpTo = 0
  /** The clock of the database minus performance.now(). */
  #clockOffset = 0
  #share: number
  #processes = 1
  #refreshedAt = -Infinity
  #usedAt = -Infinity

  constructor(
    keyName: string | null,
    limiter: KeyLimiter,
    requestsPerSecond: number | null,
    budgets: RateBudgets,
  ) {
    super(limiter, requestsPerSecond)
    this.name = keyName === null ? 'vehicleData' : `appraisal/${keyName}`
    this.#keyName = keyName
    this.#limiter = limiter
    this.#budgets = budgets
    this.#share = limiter.max
  }

  /** Whether calls were active in the last seconds. */
  get isActive(): boolean {
    const { inFlight, waiting } = this.#limiter
    return inFlight > 0 || waiting > 0 || performance.now() - this.#usedAt < staleMs
  }

  /** Whether the warehouse does not know of a refusal yet. */
  get hasNews(): boolean {
    return this.#unstored.refused + this.#unstored.lateRefused > 0
  }

  /** What this process reports to the others. */
  get usage(): KeyUsage {
    const { inFlight, waiting, max } = this.#limiter
    return { keyName: this.name, demand: Math.min(inFlight + waiting, max), inFlight }
  }

  get reading(): RateReading {
    const { inFlight, waiting, concurrency, blockedUntil } = this.#limiter
    return {
      service: this.#keyName === null ? 'vehicle-data' : 'appraisal',
      key: this.#keyName ?? 'vehicleData',
      ...{ inFlight, waiting, concurrency, blockedUntil },
      perSecond: this.perSecond,
      share: this.#share,
      processes: this.#processes,
    }
  }

  override sendSlot(signals: readonly (AbortSignal | undefined)[]): Promise<boolean> | null {
    const now = performance.now()
    this.#usedAt = now
    if (this.#budgets.isClosed) return null
    if (!this.#budgets.isDisconnected && now - this.#refreshedAt > staleMs)
      return this.#budgets.refresh().then(() => false)
    return super.sendSlot(signals)
  }

  override record(answer: KeyAnswer): RateEvent {
    const { restUntil, cutAt } = this.state
    const event = super.record(answer)
    // The warehouse learns nothing of what happens while it is away.
    if (!this.#budgets.isDisconnected) this.#unstored = addEvents(this.#unstored, event)
    const isNews = this.state.restUntil > restUntil || this.state.cutAt !== cutAt
    if (isNews) void this.#budgets.refreshAtOnce()
    return event
  }

  /** Another process rests the key. */
  onRest(ms: number): void {
    if (ms > 0) this.rest(ms)
    if (this.isActive) void this.#budgets.refreshAtOnce()
  }

  /** Adds what this process was answered to the state of the warehouse, and applies it; `demand` is what this process reported. */
  async update(row: BudgetRow, demand: number, others: readonly OtherUsage[]): Promise<void> {
    const { rows } = this.#budgets
    this.#refreshedAt = performance.now()
    this.#clockOffset = row.now - this.#refreshedAt
    this.#processes = others.length + 1
    this.#share = divideCap(this.#limiter.max, [{ memberId: rows.memberId, demand }, ...others])[0]!
    this.#limiter.setShare(this.#share)

    const unstored = this.#unstored
    const isNewCut = row.state.generation > Math.max(this.#answeredUpTo, unstored.generation)
    const event = isNewCut ? { ...unstored, ...this.pastRate() } : unstored
    this.#unstored = noAnswers(row.state.generation)
    const next = advance(row.state, event, row.now)
    const isStored = next === row.state || (await rows.store(row, next))
    if (!isStored) {
      this.#unstored = addEvents(unstored, this.#unstored)
      void this.#budgets.refreshAtOnce()
      return
    }
    this.#answeredUpTo = next.generation
    const { generation, refused, lateRefused, retryAfterMs } = this.#unstored
    // What came meanwhile was sent before the cut, if there was one.
    this.#unstored =
      next.generation === generation
        ? this.#unstored
        : { ...noAnswers(next.generation), lateRefused: refused + lateRefused, retryAfterMs }
    this.apply(next, false)
  }

  protected override now(): number {
    return performance.now() + this.#clockOffset
  }

  protected override async reserve(calls: number): Promise<readonly number[]> {
    const perSecond = this.perSecond
    if (perSecond === null) return []
    const { rows, isDisconnected } = this.#budgets
    const ofThisProcess = perSecond / this.#processes
    if (isDisconnected) return this.reserveHere(ofThisProcess)
    const count = Math.min(calls, Math.max(1, Math.ceil(ofThisProcess * aheadSeconds)))
    const intervalMs = 1000 / perSecond
    const sentAt = performance.now()
    try {
      const { generation } = this.state
      const delayMs = await rows.reserve(this.name, count, intervalMs, generation)
      if (delayMs === undefined) {
        await this.#budgets.refreshAtOnce()
        return []
      }
      // The database counts the delay from about the middle of the statement.
      const first = (sentAt + performance.now()) / 2 + delayMs
      return Array.from({ length: count }, (_, at) => first + at * intervalMs)
    } catch (error) {
      this.#budgets.onConnectionLost(error)
      return []
    }
  }
}

/** How many of the `cap` calls in flight each member may have, in the given order. Each gets at least 1, so the sum exceeds `cap`
 *  only when there are more members than that. `demand`: calls in flight or waiting. Members with low demand leave the rest to others; what remains is divided evenly.
 *  The result does not depend on the order of the members. */
export function divideCap(
  cap: number,
  members: readonly { readonly memberId: string; readonly demand: number }[],
): number[] {
  const shares = new Map(members.map(({ memberId }) => [memberId, 1]))
  let left = cap - members.length
  const byNeed = members.toSorted(
    (a, b) => a.demand - b.demand || (a.memberId < b.memberId ? -1 : 1),
  )
  for (const [at, { memberId, demand }] of byNeed.entries()) {
    const fair = Math.max(0, Math.floor(left / (members.length - at)))
    const more = Math.min(fair, Math.max(0, demand - 1))
    shares.set(memberId, 1 + more)
    left -= more
  }
  for (const [at, { memberId }] of byNeed.entries()) {
    const more = Math.max(0, Math.floor(left / (members.length - at)))
    shares.set(memberId, shares.get(memberId)! + more)
    left -= more
  }
  return members.map(({ memberId }) => shares.get(memberId)!)
}

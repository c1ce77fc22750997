import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type pg from 'pg'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { LimitedKey } from '../sources/limiter.ts'
import { BudgetRows } from './budget-rows.ts'
import { type RateBudgetStore, type RateReading, SharedKey } from './shared-key.ts'

/** The interval between exchanges with the warehouse, in ms. */
const exchangeMs = 500
const retryMs = 2000

/** The rate budgets of all keys, shared by all processes of a warehouse: one row per key in ops.rate_budget. While a key is in
 *  use, its row is read twice a second; with a ceiling, send times are reserved there. While Postgres is unavailable, every
 *  process uses the last known limits and logs this once. */
export class RateBudgets implements RateBudgetStore, AsyncDisposable {
  readonly rows: BudgetRows
  readonly #log: Log
  readonly #requestsPerSecond: number | null
  readonly #keys: SharedKey[] = []
  readonly #statements = new Set<Promise<unknown>>()
  #members: readonly SharedKey[] = []
  #refreshing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isDisconnected = false
  #isClosed = false

  /** `requestsPerSecond`: the limit per key in the config; null: no limit but the source's. */
  constructor(pool: pg.Pool, log: Log, requestsPerSecond: number | null) {
    const self = { memberId: randomUUID(), host: hostname(), processId: process.pid }
    this.rows = new BudgetRows(pool, self)
    this.#log = log
    this.#requestsPerSecond = requestsPerSecond
  }

  get isDisconnected(): boolean {
    return this.#isDisconnected
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The budget of a limiter's key; null: the key of the vehicle-data APIs. */
  readonly open = (keyName: string | null, limiter: LimitedKey): SharedKey => {
    const key = new SharedKey(keyName, limiter, this.#requestsPerSecond, this)
    this.#keys.push(key)
    return key
  }

  /** What this process knows about every key, for metrics. */
  readings(): RateReading[] {
    return this.#keys.map((key) => key.reading)
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#exchange().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  onConnectionLost(error: unknown): void {
    if (!this.#isDisconnected && !this.#isClosed)
      this.#log.warn(
        { reason: messageOf(error) },
        'rate budgets unavailable; using last known limits',
      )
    this.#isDisconnected = true
    for (const key of this.#keys) key.clear()
  }

  track(statement: Promise<unknown>): void {
    const done = statement.catch((error: unknown) => this.onConnectionLost(error))
    this.#statements.add(done)
    void done.finally(() => this.#statements.delete(done))
  }

  /** Leaves the keys and ends every wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const key of this.#keys) key.clear()
    await Promise.all([this.#refreshing, ...this.#statements])
    await this.#leave(this.#members)
  }

  async #exchange(): Promise<void> {
    clearTimeout(this.#timer)
    const active = this.#keys.filter((key) => key.isActive)
    const usages = active.map((key) => key.usage)
    try {
      const { budgets, others } = await this.rows.exchange(usages)
      if (this.#isDisconnected) this.#log.info('rate budgets available again')
      this.#isDisconnected = false
      for (const [at, key] of active.entries()) {
        const row = budgets.find(({ keyName }) => keyName === key.name)
        const othersOfKey = others.filter(({ keyName }) => keyName === key.name)
        if (row) key.update(row, usages[at]!, othersOfKey)
      }
    } catch (error) {
      this.onConnectionLost(error)
    }
    await this.#leave(this.#members.filter((key) => !active.includes(key)))
    this.#members = active
    this.#next()
  }

  #next(): void {
    if (this.#isClosed) return
    const refreshIfActive = () => {
      if (this.#members.length > 0 || this.#keys.some((key) => key.isActive)) void this.refresh()
    }
    this.#timer = setTimeout(refreshIfActive, this.#isDisconnected ? retryMs : exchangeMs).unref()
  }

  async #leave(keys: readonly SharedKey[]): Promise<void> {
    if (keys.length === 0 || this.#isDisconnected) return
    // A failure is harmless: after a few seconds of silence this process no longer counts.
    await this.rows.leave(keys.map(({ name }) => name)).catch(() => undefined)
  }
}

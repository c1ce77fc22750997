import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type pg from 'pg'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { LimitedKey } from '../sources/limiter.ts'
import { BudgetRows } from './budget-rows.ts'
import { type RateBudgetStore, type RateReading, SharedKey } from './shared-key.ts'

/** What one process says reaches the others within this, in ms. */
const everyMs = 500
const retryMs = 2000

/** The budgets of all keys over all processes of a warehouse: one row per key in ops.rate_budget. While a key is in use its row
 *  is read twice a second; with a ceiling, send times are reserved there. When Postgres cannot be asked, every process goes on
 *  by what it knew last, and says so once. */
export class RateBudgets implements RateBudgetStore, AsyncDisposable {
  readonly rows: BudgetRows
  readonly #log: Log
  readonly #requestsPerSecond: number | null
  readonly #keys: SharedKey[] = []
  readonly #statements = new Set<Promise<unknown>>()
  #members: readonly SharedKey[] = []
  #hearing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isLost = false
  #isClosed = false

  /** `requestsPerSecond`: what the config allows each key; null: whatever the source bears. */
  constructor(pool: pg.Pool, log: Log, requestsPerSecond: number | null) {
    const self = { memberId: randomUUID(), host: hostname(), processId: process.pid }
    this.rows = new BudgetRows(pool, self)
    this.#log = log
    this.#requestsPerSecond = requestsPerSecond
  }

  get isDisconnected(): boolean {
    return this.#isLost
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

  /** What this process knows of every key. */
  readings(): RateReading[] {
    return this.#keys.map((key) => key.reading)
  }

  refresh(): Promise<void> {
    this.#hearing ??= this.#exchange().finally(() => {
      this.#hearing = undefined
    })
    return this.#hearing
  }

  onConnectionLost(error: unknown): void {
    if (!this.#isLost && !this.#isClosed)
      this.#log.warn(
        { reason: messageOf(error) },
        'the warehouse cannot be asked for the rate budgets: this process goes by what it knew last until it can',
      )
    this.#isLost = true
    for (const key of this.#keys) key.clear()
  }

  track(statement: Promise<unknown>): void {
    const heard = statement.catch((error: unknown) => this.onConnectionLost(error))
    this.#statements.add(heard)
    void heard.finally(() => this.#statements.delete(heard))
  }

  /** Leaves the keys to the others, and ends every wait. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const key of this.#keys) key.clear()
    await Promise.all([this.#hearing, ...this.#statements])
    await this.#leave(this.#members)
  }

  async #exchange(): Promise<void> {
    clearTimeout(this.#timer)
    const active = this.#keys.filter((key) => key.isActive)
    const own = active.map((key) => key.usage)
    try {
      const { budgets, others } = await this.rows.exchange(own)
      if (this.#isLost) this.#log.info('the warehouse can be asked for the rate budgets again')
      this.#isLost = false
      for (const [at, key] of active.entries()) {
        const row = budgets.find(({ keyName }) => keyName === key.name)
        const its = others.filter(({ keyName }) => keyName === key.name)
        if (row) key.update(row, own[at]!, its)
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
    const look = () => {
      if (this.#members.length > 0 || this.#keys.some((key) => key.isActive)) void this.refresh()
    }
    this.#timer = setTimeout(look, this.#isLost ? retryMs : everyMs).unref()
  }

  async #leave(keys: readonly SharedKey[]): Promise<void> {
    if (keys.length === 0 || this.#isLost) return
    // Who does not sign off is taken for gone within seconds.
    await this.rows.leave(keys.map(({ name }) => name)).catch(() => undefined)
  }
}

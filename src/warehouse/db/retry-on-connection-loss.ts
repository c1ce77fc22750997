import type pg from 'pg'
import { errorText, UnreachableError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { sleep } from '../../values/sleep.ts'
import { isConnectionLoss } from './connect.ts'
import { hasSchema } from './migrate.ts'

const firstWaitMs = 250
const longestWaitMs = 2_000

/** The log and signal of the work, and its pool when it is open. */
interface RetryOptions {
  readonly log: Log
  readonly signal: AbortSignal
  readonly pool?: pg.Pool
}

/**
 * Retries work while Postgres is unreachable, and gives up after `seconds` without an answer (`null`: never). Use one object per
 * loop of work, so that an outage is logged once.
 */
export class RetryOnConnectionLoss {
  readonly #options: RetryOptions
  readonly #seconds: number | null
  #lostAt: number | null = null
  #warned: string | null = null

  constructor(options: RetryOptions, seconds: number | null) {
    this.#options = options
    this.#seconds = seconds
  }

  /** Repeats `act` until Postgres answers. Throws any other error, and the connection error itself when the time is over or the
   *  signal is aborted. */
  async run<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
      try {
        const result = await act()
        if (this.#lostAt !== null) this.#options.log.info('the warehouse is ready; work continues')
        this.#lostAt = null
        this.#warned = null
        return result
      } catch (error) {
        if (!(await this.isOutage(error)) || this.#isTimeOver(error)) throw error
        await sleep(waitMs, [this.#options.signal]).catch(() => undefined)
      }
    }
  }

  /** Whether Postgres or the whole warehouse is missing. A mistake in the config is not an outage, unless the retry has no limit. */
  async isOutage(error: unknown): Promise<boolean> {
    if (error instanceof UnreachableError) return this.#seconds === null || !error.mayBeConfig
    const { pool } = this.#options
    return isConnectionLoss(error) || (pool !== undefined && (await isWarehouseGone(pool, error)))
  }

  #isTimeOver(error: unknown): boolean {
    const { log, signal } = this.#options
    const now = performance.now()
    const warning = this.#warningFor(error)
    // Once an outage, and again when it has another cause that the operator can act on: a server that is back with an empty database.
    const isNews = error instanceof UnreachableError && warning !== this.#warned
    if (this.#lostAt === null || isNews) {
      log.warn(warning)
      this.#warned = warning
    }
    this.#lostAt ??= now
    const seconds = this.#seconds ?? Number.POSITIVE_INFINITY
    return signal.aborted || now - this.#lostAt > seconds * 1000
  }

  #warningFor(error: unknown): string {
    const message = errorText(error)
    const duration = this.#seconds === null ? 'until it is ready' : `for up to ${this.#seconds} s`
    if (error instanceof UnreachableError) return `${message} Trying again ${duration}.`
    return `the connection to Postgres was lost (${message}); the work is repeated when Postgres answers again`
  }
}

/** No such schema, relation, function, type, or constraint for ON CONFLICT. */
const missing = /^(3F000|42P01|42883|42704|42P10)$/

/** Whether the warehouse is being restored. */
async function isWarehouseGone(pool: pg.Pool, error: unknown): Promise<boolean> {
  if (!missing.test(String((error as { code?: unknown } | null)?.code ?? ''))) return false
  try {
    return !(await hasSchema(pool))
  } catch (fault) {
    return isConnectionLoss(fault)
  }
}

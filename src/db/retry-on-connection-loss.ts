import type pg from 'pg'
import { messageOf, UnreachableError } from '../errors.ts'
import type { Log } from '../log.ts'
import { sleep } from '../values/sleep.ts'
import { isConnectionLoss } from './connect.ts'

const firstWaitMs = 250
const longestWaitMs = 2_000

/** Whose work it is, and its pool once there is one. */
interface Waiting {
  readonly log: Log
  readonly signal: AbortSignal
  readonly pool?: pg.Pool
}

/**
 * What a process does while Postgres is away: it waits, tries again, and goes on. After `seconds` without an answer it gives up,
 * with `null` never. One for each loop of work, so that an outage is told of once.
 */
export class RetryOnConnectionLoss {
  readonly #waiting: Waiting
  readonly #seconds: number | null
  #lostAt: number | null = null

  constructor(waiting: Waiting, seconds: number | null) {
    this.#waiting = waiting
    this.#seconds = seconds
  }

  /** Does it again until Postgres answers. Any other error, and the loss itself once patience is spent or the signal is
   *  there, is thrown as it came. */
  async run<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
      try {
        const result = await act()
        if (this.#lostAt !== null)
          this.#waiting.log.info('Postgres answers again; the work goes on')
        this.#lostAt = null
        return result
      } catch (error) {
        if (!(await this.isOutage(error)) || this.#isSpent(error)) throw error
        await sleep(waitMs, [this.#waiting.signal]).catch(() => undefined)
      }
    }
  }

  /** Is it Postgres, or the whole warehouse, that is missing? Who does not wait for ever is told at once of what the config may have wrong. */
  async isOutage(error: unknown): Promise<boolean> {
    if (error instanceof UnreachableError) return this.#seconds === null || !error.mayBeConfig
    const { pool } = this.#waiting
    return isConnectionLoss(error) || (pool !== undefined && (await isWarehouseGone(pool, error)))
  }

  #isSpent(error: unknown): boolean {
    const { log, signal } = this.#waiting
    const now = performance.now()
    if (this.#lostAt === null) log.warn(this.#noticeOf(error))
    this.#lostAt ??= now
    const seconds = this.#seconds ?? Number.POSITIVE_INFINITY
    return signal.aborted || now - this.#lostAt > seconds * 1000
  }

  #noticeOf(error: unknown): string {
    const message = messageOf(error)
    const howLong = this.#seconds === null ? 'until it answers' : `for up to ${this.#seconds} s`
    if (error instanceof UnreachableError) return `${message} Trying again ${howLong}.`
    return `the connection to Postgres was lost (${message}); what was under way is done again when it is back`
  }
}

/** No such schema, relation, function, type, or constraint for ON CONFLICT. */
const missing = /^(3F000|42P01|42883|42704|42P10)$/

/** A database that was dropped and made again has none of our tables until it is restored, and no keys until that is done. */
async function isWarehouseGone(pool: pg.Pool, error: unknown): Promise<boolean> {
  if (!missing.test(String((error as { code?: unknown } | null)?.code ?? ''))) return false
  try {
    const { rows } = await pool.query<{ gone: boolean }>(
      `select to_regclass('ops.schema_migration') is null or to_regclass('ops.schema_migration_pkey') is null as gone`,
    )
    return rows[0]!.gone
  } catch (fault) {
    return isConnectionLoss(fault)
  }
}

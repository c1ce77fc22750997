import { isConnectionLoss } from '../db/connect.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { sleep } from '../values/sleep.ts'

const firstWaitMs = 250
const longestWaitMs = 2_000

/**
 * What a process does while Postgres is away: it waits, tries again, and goes on. After `seconds` without an answer it gives up,
 * with `null` never. One for each loop of work, so that an outage is told of once.
 */
export class Patience {
  readonly #log: Log
  readonly #signal: AbortSignal
  readonly #seconds: number | null
  #lostAt: number | null = null

  constructor(log: Log, signal: AbortSignal, seconds: number | null) {
    this.#log = log
    this.#signal = signal
    this.#seconds = seconds
  }

  /** Does it again until Postgres answers. Any other error, and the loss itself once patience is spent or the signal is
   *  there, is thrown as it came. */
  async whenBack<Result>(act: () => Promise<Result>): Promise<Result> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 2)) {
      try {
        const result = await act()
        if (this.#lostAt !== null) this.#log.info('Postgres answers again; the work goes on')
        this.#lostAt = null
        return result
      } catch (error) {
        if (!isConnectionLoss(error) || this.#isSpent(error)) throw error
        await sleep(waitMs)
      }
    }
  }

  #isSpent(error: unknown): boolean {
    const now = performance.now()
    if (this.#lostAt === null)
      this.#log.warn(
        `the connection to Postgres was lost (${messageOf(error)}); what was under way is done again when it is back`,
      )
    this.#lostAt ??= now
    const seconds = this.#seconds ?? Number.POSITIVE_INFINITY
    return this.#signal.aborted || now - this.#lostAt > seconds * 1000
  }
}

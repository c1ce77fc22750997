import type pg from 'pg'
import { assertSchemaCurrent } from '../db/migrate.ts'
import { messageOf } from '../errors.ts'

/** How long a probe waits for the warehouse. */
const timeoutMs = 3_000
/** Probes within this time share one answer. */
const cacheMs = 1_000

/** Whether this process may get work. `reason` holds no secret. */
export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: string }

/** Checks readiness: the warehouse answers and has the schema of this code, and the process is not stopping. */
export class ReadinessProbe {
  readonly #pool: pg.Pool
  readonly #signal: AbortSignal
  #checking: Promise<Readiness> | null = null
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(pool: pg.Pool, signal: AbortSignal) {
    this.#pool = pool
    this.#signal = signal
  }

  async check(): Promise<Readiness> {
    if (this.#signal.aborted) return { ready: false, reason: 'it is stopping' }
    if (this.#checking === null || performance.now() - this.#checkedAt > cacheMs) {
      this.#checkedAt = performance.now()
      this.#checking = this.#checkWarehouse()
    }
    return await this.#checking
  }

  async #checkWarehouse(): Promise<Readiness> {
    const timer = AbortSignal.timeout(timeoutMs)
    const late = new Promise<Readiness>((done) => {
      const reason = `the warehouse did not answer within ${timeoutMs / 1000} s`
      timer.addEventListener('abort', () => done({ ready: false, reason }))
    })
    return await Promise.race([this.#checkSchema(), late])
  }

  async #checkSchema(): Promise<Readiness> {
    try {
      await assertSchemaCurrent(this.#pool)
      return { ready: true }
    } catch (error) {
      return { ready: false, reason: messageOf(error) }
    }
  }
}

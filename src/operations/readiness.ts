import type pg from 'pg'
import { assertSchemaCurrent } from '../db/migrate.ts'
import { messageOf } from '../errors.ts'

/** How long a probe waits for the warehouse. */
const patienceMs = 3_000
/** Probes within this time share one answer. */
const keepMs = 1_000

/** May this process get work? `reason` says why not; it holds no secret. */
export type Readiness =
  | { readonly ready: true }
  | { readonly ready: false; readonly reason: string }

/** Ready is a process whose warehouse answers and has the schema that this code knows, and that is not about to stop. */
export class ReadinessProbe {
  readonly #pool: pg.Pool
  readonly #signal: AbortSignal
  #asking: Promise<Readiness> | null = null
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(pool: pg.Pool, signal: AbortSignal) {
    this.#pool = pool
    this.#signal = signal
  }

  async check(): Promise<Readiness> {
    if (this.#signal.aborted) return { ready: false, reason: 'it is stopping' }
    if (this.#asking === null || performance.now() - this.#askedAt > keepMs) {
      this.#askedAt = performance.now()
      this.#asking = this.#askWarehouse()
    }
    return await this.#asking
  }

  async #askWarehouse(): Promise<Readiness> {
    const timer = AbortSignal.timeout(patienceMs)
    const late = new Promise<Readiness>((done) => {
      const reason = `the warehouse did not answer within ${patienceMs / 1000} s`
      timer.addEventListener('abort', () => done({ ready: false, reason }))
    })
    return await Promise.race([this.#askSchema(), late])
  }

  async #askSchema(): Promise<Readiness> {
    try {
      await assertSchemaCurrent(this.#pool)
      return { ready: true }
    } catch (error) {
      return { ready: false, reason: messageOf(error) }
    }
  }
}

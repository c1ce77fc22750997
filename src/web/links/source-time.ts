import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { LinkContext } from './link.ts'
import { SingleFlight } from './single-flight.ts'

/** How long a click waits for the source's clock. */
const timeoutMs = 2000
/** After the source did not answer, the last measurement is used for this long. */
const pauseMs = 30_000
/** A measurement that took longer is too coarse to use. */
const coarseMs = 5000

/** The source's time for a click. Each click asks for it, since a link that wrongly counts as valid leads the user to an error.
 *  Simultaneous clicks share one request; while the source does not answer, the last measurement is used. */
export class SourceTime {
  readonly #context: LinkContext
  readonly #asking = new SingleFlight<void>()
  #pauseUntil = 0

  constructor(context: LinkContext) {
    this.#context = context
  }

  async now(): Promise<Date> {
    if (performance.now() >= this.#pauseUntil) await this.#asking.join('clock', () => this.#ask())
    return await this.lastKnown()
  }

  /** The same without asking. */
  async lastKnown(): Promise<Date> {
    const { db, appraisal } = this.#context
    return appraisal.clock.measured ? appraisal.clock.now() : await readSourceNow(db)
  }

  /** Measures the clock by the answer of another call. */
  update(date: Date | null, requestedAt: Date): void {
    const receivedAt = new Date()
    if (date === null || receivedAt.getTime() - requestedAt.getTime() > coarseMs) return
    this.#context.appraisal.clock.measure(date.toUTCString(), requestedAt, receivedAt)
  }

  async #ask(): Promise<void> {
    const { appraisal, signal, log } = this.#context
    try {
      await appraisal.measureClock({
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
    } catch {
      this.#pauseUntil = performance.now() + pauseMs
      log.warn("the source's clock could not be read; using its last known time")
    }
  }
}

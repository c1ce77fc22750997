import { sql } from 'kysely'
import type { Db } from '../db/transaction.ts'
import type { LinkContext } from './link.ts'
import { SingleFlight } from './single-flight.ts'

/** How long a click waits for the source's clock. */
const patienceMs = 2000
/** How long a source that did not tell is taken at what it told last. */
const restMs = 30_000
/** A measurement that took longer is too coarse to go by. */
const coarseMs = 5000

/** The source's time as a click needs it: asked for anew, since a link that is taken for alive leads somebody to an error.
 *  Clicks at once share one request; while the source is silent the last measurement counts. */
export class SourceTime {
  readonly #context: LinkContext
  readonly #asking = new SingleFlight<void>()
  #restUntil = 0

  constructor(context: LinkContext) {
    this.#context = context
  }

  async now(): Promise<Date> {
    if (performance.now() >= this.#restUntil) await this.#asking.join('clock', () => this.#ask())
    return await this.lastKnown()
  }

  /** The same without asking. */
  async lastKnown(): Promise<Date> {
    const { db, appraisal } = this.#context
    return appraisal.clock.measured ? appraisal.clock.now() : await readSourceNow(db)
  }

  /** Takes the time from an answer that came anyway. */
  update(date: Date | null, requestedAt: Date): void {
    const receivedAt = new Date()
    if (date === null || receivedAt.getTime() - requestedAt.getTime() > coarseMs) return
    this.#context.appraisal.clock.measure(date.toUTCString(), requestedAt, receivedAt)
  }

  async #ask(): Promise<void> {
    const { appraisal, signal, log } = this.#context
    try {
      await appraisal.measureClock({
        signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]),
      })
    } catch {
      this.#restUntil = performance.now() + restMs
      log.warn("the source's clock could not be read; its last known time is gone by")
    }
  }
}

/** The source's time without asking it: ours, and the difference that the newest run measured. */
export async function readSourceNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    select now() + coalesce(
      (select source_started_at - started_at from ops.run
       where arguments ->> 'mode' <> 'replay' order by run_id desc limit 1), '0') as now`.execute(
    db,
  )
  return rows[0]!.now
}

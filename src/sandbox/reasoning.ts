import { sampleOf } from './decode-vin.ts'
import { samples } from './samples.ts'
import { hash32 } from '../values/hash32.ts'

/** [A §3] */
export type ReasoningStatus = 'processing' | 'completed' | 'unavailable'

/** The reasoning of the pricing AI, which starts at the first request for it. */
export class Reasoning {
  readonly #askedAt = new Map<number, number>()

  /** The status of the reasoning for an evaluation; the first call starts it. */
  start(evalId: number, vin: string | null | undefined, now: Date): ReasoningStatus {
    const askedAt = this.#askedAt.get(evalId) ?? now.getTime()
    this.#askedAt.set(evalId, askedAt)
    return statusOf(`evaluation ${evalId}`, vin, now.getTime() - askedAt)
  }

  /** Whether the reasoning was started and is not finished. */
  isRunning(evalId: number, now: Date): boolean {
    const askedAt = this.#askedAt.get(evalId)
    return askedAt !== undefined && isRunning(`evaluation ${evalId}`, now.getTime() - askedAt)
  }
}

/** `processing` for 10 to 90 seconds [A §8], then `completed`; `unavailable` for the sample and about one in twenty.
 *  A function of the subject and the elapsed time. */
export function statusOf(
  subject: string,
  vin: string | null | undefined,
  elapsedMs: number,
): ReasoningStatus {
  if (isRunning(subject, elapsedMs)) return 'processing'
  const sample = sampleOf(vin)
  const fails =
    sample === undefined
      ? hash32(`reasoning on ${subject} ends`) % 20 === 0
      : sample.vin === samples.reasoningUnavailable.vin
  return fails ? 'unavailable' : 'completed'
}

function isRunning(subject: string, elapsedMs: number): boolean {
  return elapsedMs < 10_000 + (hash32(`reasoning on ${subject} takes`) % 80_001)
}

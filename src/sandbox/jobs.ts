import { hashHex } from '../values/hash32.ts'
import type { KnownVehicle } from './find-vehicle.ts'
import type { ModelPrices } from './price-model.ts'
import { type ReasoningStatus, reasoningStatus } from './reasoning.ts'

/** A vehicle of a batch: prices, or why there are none. */
export interface PricedVehicle {
  /** The reference of the caller. */
  readonly reference: string
  readonly prices?: ModelPrices
  readonly currency?: string
  readonly error?: string
}

/** A price batch as a poll returns it. */
interface PolledBatch {
  /** Whole, 0 to 100. */
  readonly percentComplete: number
  /** null until it is complete. */
  readonly results: readonly PricedVehicle[] | null
}

/** A requested prediction; its prices are known at once. */
export interface Prediction extends KnownVehicle {
  readonly id: string
  readonly askedAt: Date
  /** The date of the prediction. */
  readonly at: Date
  readonly vin: string | null
  readonly km: number | null
  readonly currency: string
  readonly prices: ModelPrices
  readonly withReasoning: boolean
}

interface Batch {
  readonly id: string
  readonly results: readonly PricedVehicle[]
  readonly submittedAt: Date
  polls: number
  percentComplete: number
}

const maxJobs = 200

/** Price batches and predictions, the latest 200 of each. */
export class Jobs {
  readonly #batches = new Map<string, Batch>()
  readonly #predictions = new Map<string, Prediction>()
  #last = 0

  addBatch(results: readonly PricedVehicle[], now: Date): { readonly id: string } {
    const id = this.#nextId('B')
    const batch = { id, results, submittedAt: now, polls: 0, percentComplete: 0 }
    keep(this.#batches, id, batch)
    return batch
  }

  /** Each poll counts as one second, so that a batch also ends when the clock is frozen. Progress never falls. */
  pollBatch(id: string, now: Date): PolledBatch | undefined {
    const batch = this.#batches.get(id)
    if (batch === undefined) return undefined
    batch.polls += 1
    const passedMs = Math.max(0, now.getTime() - batch.submittedAt.getTime()) + batch.polls * 1000
    const percent = Math.min(100, Math.floor((passedMs / batchMs(batch)) * 100))
    batch.percentComplete = Math.max(batch.percentComplete, percent)
    const { percentComplete, results } = batch
    return { percentComplete, results: percentComplete === 100 ? results : null }
  }

  addPrediction(draft: Omit<Prediction, 'id'>): Prediction {
    const prediction = { ...draft, id: this.#nextId('P') }
    keep(this.#predictions, prediction.id, prediction)
    return prediction
  }

  prediction(id: string): Prediction | undefined {
    return this.#predictions.get(id)
  }

  #nextId(letter: string): string {
    this.#last += 1
    return `${letter}-${this.#last}-${hashHex(`${letter} ${this.#last}`)}`
  }
}

/** Complete at once without reasoning, else after 10 to 90 s [V §3, §8]. */
export function predictionStatusAt(prediction: Prediction, now: Date): ReasoningStatus {
  if (!prediction.withReasoning) return 'completed'
  const elapsedMs = now.getTime() - prediction.askedAt.getTime()
  return reasoningStatus(`prediction ${prediction.id}`, prediction.vin, elapsedMs)
}

/** One second per 50 vehicles, and at least one second in which a poll finds it incomplete. */
function batchMs({ results }: Batch): number {
  return Math.max(2, results.length / 50) * 1000
}

function keep<T>(jobs: Map<string, T>, id: string, job: T): void {
  jobs.set(id, job)
  if (jobs.size <= maxJobs) return
  const [oldest] = jobs.keys()
  jobs.delete(oldest!)
}

import type { RateReading } from './api/rate/rate-budgets.ts'
import type { AppraisalClient } from './api/sources/appraisal/client.ts'
import type { FairReadQueue } from './api/sources/fair-read-queue.ts'
import type { ServiceClient } from './api/sources/service-client.ts'
import type { SliceLimits } from './values/slice-limits.ts'
import type { Queue } from './warehouse/queue/queue.ts'
import type { Warehouse } from './warehouse/warehouse.ts'

/** Everything a run needs. */
export interface Context extends Warehouse {
  readonly queue: Queue
  /** The newest migration that this process knows; it does not write to a newer warehouse. */
  readonly schemaVersion: number
  readonly appraisal: AppraisalClient
  /** All other reads of both services; shares connections and limiters with `appraisal`. */
  readonly services: ServiceClient<'read'>
  /** The current rate limit of each key over all processes, and the requests of this process in flight. */
  readonly rates: () => RateReading[]
  /** Stores how the keys were answered up to now. */
  readonly storeKeyAnswers: () => Promise<void>
  /** Which slice's records this process reads first. */
  readonly readQueue: FairReadQueue
  readonly sliceLimits: SliceLimits
  /** Ends reading and writing at the next safe point. */
  readonly signal: AbortSignal
  /** Called at named points of a slice, where tests kill the process. */
  readonly crashPoint: (name: string) => void
  readonly progress: Progress
}

/** Receives the progress of the work; draws bars on a terminal. */
export interface Progress {
  slice(slice: {
    stream: string
    rooftop: string
    done: number
    total: number
    records: number
  }): void
  end(): void
}

export const noProgress: Progress = { slice: () => {}, end: () => {} }

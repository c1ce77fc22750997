import type { Kysely } from 'kysely'
import type { Tables } from '../db/tables.ts'
import type { CallOptions } from '../sources/http.ts'
import type { RooftopRow } from '../values/rooftop.ts'
import type { Sources } from './stream-sources.ts'
import type { Loaded, RecordWarning } from './record.ts'

/** The config settings that batch streams use. */
export interface BatchSettings {
  readonly vehicleData: { readonly apiKey: string | null }
  readonly prices: { readonly batchSize: number; readonly market: string | null }
}

/** A unit on hand that a batch asks about. Its stock number is the reference of its result. */
export interface BatchUnit {
  readonly stockNo: string
  readonly vin: string | null
  readonly adcode: string | null
  readonly odometerKm: number | null
}

/** Which units to find for a run. */
export interface DueUnitsQuery {
  readonly runId: number
  /** The source's clock when the run began. */
  readonly sourceStart: Date
  readonly limit: number
  /** Also units that were answered lately, because a user asks for them now. */
  readonly again: boolean
}

/** What the service knows about a VIN. */
export interface LookUp {
  readonly vin: string
  readonly outcome: 'decoded' | 'unknown'
  readonly adcode: string | null
  /** What the vehicle is, as far as the service says. */
  readonly make: string | null
  readonly model: string | null
  /** The source's time of the answer, where it sent one. */
  readonly at: Date | null
}

/** An entry of the results of a batch. */
export interface BatchResult<R = unknown> {
  readonly reference: string | null
  readonly record: R
}

/** The state of a batch, from a poll. */
export interface BatchProgress<R = unknown> {
  /** From 0 to 100. */
  readonly percent: number
  /** In any order; null until it is complete. */
  readonly results: readonly BatchResult<R>[] | null
  readonly text: string
  /** The source's time of the answer, where it sent one. */
  readonly at: Date | null
}

/** A result with its unit. */
export interface BatchAnswer<R = unknown> {
  readonly unit: BatchUnit
  readonly record: R
  /** The source's time of the answer. */
  readonly at: Date
}

/** What a result changed in the warehouse; `failed`: it says why there are no prices. */
export interface BatchLoaded extends Loaded {
  readonly priced: 'priced' | 'failed'
}

/** A unit that is not asked about, or the rooftop itself. */
export interface SkippedUnit extends RecordWarning {
  /** The stock number; the rooftop's uid where it is about all of them. */
  readonly naturalKey: string
}

/**
 * A stream that asks about all units on hand at once, in batches that the source works through while it is polled.
 * `R` is a normalised result. The pipeline handles the ledger of batches, their sizes, payloads and reports.
 */
export interface BatchStream<R = unknown> {
  readonly kind: 'batch'
  readonly name: string
  /** Key of the results in `raw.payload`. */
  readonly endpoint: string
  /** Seconds between two polls, and how long a batch may make no progress. */
  readonly polling: { readonly everySeconds: number; readonly maxStallSeconds: number }
  /** Why the rooftop is not asked about, and what to do; null: it is. */
  skipReason(rooftop: RooftopRow, settings: BatchSettings): string | null
  countOnHand(db: Kysely<Tables>, rooftop: RooftopRow): Promise<number>
  /** VINs to look up before the units are asked about: each once. One without a result is due again later, by the clock of
   *  `storeLookUps`. */
  lookUpsDue(db: Kysely<Tables>, rooftop: RooftopRow, limit: number, now: Date): Promise<string[]>
  lookUp(sources: Sources, rooftop: RooftopRow, vin: string, options: CallOptions): Promise<LookUp>
  storeLookUps(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    lookUps: readonly LookUp[],
    now: Date,
  ): Promise<void>
  /** Units to ask about, by stock number: none of an open batch, and none twice in a run. */
  due(db: Kysely<Tables>, rooftop: RooftopRow, ask: DueUnitsQuery): Promise<BatchUnit[]>
  /** Units on hand that cannot be asked about, each with its reason. */
  skippedUnits(db: Kysely<Tables>, rooftop: RooftopRow): Promise<SkippedUnit[]>
  /** Returns the id for polling. MissingField when the answer holds none. */
  submit(
    sources: Sources,
    rooftop: RooftopRow,
    batch: { readonly batchNo: number; readonly units: readonly BatchUnit[] },
    settings: BatchSettings,
    options: CallOptions,
  ): Promise<string>
  /** MissingField when the answer does not hold what the wire settings name. */
  poll(
    sources: Sources,
    batch: { readonly batchNo: number; readonly batchId: string },
    options: CallOptions,
  ): Promise<BatchProgress<R>>
  /** Writes what differs; returns what each answer changed, in order. */
  load(
    db: Kysely<Tables>,
    rooftop: RooftopRow,
    answers: readonly BatchAnswer<R>[],
    runId: number,
  ): Promise<BatchLoaded[]>
}

/** Declares a batch stream; the result's type stays inside the stream's own files. */
export function defineBatchStream<R>(stream: Omit<BatchStream<R>, 'kind'>): BatchStream {
  return { kind: 'batch', ...stream } as unknown as BatchStream
}

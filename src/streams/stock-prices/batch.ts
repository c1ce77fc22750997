import type { BatchPrice } from '../../api/contract/vehicle-data/prices.ts'
import type { Loaded, RecordWarning } from '../../values/record.ts'
import { normaliseStockPrice, type StockPriceRecord } from './normalise.ts'

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
export interface BatchResult {
  readonly reference: string | null
  readonly record: StockPriceRecord
}

/** The state of a batch, from a poll. */
export interface BatchProgress {
  /** From 0 to 100. */
  readonly percent: number
  /** In any order; null until it is complete. */
  readonly results: readonly BatchResult[] | null
  readonly text: string
  /** The source's time of the answer, where it sent one. */
  readonly at: Date | null
}

/** A result with its unit. */
export interface BatchAnswer {
  readonly unit: BatchUnit
  readonly record: StockPriceRecord
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

/** The entries of a complete batch. Pure. */
export function normaliseResults(results: readonly BatchPrice[]): BatchResult[] {
  return results.map((result) => ({
    reference: result.reference,
    record: normaliseStockPrice(result),
  }))
}

/** The results of a batch, matched to its units by reference. */
export interface Matched {
  readonly answers: readonly { readonly unit: BatchUnit; readonly record: StockPriceRecord }[]
  /** Units of the batch that have no result. */
  readonly missing: readonly BatchUnit[]
  /** Units with several results. Which one is right is not known, so none is used. */
  readonly duplicate: readonly BatchUnit[]
  /** References that are not in the batch, each once; the empty text for results without a reference. */
  readonly unknown: readonly string[]
}

/** Pure. Every unit is in exactly one of the first three lists, in the order of the batch. */
export function matchResults(
  units: readonly BatchUnit[],
  results: readonly BatchResult[],
): Matched {
  const byReference = Map.groupBy(results, ({ reference }) => reference ?? '')
  const matched = units.map((unit) => ({ unit, found: byReference.get(unit.stockNo) ?? [] }))
  const stockNumbers = new Set(units.map(({ stockNo }) => stockNo))
  return {
    answers: matched.flatMap(({ unit, found }) =>
      found.length === 1 ? [{ unit, record: found[0]!.record }] : [],
    ),
    missing: matched.flatMap(({ unit, found }) => (found.length === 0 ? [unit] : [])),
    duplicate: matched.flatMap(({ unit, found }) => (found.length > 1 ? [unit] : [])),
    unknown: [...byReference.keys()].filter((reference) => !stockNumbers.has(reference)),
  }
}

import type { BatchResult, BatchUnit } from '../streams/batch-stream.ts'

/** The results of a batch held against what was asked, one to one by reference. */
export interface Matched {
  readonly answers: readonly { readonly unit: BatchUnit; readonly record: unknown }[]
  /** Asked about, and not among the results. */
  readonly missing: readonly BatchUnit[]
  /** Answered more than once: which answer holds is not known, so none does. */
  readonly duplicate: readonly BatchUnit[]
  /** References that were not asked about, each once; the empty text for results without one. */
  readonly unknown: readonly string[]
}

/** Pure. Every unit comes out in exactly one of the first three, in the order in which it was asked about. */
export function matchResults(
  units: readonly BatchUnit[],
  results: readonly BatchResult[],
): Matched {
  const byReference = Map.groupBy(results, ({ reference }) => reference ?? '')
  const told = units.map((unit) => ({ unit, own: byReference.get(unit.stockNo) ?? [] }))
  const asked = new Set(units.map(({ stockNo }) => stockNo))
  return {
    answers: told.flatMap(({ unit, own }) =>
      own.length === 1 ? [{ unit, record: own[0]!.record }] : [],
    ),
    missing: told.flatMap(({ unit, own }) => (own.length === 0 ? [unit] : [])),
    duplicate: told.flatMap(({ unit, own }) => (own.length > 1 ? [unit] : [])),
    unknown: [...byReference.keys()].filter((reference) => !asked.has(reference)),
  }
}

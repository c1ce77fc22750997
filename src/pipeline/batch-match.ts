import type { BatchResult, BatchUnit } from '../streams/batch-stream.ts'

/** The results of a batch, matched to its units by reference. */
export interface Matched {
  readonly answers: readonly { readonly unit: BatchUnit; readonly record: unknown }[]
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
  const asked = new Set(units.map(({ stockNo }) => stockNo))
  return {
    answers: matched.flatMap(({ unit, found }) =>
      found.length === 1 ? [{ unit, record: found[0]!.record }] : [],
    ),
    missing: matched.flatMap(({ unit, found }) => (found.length === 0 ? [unit] : [])),
    duplicate: matched.flatMap(({ unit, found }) => (found.length > 1 ? [unit] : [])),
    unknown: [...byReference.keys()].filter((reference) => !asked.has(reference)),
  }
}

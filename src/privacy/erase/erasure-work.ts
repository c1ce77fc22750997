import type { AppraisalWire } from '../../values/wire.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Search } from './search.ts'
import type { TextTable } from './text-tables.ts'

/** What all parts of an erasure use, in its transaction or before it. */
export interface ErasureWork {
  readonly db: Db
  readonly wire: AppraisalWire
  readonly tables: readonly TextTable[]
  readonly search: Search
}

/** An evaluation of a dealer group; `rooftopIds` are all of the group. */
export interface EvaluationKey {
  readonly groupId: number
  readonly evalId: number
  readonly rooftopIds: readonly number[]
}

/** Rows that changed, by table. */
export type Counts = Readonly<Record<string, number>>

/** The sums by table, without zeros. */
export function addCounts(...all: readonly Counts[]): Counts {
  const sum: Record<string, number> = {}
  for (const counts of all)
    for (const [table, count] of Object.entries(counts))
      if (count > 0) sum[table] = (sum[table] ?? 0) + count
  return sum
}

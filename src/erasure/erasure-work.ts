import type pg from 'pg'
import { allOperations } from '../contract/operations.ts'
import { allStreams } from '../streams/all.ts'
import type { AppraisalWire } from '../values/wire.ts'
import type { Search } from './search.ts'
import type { EvaluationKeys, TextTable } from './text-tables.ts'

/** What all parts of an erasure use, in its transaction or before it. */
export interface ErasureWork {
  readonly client: pg.ClientBase
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

const asks = allStreams.flatMap(({ enrichment }) => enrichment?.asks ?? [])

/** Payloads and quarantined records that belong to one evaluation. */
export const evaluationKeys: EvaluationKeys = {
  endpoints: [
    ...new Set([
      ...allStreams.flatMap(({ records }) => records?.endpoint ?? []),
      ...asks,
      ...allOperations.filter(({ fields }) => 'evalid' in fields.shape).map(({ name }) => name),
    ]),
  ],
  streams: allStreams
    .filter(({ records, enrichment }) => records ?? enrichment)
    .map(({ name }) => name),
  suffixes: ['', ...asks.map((ask) => `/${ask}`)],
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

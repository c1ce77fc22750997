import type pg from 'pg'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { readWrittenColumns } from '#src/warehouse/db/copy.ts'

/** The tables that an evaluation fills, in the order in which they are written. */
export const filledTables: readonly string[] = [...evaluationRecords.tables, 'raw.payload']

/** Each of them with its columns whose values Postgres does not generate. */
export async function readFilledTables(pool: pg.Pool): Promise<Map<string, string[]>> {
  const columns = new Map<string, string[]>()
  for (const table of filledTables) columns.set(table, await readWrittenColumns(pool, table))
  return columns
}

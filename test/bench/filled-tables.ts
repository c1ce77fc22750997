import { columns } from '#src/db/tables.ts'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'

/** The tables that an evaluation fills, in the order in which they are written. */
export const filledTables: readonly string[] = [...evaluationRecords.tables, 'raw.payload']

/** The columns that are written; Postgres generates the others. */
export function writtenColumns(table: string): string[] {
  return columns[table]!.filter(({ generated }) => !generated).map(({ name }) => name)
}

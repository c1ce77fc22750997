import { columns } from '#src/db/tables.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'

/** The tables that an evaluation fills, in the order in which they are written. */
export const filledTables: readonly string[] = [...evaluations.tables, 'raw.payload']

/** The columns that are written; Postgres generates the others. */
export function writtenColumns(table: string): string[] {
  return columns[table]!.filter(({ generated }) => !generated).map(({ name }) => name)
}

import { sql } from 'kysely'
import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { fields } from '../csv/map/stock-fields.ts'
import { type ChosenRows, rejectsText } from './rejects.ts'
import { stockTables } from './stage.ts'

const stored = z.object({
  delimiter: z.string().min(1),
  header: z.object({ names: z.array(z.string()) }).nullable(),
  mapping: z.array(z.object({ index: z.number(), field: z.enum(fields).nullable().catch(null) })),
})

/** Rows of an import as a list that can be imported again, in the form of `--rejects`: what the dealer wrote, with the problems that
 *  its cells no longer show. UsageError when there is no such import. */
export async function* storedListText(
  db: Db,
  importId: number,
  chosen: ChosenRows,
): AsyncGenerator<string> {
  const { rows } = await sql`
    select delimiter, header, mapping
    from core.stock_import where import_id = ${importId}`.execute(db)
  if (rows.length === 0) throw new UsageError(`There is no import ${importId}.`)
  const { delimiter, header, mapping: columns } = stored.parse(rows[0])
  const source = { rowsTable: stockTables.rows, importId, delimiter, columns }
  yield* rejectsText(db, { ...source, names: header?.names ?? null }, chosen)
}

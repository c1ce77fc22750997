import { type RawBuilder, sql } from 'kysely'
import type { Db } from './transaction.ts'

const rowsOfAPage = 2000

/**
 * Yields the rows of a query page by page, from a cursor in the open transaction. The next page is fetched on
 * demand, so a slow reader slows the query down and memory holds one page.
 */
export async function* queryPages<Row>(
  db: Db,
  query: RawBuilder<Row>,
): AsyncGenerator<readonly Row[]> {
  // The reader of a pipe may pause longer than the usual timeout for idle transactions.
  await sql`set local idle_in_transaction_session_timeout = '1h'`.execute(db)
  await sql`set local cursor_tuple_fraction = 1`.execute(db)
  await sql`declare page_rows no scroll cursor for ${query}`.execute(db)
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(rowsOfAPage)} from page_rows`.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < rowsOfAPage) break
  }
  await sql`close page_rows`.execute(db)
}

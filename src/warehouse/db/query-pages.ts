import type pg from 'pg'

const rowsOfAPage = 2000

/**
 * Yields the rows of a query page by page, from a cursor in the open transaction. The next page is fetched on
 * demand, so a slow reader slows the query down and memory holds one page.
 */
export async function* queryPages<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
  values: readonly unknown[] = [],
): AsyncGenerator<readonly Row[]> {
  // The reader of a pipe may pause longer than the usual timeout for idle transactions.
  await client.query("set local idle_in_transaction_session_timeout = '1h'")
  await client.query('set local cursor_tuple_fraction = 1')
  await client.query({
    text: `declare page_rows no scroll cursor for ${query}`,
    values: [...values],
  })
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${rowsOfAPage} from page_rows`)
    if (rows.length > 0) yield rows
    if (rows.length < rowsOfAPage) break
  }
  await client.query('close page_rows')
}

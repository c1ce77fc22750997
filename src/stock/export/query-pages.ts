import type pg from 'pg'

const rowsOfAPage = 2000

/**
 * The rows of a query, a page at a time, from a cursor of the open transaction: the next page is fetched when it is
 * asked for, so a slow reader slows the query down and memory stays that of a page.
 */
export async function* queryPages<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
  values: readonly unknown[] = [],
): AsyncGenerator<readonly Row[]> {
  // Whoever reads a pipe may pause for longer than a transaction may otherwise sit idle.
  await client.query("set local idle_in_transaction_session_timeout = '1h'")
  await client.query('set local cursor_tuple_fraction = 1')
  await client.query({
    text: `declare export_rows no scroll cursor for ${query}`,
    values: [...values],
  })
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${rowsOfAPage} from export_rows`)
    if (rows.length > 0) yield rows
    if (rows.length < rowsOfAPage) break
  }
  await client.query('close export_rows')
}

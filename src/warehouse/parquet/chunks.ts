import type pg from 'pg'
import { type Mart, martQuery } from '../marts/mart.ts'
import { parquetColumn } from './columns.ts'
import { copyRows } from './copy-rows.ts'
import { ParquetWriter } from './writer.ts'

/** The bytes of a mart as a Parquet file, a group of rows at a time; returns the number of rows. */
export async function* parquetChunks(
  client: pg.ClientBase,
  mart: Mart,
): AsyncGenerator<Uint8Array, number> {
  const columns = mart.columns.map(parquetColumn)
  const writer = new ParquetWriter(columns)
  const query = martQuery(mart, (column, quoted) => parquetColumn(column).expression(quoted))
  for await (const rows of copyRows(client, query, columns.length))
    for (const { buffer, starts, lengths } of rows) {
      writer.add(buffer, starts, lengths, 0)
      if (writer.isFull) yield writer.endGroup()
    }
  yield writer.end()
  return writer.rows
}

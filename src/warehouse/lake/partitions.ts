import { createHash } from 'node:crypto'
import type pg from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { quotedName } from '../marts/mart.ts'
import type { AddedFile } from './delta-actions.ts'
import { monthColumn } from './paths.ts'
import type { LakeTable } from './tables.ts'

/** The rows of one month, or of a table without months (undefined). */
export type Month = string | null | undefined

/** Raised when the same rows are written in another way. */
const fileFormat = 2

/**
 * SQL for a hash of a row `t`, whose sum over rows does not depend on their order. The hash of a record is linear in those of its columns, so
 * it is hashed again: else two rows that exchange a value would have the same sum.
 */
export function rowHashSql({ columns }: Pick<LakeTable, 'columns'>): string {
  const row = columns
    .map(({ name, deltaType, expression }) => {
      const column = `t.${quotedName(name)}`
      // JSON and arrays can be equal and have other texts.
      return deltaType === 'string' ? expression(column) : column
    })
    .join(', ')
  return `hashint8extended(hash_record_extended(row(${row}), 0), 1)`
}

/** Changes with any value of any row, with a column, with the version of the marts, and with the format of the files. */
export function digestMonth(
  { columns, month, order }: LakeTable,
  martVersion: string,
  rows: number,
  sum: bigint,
): string {
  const types = columns.map(({ name, sqlType, deltaType }) => [name, sqlType, deltaType])
  const text = JSON.stringify([fileFormat, martVersion, month, order, types])
  const schema = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return `${schema}:${rows}:${sum}`
}

/** The digest of each month that has rows. */
export type Digests = ReadonlyMap<Month, string>

interface Snapshot {
  readonly pool: pg.Pool
  /** In the transaction whose snapshot it is. */
  readonly client: pg.ClientBase
}

/** The digests of tables by name, from one scan of each in the database: two at once, in the same snapshot. */
export async function readAllDigests(
  { pool, client }: Snapshot,
  tables: readonly LakeTable[],
  martVersion: string,
): Promise<ReadonlyMap<string, Digests>> {
  const found = new Map<string, Digests>()
  const waiting = [...tables]
  const work = async (session: pg.ClientBase) => {
    for (let table = waiting.shift(); table !== undefined; table = waiting.shift())
      try {
        found.set(table.name, await readDigests(session, table, martVersion))
      } catch (error) {
        // The other session must not read on.
        waiting.length = 0
        throw error
      }
  }
  const { rows } = await client.query<{ id: string }>('select pg_export_snapshot() as id')
  const beside = inTransaction(
    pool,
    async (second) => {
      await second.client.query(`set transaction snapshot '${rows[0]!.id}'`)
      await second.client.query('set local statement_timeout = 0')
      await work(second.client)
    },
    'repeatable read, read only',
  )
  const results = await Promise.allSettled([work(client), beside])
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return found
}

async function readDigests(
  client: pg.ClientBase,
  table: LakeTable,
  martVersion: string,
): Promise<Digests> {
  const { rows } = await client.query<{ month: string | null; rows: string; sum: string }>(
    `select ${table.month ?? 'null'} as month, count(*)::text as rows, sum(${rowHashSql(table)})::text as sum
     from ${table.source} group by 1`,
  )
  return new Map(
    rows.map(({ month, rows: count, sum }) => [
      table.month === null ? undefined : month,
      digestMonth(table, martVersion, Number(count), BigInt(sum)),
    ]),
  )
}

/** The month of a file, and the digest and the number of files of that month. */
export function filePart({ partitionValues, tags }: AddedFile) {
  const month: Month = monthColumn in partitionValues ? partitionValues[monthColumn] : undefined
  return { month, digest: tags?.['digest'], parts: Number(tags?.['parts']) }
}

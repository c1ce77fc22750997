import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, inTwoSessions, type Snapshot, type Tx } from '../db/transaction.ts'
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

/** Begins every digest of a table: changes with a column, with the version of the marts, and with the format of the files. */
export function schemaDigest({ columns, month, order }: LakeTable, martVersion: string): string {
  const types = columns.map(({ name, sqlType, deltaType }) => [name, sqlType, deltaType])
  const text = JSON.stringify([fileFormat, martVersion, month, order, types])
  return `${createHash('sha256').update(text).digest('hex').slice(0, 16)}:`
}

/** Changes with any value of any row, and with the schema. */
export function digestMonth(
  table: LakeTable,
  martVersion: string,
  rows: number,
  sum: bigint,
): string {
  return `${schemaDigest(table, martVersion)}${rows}:${sum}`
}

/** The digest of each month that has rows. */
export type Digests = ReadonlyMap<Month, string>

/** More are found by one scan of the table. */
const maxMonthsByIndex = 4

/** SQL conditions that together find the rows of these months (null: all), each for a query. */
export function rowConditions(table: LakeTable, months: readonly Month[] | null): string[] {
  if (months === null) return ['true']
  if (months.length > maxMonthsByIndex)
    return [`coalesce(${table.month}, '') in (${months.map((month) => `'${month ?? ''}'`)})`]
  return months.map((month) => {
    if (month === undefined) return 'true'
    return month === null ? `${table.month} is null` : table.inMonth(month)
  })
}

/** Rows of a table. */
export interface Wanted {
  readonly table: LakeTable
  /** The months that may have changed; null: all. */
  readonly months: readonly Month[] | null
}

/** The digests of tables by name: two sessions read them, in the same snapshot. */
export async function readAllDigests(
  snapshot: Snapshot,
  tables: readonly Wanted[],
  martVersion: string,
): Promise<ReadonlyMap<string, Digests>> {
  const found = new Map<string, Digests>()
  const read = async ({ db }: Tx, wanted: Wanted) =>
    void found.set(wanted.table.name, await readDigests(db, wanted, martVersion))
  await inTwoSessions(snapshot, tables, read, sessionSettings)
  return found
}

/** While files are sent, a transaction is idle. Months are sorted. */
export const sessionSettings = sql`
  set local idle_in_transaction_session_timeout = '1h'; set local statement_timeout = 0; set local work_mem = '64MB'`

async function readDigests(
  db: Db,
  { table, months }: Wanted,
  martVersion: string,
): Promise<Digests> {
  const found = new Map<Month, string>()
  for (const condition of rowConditions(table, months)) {
    const { rows } = await sql<{ month: string | null; rows: string; sum: string }>`
      select ${sql.raw(table.month ?? 'null')} as month, count(*)::text as rows, sum(${sql.raw(rowHashSql(table))})::text as sum
      from ${sql.raw(table.source)} where ${sql.raw(condition)} group by 1`.execute(db)
    for (const { month, rows: count, sum } of rows)
      found.set(
        table.month === null ? undefined : month,
        digestMonth(table, martVersion, Number(count), BigInt(sum)),
      )
  }
  return found
}

/** The month of a file, and the digest and the number of files of that month. */
export function filePart({ partitionValues, tags }: AddedFile) {
  const month: Month = monthColumn in partitionValues ? partitionValues[monthColumn] : undefined
  return { month, digest: tags?.['digest'], parts: Number(tags?.['parts']) }
}

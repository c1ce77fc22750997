import { createHash } from 'node:crypto'
import type pg from 'pg'
import { queryPages } from '../db/query-pages.ts'
import { quotedName } from '../marts/mart.ts'
import type { Partition } from './files.ts'
import type { LakeTable } from './tables.ts'

/** A partition with the state of its rows. */
export interface PartitionState extends Partition {
  readonly rows: number
  /** Changes with any value of any row, with a column, with the version of the marts, and with the format of the files. */
  readonly digest: string
}

/** Raised when the same rows are written in another way. */
const fileFormat = 1

/** SQL for two hashes of a row `t`. Their sums do not depend on the order of the rows, and have 128 bits. */
export function hashesOf({ columns }: Pick<LakeTable, 'columns'>): readonly [string, string] {
  const body = `row(${columns.map(({ name }) => `t.${quotedName(name)}`).join(', ')})::text`
  return [`hashtextextended(${body}, 0)`, `hashtextextended(${body}, 1)`]
}

/** The digest of rows from their number and the sums of their hashes. */
export function digestOf(
  { columns, monthOf }: LakeTable,
  martVersion: string,
  { rows, sums }: { readonly rows: number; readonly sums: readonly [bigint, bigint] },
): string {
  const text = JSON.stringify([fileFormat, martVersion, monthOf, columns])
  const schema = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return `${schema}:${rows}:${sums.join(':')}`
}

/**
 * The partitions of a table, from one scan of its rows in the database. A table without rows has one partition, so that its
 * columns can be read.
 */
export async function readPartitions(
  client: pg.ClientBase,
  table: LakeTable,
  martVersion: string,
): Promise<readonly PartitionState[]> {
  const [first, second] = hashesOf(table)
  const key = table.month === null ? 'null::int, null::text' : `t.rooftop_id, ${table.month}`
  const query = `
    select rooftop, month, count(*)::text as rows, sum(first)::text as first, sum(second)::text as second
    from (select ${key}, ${first}, ${second} from ${table.source}) as hashed (rooftop, month, first, second)
    group by rooftop, month order by rooftop, month`
  const found: PartitionState[] = []
  for await (const page of queryPages<Sums>(client, query))
    for (const { rooftop, month, rows, first, second } of page) {
      const state = { rows: Number(rows), sums: [BigInt(first), BigInt(second)] as const }
      found.push({ rooftop, month, rows: state.rows, digest: digestOf(table, martVersion, state) })
    }
  if (found.length > 0) return found
  return [{ rooftop: null, month: null, rows: 0, digest: digestOf(table, martVersion, noRows) }]
}

const noRows = { rows: 0, sums: [0n, 0n] } as const

interface Sums {
  readonly rooftop: number | null
  readonly month: string | null
  readonly rows: string
  readonly first: string
  readonly second: string
}

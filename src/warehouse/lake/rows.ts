import type pg from 'pg'
import { queryPages } from '../db/query-pages.ts'
import { type MartRow, quotedName } from '../marts/mart.ts'
import { parquetExpression } from '../marts/parquet.ts'
import { hashesOf } from './digests.ts'
import type { Partition } from './files.ts'
import type { LakeTable } from './tables.ts'

/** The rows of one partition, page by page. They must be read to the end before the next partition is asked for. */
export interface PartitionRows {
  readonly partition: Partition
  readonly pages: AsyncIterable<readonly MartRow[]>
}

const monthName = 'month of lake'
const hashNames = ['first hash of lake', 'second hash of lake'] as const

/** The rows of these partitions, one after another; null: of all. One query for each rooftop, which all keys of the warehouse begin with. */
export async function* readRows(
  client: pg.ClientBase,
  table: LakeTable,
  partitions: readonly Partition[] | null,
): AsyncGenerator<PartitionRows> {
  if (partitions === null) {
    yield* readAllRows(client, table)
    return
  }
  for (const [rooftop, own] of Map.groupBy(partitions, (one) => one.rooftop)) {
    if (rooftop === null) yield wholeTable(client, table)
    else
      yield* readRooftop(
        client,
        table,
        rooftop,
        own.map(({ month }) => month),
      )
  }
}

async function* readAllRows(
  client: pg.ClientBase,
  table: LakeTable,
): AsyncGenerator<PartitionRows> {
  let isEmpty = true
  if (table.month !== null) {
    const { rows } = await client.query<{ rooftop: number }>(
      'select rooftop_id as rooftop from mart.dim_rooftop order by 1',
    )
    for (const { rooftop } of rows)
      for await (const one of readRooftop(client, table, rooftop, null)) {
        isEmpty = false
        yield one
      }
  }
  if (isEmpty) yield wholeTable(client, table)
}

function wholeTable(client: pg.ClientBase, table: LakeTable): PartitionRows {
  const pages = queryPages<MartRow>(client, rowsQuery(table))
  return { partition: { rooftop: null, month: null }, pages }
}

/** `months`: only these; null: all. */
async function* readRooftop(
  client: pg.ClientBase,
  table: LakeTable,
  rooftop: number,
  months: readonly (string | null)[] | null,
): AsyncGenerator<PartitionRows> {
  const isWanted = months === null ? 'true' : `coalesce(${table.month}, '') = any($2)`
  const query = `${rowsQuery(table)} where t.rooftop_id = $1 and ${isWanted} order by ${orderOf(table)}`
  const values = [rooftop, ...(months === null ? [] : [months.map((month) => month ?? '')])]
  for await (const { month, pages } of byMonth(queryPages<MartRow>(client, query, values)))
    yield { partition: { rooftop, month }, pages }
}

function rowsQuery(table: LakeTable): string {
  const list = table.columns.map((column) => {
    const name = quotedName(column.name)
    return `(${parquetExpression(column, `t.${name}`)})::text as ${name}`
  })
  const hashes = hashesOf(table).map(
    (hash, at) => `(${hash})::text as ${quotedName(hashNames[at]!)}`,
  )
  const month = `${table.month ?? 'null'} as ${quotedName(monthName)}`
  return `select ${[...list, ...hashes, month].join(', ')} from ${table.source}`
}

/** The number of rows and the sums of their hashes, which grow while `pages` are read. */
export class RowSums {
  rows = 0
  sums: [bigint, bigint] = [0n, 0n]

  async *count(pages: AsyncIterable<readonly MartRow[]>): AsyncGenerator<readonly MartRow[]> {
    for await (const page of pages) {
      this.rows += page.length
      for (const row of page) {
        this.sums[0] += BigInt(row[hashNames[0]]!)
        this.sums[1] += BigInt(row[hashNames[1]]!)
      }
      yield page
    }
  }
}

/** By month, then by key, so that a row group has neighbours. */
function orderOf({ columns, month }: LakeTable): string {
  const keys = ['eval_id', 'stock_no'].filter((key) => columns.some(({ name }) => name === key))
  return [month, ...keys.map((key) => `t.${key}`)].join(', ')
}

/** Splits rows that are sorted by month. */
export async function* byMonth(pages: AsyncIterable<readonly MartRow[]>): AsyncGenerator<{
  readonly month: string | null
  readonly pages: AsyncIterable<readonly MartRow[]>
}> {
  const source = pages[Symbol.asyncIterator]()
  let rest: readonly MartRow[] = []
  const refill = async () => {
    while (rest.length === 0) {
      const next = await source.next()
      if (next.done === true) return false
      rest = next.value
    }
    return true
  }
  while (await refill()) {
    const month = rest[0]![monthName] ?? null
    const own = async function* () {
      while (await refill()) {
        const at = rest.findIndex((row) => (row[monthName] ?? null) !== month)
        const end = at < 0 ? rest.length : at
        const page = rest.slice(0, end)
        rest = rest.slice(end)
        if (page.length > 0) yield page
        if (at >= 0) return
      }
    }
    yield { month, pages: own() }
  }
}

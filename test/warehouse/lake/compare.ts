import type pg from 'pg'
import { type DeltaTable, readLake, rowsOf } from './delta.ts'
import type { DuckDb } from './duckdb.ts'

/** They change with the time of the query. */
const relativeToNow = new Set(['hours_behind', 'days_left'])

/** What one column has, in SQL that both databases understand: the number of values, their sum, the smallest and the greatest. */
function summary(type: string, name: string, isDuck: boolean): string[] {
  const column = `"${name}"`
  const text = (expression: string) =>
    isDuck ? `(${expression})::varchar` : `(${expression})::text`
  const number = (expression: string) => text(`(${expression})::decimal(38, 6)`)
  const spread = (expression: string) => [
    ...['sum', 'min', 'max'].map((of) => number(`${of}(${expression})`)),
  ]
  if (type === 'string') {
    const plain = isDuck ? column : `${column}::text collate "C"`
    const total = number(`sum(${isDuck ? `strlen(${column})` : `octet_length(${plain})`})`)
    return [total, text(`min(${plain})`), text(`max(${plain})`)]
  }
  if (type === 'boolean') return spread(`${column}::int`)
  if (type === 'date')
    return spread(isDuck ? `epoch(${column})::bigint // 86400` : `${column} - date '1970-01-01'`)
  if (type === 'timestamp')
    return spread(
      isDuck ? `epoch_us(${column})` : `(extract(epoch from ${column}) * 1000000)::bigint`,
    )
  return spread(`${column}::decimal(38, 6)`)
}

function query({ columns }: DeltaTable, source: string, isDuck: boolean): string {
  const count = isDuck
    ? (of: string) => `count(${of})::varchar`
    : (of: string) => `count(${of})::text`
  const list = columns.flatMap(({ name, type }) => [
    count(`"${name}"`),
    ...(relativeToNow.has(name) ? [] : summary(type, name, isDuck)),
  ])
  return `select ${[count('*'), ...list].map((one, at) => `${one} as c${at}`).join(', ')} from ${source}`
}

const normal = (value: unknown) =>
  /^-?\d+(\.\d+)?$/.test(String(value)) ? String(value).replace(/\.0+$/, '') : String(value)

/** What differs between one table of a lake and a relation of Postgres: rows, and of every column its values, sum, least and greatest. */
export async function tableDifferences(
  pool: pg.Pool,
  duck: DuckDb,
  lake: string,
  table: DeltaTable,
  relation: string,
): Promise<string[]> {
  const { rows } = await pool.query(query(table, relation, false))
  const right = Object.values(rows[0]!)
  if (table.files.length === 0)
    return right[0] === '0' ? [] : [`${relation}: ${right[0]} rows, and none in the lake`]
  const ours = await duck.rows(query(table, rowsOf(lake, table), true))
  const left = Object.values(ours[0]!)
  return [
    ...(Number(right[0]) === table.rows
      ? []
      : [`${relation}: ${table.rows} rows by its statistics`]),
    ...right.flatMap((value, at) =>
      normal(value) === normal(left[at]) ? [] : [`${relation} c${at}: ${value} / ${left[at]}`],
    ),
  ]
}

/** What differs between the last version of every table of a lake and the marts. */
export async function differences(pool: pg.Pool, duck: DuckDb, lake: string): Promise<string[]> {
  const found: string[] = []
  for (const [name, table] of Object.entries(await readLake(duck, lake)))
    if (name !== 'export')
      found.push(...(await tableDifferences(pool, duck, lake, table, `mart."${name}"`)))
  return found
}

import type pg from 'pg'
import type { Manifest } from '#src/warehouse/lake/manifest.ts'
import { type DuckDb, filesOf } from './duckdb.ts'

interface Column {
  readonly name: string
  readonly type: string
}

/** They change with the time of the query. */
const relativeToNow = new Set(['hours_behind', 'days_left', 'average_age_days'])

/** What one column has, in SQL that both databases understand: the number of values, their sum, the smallest and the greatest. */
function summary(type: string, name: string, isDuck: boolean): string[] {
  const column = `"${name}"`
  const text = (expression: string) =>
    isDuck ? `(${expression})::varchar` : `(${expression})::text`
  const number = (expression: string) => text(`(${expression})::decimal(38, 6)`)
  const spread = (expression: string) => [
    ...['sum', 'min', 'max'].map((of) => number(`${of}(${expression})`)),
  ]
  if (type.startsWith('character')) {
    const plain = isDuck ? column : `${column}::text collate "C"`
    const total = number(`sum(${isDuck ? `strlen(${column})` : `octet_length(${plain})`})`)
    return [total, text(`min(${plain})`), text(`max(${plain})`)]
  }
  if (type === 'boolean') return spread(`${column}::int`)
  if (type === 'date')
    return spread(isDuck ? `epoch(${column})::bigint // 86400` : `${column} - date '1970-01-01'`)
  if (type.startsWith('timestamp'))
    return spread(
      isDuck ? `epoch_us(${column})` : `(extract(epoch from ${column}) * 1000000)::bigint`,
    )
  return spread(`${column}::decimal(38, 6)`)
}

function query(columns: readonly Column[], source: string, isDuck: boolean): string {
  const count = isDuck
    ? (of: string) => `count(${of})::varchar`
    : (of: string) => `count(${of})::text`
  const list = columns.flatMap(({ name, type }) => [
    count(`"${name}"`),
    ...(relativeToNow.has(name) ? [] : summary(type, name, isDuck)),
  ])
  return `select ${[count('*'), ...list].map((one, at) => `${one} as c${at}`).join(', ')} from ${source}`
}

/** What differs between the files of a manifest and the marts: rows, and of every column its values, sum, least and greatest. */
export async function differences(
  pool: pg.Pool,
  duck: DuckDb,
  folder: string,
  { tables }: Manifest,
): Promise<string[]> {
  const found: string[] = []
  for (const [name, { columns, files }] of Object.entries(tables)) {
    const plain = columns.map((one) => ({ ...one, type: one.type.replace(/\(.*/, '') }))
    const ours = await duck.rows(
      query(
        plain,
        filesOf(
          folder,
          files.map(({ path }) => path),
        ),
        true,
      ),
    )
    const { rows } = await pool.query(query(plain, `mart."${name}"`, false))
    const [left, right] = [Object.values(ours[0]!), Object.values(rows[0]!)]
    const normal = (value: unknown) =>
      /^-?\d+(\.\d+)?$/.test(String(value)) ? String(value).replace(/\.0+$/, '') : String(value)
    right.forEach((value, at) => {
      if (normal(value) !== normal(left[at])) found.push(`${name} c${at}: ${value} / ${left[at]}`)
    })
  }
  return found
}

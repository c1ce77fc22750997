import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { expect, test } from 'vitest'
import { runExport } from '#src/stock/export/export.ts'
import { caseCount, runsEveryCase } from '../../support/cases.ts'
import { openMartWarehouse } from '../../support/marts-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface View {
  readonly name: string
  readonly columns: readonly string[]
  readonly types: readonly string[]
}

const allViews = `
  select c.relname as name, array_agg(attname::text order by attnum) as columns,
    array_agg(format_type(atttypid, null) order by attnum) as types
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where relnamespace = 'mart'::regnamespace and relkind in ('v', 'm') group by c.relname order by 1`

/** The reader gives decimals as floats, slightly different; values.pg.test.ts checks the exact digits. */
const digitsOf = (number: unknown) => String(Number(Number(number).toFixed(6)))

/** Ages by the clock: the two files are written one after the other, so they may differ by the seconds between. */
const ages = new Set(['hours_behind', 'days_left'])

/** The first pair of values that are not equal, of two lists in the same order. */
function firstDifference(column: string, left: string[], right: string[]): number {
  if (!ages.has(column)) return left.findIndex((value, at) => value !== right[at])
  const byNumber = (one: string, other: string) => Number(one) - Number(other)
  right.sort(byNumber)
  return left
    .sort(byNumber)
    .findIndex(
      (value, at) =>
        (value === '') !== (right[at] === '') ||
        !(Math.abs(Number(value) - Number(right[at])) < 0.1),
    )
}

/** A value of Parquet as the warehouse's text; null stays. */
function asText(value: unknown, type: string): string | null {
  if (value === null || value === undefined) return null
  if (value instanceof Date)
    return type === 'date' ? value.toISOString().slice(0, 10) : String(value.getTime())
  return type === 'numeric' ? digitsOf(value) : String(value)
}

/** The same for a CSV cell; numbers without trailing zeros. */
function cellText(cell: string, type: string): string | null {
  if (cell === '') return null
  if (type.startsWith('timestamp')) return String(Math.floor(new Date(cell).getTime()))
  if (type === 'numeric') return digitsOf(cell)
  return /^\s*'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
}

test('every mart is exported as CSV and as Parquet: all columns, all rows, the same values', async () => {
  await using database = await openMartWarehouse()
  await using folder = await temporaryFolder()
  const { pool } = database
  const all = (await pool.query<View>(allViews)).rows
  const views = all.filter((_, at) => runsEveryCase || at % 12 === 0)
  const differences: string[] = []
  let rows = 0

  for (const { name, columns, types } of views) {
    const one = { subject: { is: 'mart', name }, delimiter: null, bom: false, raw: false } as const
    const [csv, parquet] = [join(folder.path, `${name}.csv`), join(folder.path, `${name}.parquet`)]
    const { signal } = new AbortController()
    const text = await runExport(pool, { ...one, format: 'csv', to: csv, signal })
    const typed = await runExport(pool, { ...one, format: 'parquet', to: parquet, signal })
    const [header, ...cells] = parse(await readFile(csv, 'utf8')) as string[][]
    const file = await asyncBufferFromFile(parquet)
    const { schema } = await parquetMetadataAsync(file)
    const objects = await parquetReadObjects({
      file,
      compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) },
    })
    rows += cells.length
    const count = Number((await pool.query(`select count(*) from mart."${name}"`)).rows[0].count)
    if (String(header) !== String(columns)) differences.push(`${name}: header ${header}`)
    if (String(schema.slice(1).map((column) => column.name)) !== String(columns))
      differences.push(`${name}: Parquet columns`)
    if (new Set([count, text.rows, typed.rows, cells.length, objects.length]).size > 1)
      differences.push(
        `${name}: ${count} rows, ${cells.length} as CSV, ${objects.length} as Parquet`,
      )
    columns.forEach((column, at) => {
      const type = types[at]!
      const left = cells.map((row) => cellText(row[at]!, type) ?? '').sort()
      const right = objects.map((row) => asText(row[column], type) ?? '').sort()
      const first = firstDifference(column, left, right)
      if (first >= 0)
        differences.push(`${name}.${column} ${type}: ${left[first]} / ${right[first]}`)
    })
  }

  expect(all.length).toBeGreaterThan(25)
  expect(rows).toBeGreaterThan(caseCount(500))
  expect(differences).toEqual([])
}, 300_000)

import { expect, test } from 'vitest'
import { isOwnFile, pathOf } from '#src/warehouse/lake/files.ts'
import { byMonth } from '#src/warehouse/lake/rows.ts'
import { lakeTable } from '#src/warehouse/lake/tables.ts'
import type { MartColumn, MartRow } from '#src/warehouse/marts/mart.ts'

const row = (month: string | null, id: number): MartRow => ({
  id: String(id),
  'month of lake': month,
})

async function split(pages: readonly (readonly MartRow[])[]) {
  const given = async function* () {
    yield* pages
  }
  const found: [string | null, string[]][] = []
  for await (const { month, pages: own } of byMonth(given())) {
    const ids: string[] = []
    for await (const page of own) ids.push(...page.map(({ id }) => id!))
    found.push([month, ids])
  }
  return found
}

test('sorted rows are split by month, wherever the pages end', async () => {
  const rows = [row('2026-01', 1), row('2026-01', 2), row('2026-02', 3), row(null, 4), row(null, 5)]
  const expected = [
    ['2026-01', ['1', '2']],
    ['2026-02', ['3']],
    [null, ['4', '5']],
  ]

  for (const size of [1, 2, 3, 4, 5]) {
    const pages = Array.from({ length: Math.ceil(5 / size) }, (_, at) =>
      rows.slice(at * size, (at + 1) * size),
    )
    expect(await split(pages)).toEqual(expected)
  }
  expect(await split([])).toEqual([])
})

const columns = (...names: readonly string[]): MartColumn[] =>
  names.map((name) => ({ name, type: 'date', precision: null, scale: null }))

test('a table of evaluations or units is split by its own date, else by that of the evaluation', () => {
  const monthOf = (...names: readonly string[]) => lakeTable('x', columns(...names)).monthOf

  expect(monthOf('rooftop_id', 'eval_id', 'completed_date')).toBe('completed_date')
  expect(monthOf('rooftop_id', 'eval_id', 'observed_at')).toBe('fact_evaluation.completed_date')
  expect(monthOf('rooftop_id', 'stock_no', 'acquired_on')).toBe('acquired_on')
  expect(monthOf('rooftop_id', 'stock_no', 'observed_at')).toBe('observed_at')
  expect(monthOf('rooftop_id', 'month_start', 'evaluations')).toBeNull()
  expect(monthOf('date_day')).toBeNull()
})

test('columns about customers are left out of any table', () => {
  const { columns: left } = lakeTable(
    'x',
    columns('eval_id', 'customer_state', 'email', 'phone_no'),
  )

  expect(left.map(({ name }) => name)).toEqual(['eval_id'])
})

test('only paths that an export writes count as its own', () => {
  const sha256 = 'a'.repeat(64)

  expect(isOwnFile(pathOf('rpt_01_x', { rooftop: 3, month: '2026-02' }, sha256))).toBe(true)
  expect(isOwnFile(pathOf('rpt_01_x', { rooftop: 3, month: null }, sha256))).toBe(true)
  expect(isOwnFile(pathOf('dim_date', { rooftop: null, month: null }, sha256))).toBe(true)
  for (const other of ['notes.txt', 'x/data.parquet', `x/y/${'a'.repeat(24)}.parquet`, '../x'])
    expect(isOwnFile(other)).toBe(false)
})

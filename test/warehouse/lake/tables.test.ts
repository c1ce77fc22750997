import { expect, test } from 'vitest'
import {
  checkpointPath,
  commitPath,
  newFilePath,
  parseLakePath,
} from '#src/warehouse/lake/paths.ts'
import { lakeTable } from '#src/warehouse/lake/tables.ts'
import type { MartColumn } from '#src/warehouse/marts/mart.ts'

const columns = (...names: readonly string[]): MartColumn[] =>
  names.map((name) => ({ name, type: 'date', precision: null, scale: null }))

test('a table of evaluations or units is partitioned by its own date, else by that of the evaluation', () => {
  const dayOf = (...names: readonly string[]) =>
    /to_char\((.+), 'YYYY-MM'\)/.exec(lakeTable('x', columns(...names)).month ?? '')?.[1]

  expect(dayOf('rooftop_id', 'eval_id', 'completed_date')).toBe('t.completed_date')
  expect(dayOf('rooftop_id', 'eval_id', 'observed_at')).toBe('e.completed_date')
  expect(dayOf('rooftop_id', 'stock_no', 'acquired_on')).toBe('t.acquired_on')
  expect(dayOf('rooftop_id', 'stock_no', 'observed_at')).toBe("(t.observed_at at time zone 'UTC')")
  expect(dayOf('rooftop_id', 'month_start', 'evaluations')).toBeUndefined()
  expect(dayOf('date_day')).toBeUndefined()
})

test('reports by month and vehicles are partitioned too where the months of a change are known', () => {
  const rpt04 = lakeTable('rpt_04_time_to_complete', columns('rooftop_id', 'month_start'))
  const vehicles = lakeTable('dim_vehicle', columns('vehicle_key', 'first_seen_at'))

  expect(rpt04.inMonth('2026-02')).toBe("t.month_start = '2026-02-01'")
  expect(vehicles.inMonth('2026-02')).toMatch(/^\(t\.first_seen_at at time zone 'UTC'\) >= /)
  // All of its rows change with the day.
  expect(
    lakeTable('rpt_08_pricing_coverage', columns('rooftop_id', 'month_start')).month,
  ).toBeNull()
})

test('columns about customers are left out of any table', () => {
  const { columns: left } = lakeTable(
    'x',
    columns('eval_id', 'customer_state', 'email', 'phone_no'),
  )

  expect(left.map(({ name }) => name)).toEqual(['eval_id'])
})

test('only paths that an export writes count as its own', () => {
  const isOwn = (path: string) => parseLakePath(path) !== null

  expect(parseLakePath(`rpt_01_x/${newFilePath('2026-02')}`)).toMatchObject({ table: 'rpt_01_x' })
  expect(parseLakePath(`rpt_01_x/${newFilePath(null)}`)).toMatchObject({ is: 'data' })
  expect(parseLakePath(`dim_date/${newFilePath(undefined)}`)).toMatchObject({ is: 'data' })
  expect(parseLakePath(`dim_date/${commitPath(7)}`)).toMatchObject({ is: 'commit', version: 7 })
  expect(parseLakePath(`dim_date/${checkpointPath(10)}`)).toMatchObject({ is: 'checkpoint' })
  for (const other of [
    ...['notes.txt', 'x/data.parquet', '../x', 'a/b/_delta_log/00000000000000000001.json'],
    ...[
      'x/part-00000-0d6c3a52-5d0e-4c0a-9a55-2f1b8f3f7c11-c000.snappy.parquet',
      'x/_delta_log/1.json',
    ],
  ])
    expect([other, isOwn(other)]).toEqual([other, false])
})

import { expect, test } from 'vitest'
import { stockImportLines } from '#src/app/commands/stock-import.ts'
import { someOf } from '../support/cases.ts'
import { aVehicle, listOf, openImportFixture, vehicles } from './import-fixture.ts'

const code = 'in-stock-elsewhere'

test.for(
  someOf(
    [
      ['a snapshot of an empty rooftop', false, 'snapshot'],
      ['a dry run', true, 'snapshot'],
      ['a delta', false, 'delta'],
    ] as const,
    1,
  ),
)('the list of another rooftop, as %s, gives a warning', async ([, dryRun, mode]) => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(40))
  await fixture.import(list, { rooftop: 'south' })

  const report = await fixture.import(list, { dryRun, mode })

  expect(report).toMatchObject({ added: 40, rejected: 0 })
  expect(report.warnings).toMatchObject([{ code, severity: 'warning', line: null, column: null }])
  expect(report.warnings[0]!.hint).toMatch(
    /^40 of the 40 vehicles .* in stock at SOUTH \(south\): is it the list of that rooftop\? .*S0001, S0002, /,
  )
  expect(stockImportLines(report).join('\n')).toContain('\n    40 of the 40 vehicles')
  const stored = await fixture.rows('select warnings from core.stock_import order by import_id')
  expect(stored.map(({ warnings }) => warnings)).toEqual(dryRun ? [[]] : [[], report.warnings])
})

test('a moved vehicle is named once, and not after it has left the other rooftop', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(10)), { rooftop: 'south' })
  await fixture.import(listOf(vehicles(10, 101)))

  const moved = await fixture.import(listOf([aVehicle(10), ...vehicles(10, 101)]))
  const next = await fixture.import(
    listOf([aVehicle(10, { price: '23000' }), ...vehicles(10, 101)]),
  )
  await fixture.import(listOf(vehicles(8)), { rooftop: 'south' })
  const other = await fixture.import(listOf([...vehicles(2, 9), ...vehicles(10, 101)]))

  expect(moved.warnings.map(({ hint }) => hint)).toEqual([
    expect.stringMatching(/^1 of the 11 vehicles .*SOUTH.*: S0010\b/),
  ])
  expect(moved.warnings[0]!.hint).not.toContain('is it the list')
  expect([next.warnings, other.warnings]).toEqual([[], []])
})

test('the same stock number with another VIN gives no warning; without a VIN it does', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const others = vehicles(20, 500).map((unit, at) => ({ ...unit, stockNo: aVehicle(at).stockNo }))
  await fixture.import(listOf(others), { rooftop: 'south' })
  const unnamed = (count: number) => listOf(vehicles(count).map((unit) => ({ ...unit, vin: '' })))

  const known = await fixture.import(listOf(vehicles(19)), { dryRun: true })
  const few = await fixture.import(unnamed(4), { dryRun: true })
  const many = await fixture.import(unnamed(19), { dryRun: true })

  expect([known.warnings, few.warnings]).toEqual([[], []])
  expect(many.warnings[0]!.hint).toMatch(/^19 of the 19 .* in stock at SOUTH .*is it the list/)
})

test('two rooftops get separate warnings, and one that is no longer in the config gets none', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(3)), { rooftop: 'south' })
  await fixture.import(listOf(vehicles(2, 51)), { rooftop: 'gulf' })
  await fixture.pool.query(
    `insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
     select 'gone', group_id, 'GONE', region, time_zone, currency_code, odometer_unit from core.rooftop limit 1`,
  )
  await fixture.pool.query(
    `update core.stock_unit set rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = 'gone')
     where stock_no = 'S0003'`,
  )

  const report = await fixture.import(listOf([...vehicles(3), ...vehicles(2, 51)]))

  expect(report.warnings.map(({ hint }) => hint)).toEqual([
    expect.stringMatching(/^2 of the 5 .*GULF .*: S0051, S0052\b/),
    expect.stringMatching(/^2 of the 5 .*SOUTH .*: S0001, S0002\b/),
  ])
})

import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import {
  aVehicle,
  listOf,
  openImportFixture,
  type Vehicle,
  vehicles,
  vinOf,
} from './import-fixture.ts'

/** Vehicles after a spreadsheet removed the zeros before their numbers. */
function withoutZeros(units: readonly Vehicle[]): Vehicle[] {
  return units.map((unit) => ({ ...unit, stockNo: unit.stockNo.replace(/^0+/, '') }))
}

const numbered = vehicles(20).map((unit, index) => ({
  ...unit,
  stockNo: String(index + 1).padStart(6, '0'),
}))
const units =
  'select stock_no, vin, first_seen_at, missing_since, off_stock_at from core.stock_unit order by vin'
const later = new Date('2026-03-12T06:30:00Z')

test('the same VIN under a new stock number keeps its history, changes and prices', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(numbered))
  await fixture.import(listOf([{ ...numbered[0]!, price: '19000' }, ...numbered.slice(1)]))
  await fixture.rows(`insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at,
    last_confirmed_at, is_current, retail, currency_code, value_hash, run_id)
    values (1, '000001', 'price_batch', now(), now(), true, 21000, 'AUD', '\\x00', 1)`)
  const before = await fixture.rows<{ vin: string; first_seen_at: Date }>(units)
  const list = listOf(withoutZeros([{ ...numbered[0]!, price: '18500' }, ...numbered.slice(1)]))

  const dry = await fixture.import(list, { now: later, dryRun: true })
  const report = await fixture.import(list, { now: later })
  const again = await fixture.import(list.replaceAll('Red', 'Blue'), { now: later })

  for (const { added, updated, removed, changes, warnings } of [dry, report]) {
    expect({ added, updated, removed }).toEqual({ added: 0, updated: 20, removed: 0 })
    expect(changes[0]).toEqual({
      stockNo: '1',
      change: 'updated',
      changes: { stock_no: ['000001', '1'], asking_price: [19000, 18500] },
    })
    expect(warnings.map(({ code, hint }) => [code, hint])).toContainEqual([
      'RENUMBERED',
      '20 vehicles have a new stock number and keep their history, by the VIN: 000001 is now 1, 000002 is now 2, 000003 is now 3, 000004 is now 4, 000005 is now 5, …',
    ])
  }
  expect(again).toMatchObject({ updated: 20, added: 0, removed: 0 })
  const after = await fixture.rows<{ vin: string; first_seen_at: Date; stock_no: string }>(units)
  expect(after.map(({ vin, first_seen_at }) => [vin, first_seen_at])).toEqual(
    before.map(({ vin, first_seen_at }) => [vin, first_seen_at]),
  )
  expect(after.find(({ vin }) => vin === vinOf(1))).toMatchObject({
    stock_no: '1',
    missing_since: null,
    off_stock_at: null,
  })
  const asking =
    "select asking_price_first, price_changes from core.stock_asking_price where stock_no = '1'"
  expect(await fixture.rows(asking)).toEqual([
    { asking_price_first: '20001.000', price_changes: 2 },
  ])
  expect(await fixture.rows('select stock_no from core.stock_price_observation')).toEqual([
    { stock_no: '1' },
  ])
})

test('the numbers may change back, and a vehicle in its days of grace is found too', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(numbered))
  await fixture.import(listOf(withoutZeros(numbered)))
  const back = await fixture.import(listOf(numbered))
  const without = await fixture.import(listOf(numbered.slice(1)))

  const found = await fixture.import(
    listOf([{ ...numbered[0]!, stockNo: 'A1' }, ...numbered.slice(1)]),
  )

  expect(back).toMatchObject({ updated: 20, added: 0, removed: 0 })
  expect(without).toMatchObject({ removed: 1 })
  expect(found).toMatchObject({ reappeared: 1, added: 0, unchanged: 19 })
  expect(await fixture.rows('select count(*)::int as count from core.stock_unit')).toEqual([
    { count: 20 },
  ])
})

test('a price that arrived for an abandoned number does not prevent its return', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const price = async (retail: number) =>
    await fixture.rows(`insert into core.stock_price_observation (rooftop_id, stock_no, price_source, observed_at,
      last_confirmed_at, is_current, retail, currency_code, value_hash, run_id)
      values (1, '000001', 'price_batch', now(), now(), true, ${retail}, 'AUD', '\\x00', 1)`)
  await fixture.import(listOf(numbered))
  await price(21_000)
  await fixture.import(listOf(withoutZeros(numbered)))
  await price(22_000)

  const back = await fixture.import(listOf(numbered))

  expect(back).toMatchObject({ updated: 20 })
  expect(
    await fixture.rows(
      'select stock_no, retail::int, is_current from core.stock_price_observation order by retail',
    ),
  ).toEqual([
    { stock_no: '000001', retail: 21_000, is_current: false },
    { stock_no: '000001', retail: 22_000, is_current: true },
  ])
})

test('a later list may add stock numbers to vehicles that were identified by VIN', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(4))
  await fixture.import(list.replaceAll(/S000\d/g, ''))

  const report = await fixture.import(list, { mode: 'delta' })

  expect(report).toMatchObject({ updated: 4, added: 0 })
})

test.for(
  someOf(
    [
      [
        'that two new rows name',
        [aVehicle(1, { stockNo: 'A1' }), aVehicle(1, { stockNo: 'A2' })],
        { added: 2, removed: 1 },
      ],
      [
        'that its old row names too',
        [aVehicle(1), aVehicle(1, { stockNo: 'A1' })],
        { added: 1, removed: 0 },
      ],
      [
        'under a number of another unit',
        [aVehicle(1, { stockNo: 'S0009' })],
        { added: 1, removed: 2 },
      ],
      [
        'of one character',
        [aVehicle(8, { stockNo: 'A8', vin: '1'.repeat(17) })],
        { added: 1, removed: 2 },
      ],
    ] as const,
    2,
  ),
)('a VIN %s is not matched', async ([, rows, expected]) => {
  await using fixture = await openImportFixture()
  const remaining = vehicles(12, 20)
  await fixture.import(
    listOf([aVehicle(1), aVehicle(9), aVehicle(7, { vin: '1'.repeat(17) }), ...remaining]),
  )
  const others = [aVehicle(9), aVehicle(7, { vin: '1'.repeat(17) })].filter(({ stockNo, vin }) =>
    rows.every((row) => row.stockNo !== stockNo && row.vin !== vin),
  )

  const report = await fixture.import(listOf([...rows, ...others, ...remaining]))

  expect(report).toMatchObject(expected)
  expect(report.warnings.map(({ code }) => code)).not.toContain('RENUMBERED')
})

test('a vehicle that was off stock is added again with its new number', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture(0)
  await fixture.import(listOf(vehicles(9)))
  await fixture.import(listOf(vehicles(8)))

  const report = await fixture.import(listOf([...vehicles(8), aVehicle(9, { stockNo: 'A9' })]))

  expect(report).toMatchObject({ added: 1, updated: 0 })
  expect(
    await fixture.rows(`select stock_no from core.stock_unit where vin = '${vinOf(9)}' order by 1`),
  ).toEqual([{ stock_no: 'A9' }, { stock_no: 'S0009' }])
})

/** A list without VINs, of twelve cars with these first numbers. */
function listWithout(first: readonly string[], model = 'Corolla'): string {
  const numbers = [
    ...first,
    ...Array.from({ length: 12 - first.length }, (_, at) => `${5000 + at}`),
  ]
  const rows = numbers.map((number, at) =>
    [`"${number}"`, 'Toyota', at === 0 ? model : 'Corolla', 2019, 45_000].join(','),
  )
  return ['Stock Number,Make,Model,Year,Odometer (km)', ...rows, ''].join('\r\n')
}

test('without a VIN a number that lost its zeros, or has another case, is the same vehicle', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listWithout(['007', 'u12', '9', '1,041', 'A 8']))

  const report = await fixture.import(listWithout(['7', 'U12', '9.0', '1041', 'A8']))
  const again = await fixture.import(listWithout(['7', 'U12', '9', '1041', 'A8']))

  expect(report).toMatchObject({ added: 0, updated: 5, removed: 0, unchanged: 7 })
  expect(report.warnings.find(({ code }) => code === 'RENUMBERED')?.hint).toBe(
    '5 vehicles have a new stock number and keep their history, by the VIN, or the number but for zeros, case and blanks: 007 is now 7, 1,041 is now 1041, 9 is now 9.0, A 8 is now A8, u12 is now U12',
  )
  expect(again).toMatchObject({ added: 0, updated: 1, removed: 0, unchanged: 11 })
})

test('numbers that are both in the list, or of another model, are two vehicles', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listWithout(['007', '0041']))

  const other = await fixture.import(listWithout(['7', '0041'], 'Camry'), { dryRun: true })
  const both = await fixture.import(listWithout(['007', '7', '0041']), { dryRun: true })

  expect(other).toMatchObject({ added: 1, removed: 1 })
  expect(both).toMatchObject({ added: 1, removed: 1 })
})

import { expect, test } from 'vitest'
import { aVehicle, listOf, now, openImportFixture, vehicles, vinOf } from './import-fixture.ts'

const dayMs = 86_400_000
const later = (days: number) => new Date(now.getTime() + days * dayMs)

test('a list is loaded with every cell, and the counts agree', async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(3)).replace('20002', 'forty2') + '\r\nTotal,,,,,,60000,\r\n'

  const report = await fixture.import(list)

  expect(report).toMatchObject({
    ...{ status: 'imported', importId: 1, rooftop: 'north', mode: 'snapshot' },
    ...{ encoding: 'utf-8', delimiter: ',' },
    ...{ records: 5, accepted: 2, rejected: 1, collapsed: 0, skipped: 2 },
    ...{ added: 2, updated: 0, unchanged: 0, removed: 0, reappeared: 0 },
    issues: [
      { code: 'type-error', severity: 'error', line: 3, column: 'Price', text: 'forty2' },
      {},
      {},
    ],
  })
  const units = await fixture.rows(
    'select stock_no, vin, make, model, model_year, odometer_km, asking_price, currency_code, extras, import_id from core.stock_unit order by 1',
  )
  expect(units).toEqual([
    {
      ...{ stock_no: 'S0001', vin: vinOf(1), make: 'Toyota', model: 'Corolla' },
      ...{ model_year: 2019, odometer_km: 45_007, asking_price: '20001.000', import_id: 1 },
      ...{
        currency_code: 'AUD',
        extras: { colour_exterior: 'Red', odometer: '45007', odometer_unit: 'km' },
      },
    },
    expect.objectContaining({ stock_no: 'S0003' }),
  ])
  const rows = await fixture.rows(
    'select line_no, stock_no, status, cells from core.stock_import_row order by 1',
  )
  expect(rows.map(({ line_no, stock_no, status }) => [line_no, stock_no, status])).toEqual([
    [2, 'S0001', 'accepted'],
    [3, 'S0002', 'rejected'],
    [4, 'S0003', 'accepted'],
    [5, null, 'skipped'],
    [6, null, 'skipped'],
  ])
  expect(rows[1]!['cells']).toEqual([
    'S0002',
    vinOf(2),
    'Toyota',
    'Corolla',
    '2019',
    '45014',
    'forty2',
    'Red',
  ])
})

test('importing the same file again writes no more than that it came again', async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(10))
  await fixture.import(list)
  const before = await fixture.content()

  const again = await fixture.import(list, { now: later(1) })
  const asDelta = await fixture.import(list, { mode: 'delta', now: later(2) })
  await fixture.import(list, { dryRun: true, now: later(3) })

  expect(again).toMatchObject({
    status: 'already-imported',
    importId: 1,
    accepted: 10,
    unchanged: 10,
  })
  expect(asDelta).toMatchObject({ status: 'already-imported', importId: 1 })
  const { 'core.stock_import': imports, ...rest } = await fixture.content()
  const { 'core.stock_import': importsBefore, ...restBefore } = before
  expect(rest).toEqual(restBefore)
  const anywhere = { xmin: expect.anything(), ctid: expect.anything() }
  expect(imports).toEqual([{ ...importsBefore![0], ...anywhere, confirmed_at: later(2) }])
})

test('a file with one row less removes exactly that unit, and writes to no other', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(10)))
  const units =
    "select ctid, xmin, * from core.stock_unit where stock_no <> 'S0004' order by stock_no"
  const before = await fixture.rows(units)

  const report = await fixture.import(listOf(vehicles(10).filter((_, index) => index !== 3)))

  expect(report).toMatchObject({ accepted: 9, unchanged: 9, removed: 1, added: 0, updated: 0 })
  expect(report.changes).toEqual([{ stockNo: 'S0004', change: 'removed', changes: {} }])
  expect(await fixture.rows(units)).toEqual(before)
  expect(
    await fixture.rows(
      "select missing_since, off_stock_at from core.stock_unit where stock_no = 'S0004'",
    ),
  ).toEqual([{ missing_since: now, off_stock_at: null }])
})

test('a change is reported with old and new value, by column and by field', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(5)))
  const list = listOf([aVehicle(1, { price: '19990', km: '50000' }), ...vehicles(4, 2)])

  const report = await fixture.import(list.replace('45014,20002,Red', '45014,20002,Blue'))

  expect(report).toMatchObject({ updated: 2, unchanged: 3, added: 0, removed: 0 })
  expect(report.changes).toEqual([
    {
      ...{ stockNo: 'S0001', change: 'updated' },
      changes: { asking_price: [20001, 19990], odometer_km: [45007, 50000] },
    },
    { stockNo: 'S0002', change: 'updated', changes: { colour_exterior: ['Red', 'Blue'] } },
  ])
  expect(
    await fixture.rows(
      'select stock_no, change, changes from core.stock_unit_change where import_id = 2 order by 1',
    ),
  ).toEqual(report.changes.map(({ stockNo, ...rest }) => ({ stock_no: stockNo, ...rest })))
})

test('columns in another order change nothing', async () => {
  await using fixture = await openImportFixture()
  const header = 'Stock Number,VIN,Make,Model,Colour,Body'
  await fixture.import(`${header}\nA1,JTDBR32E730000001,Toyota,Corolla,Red,Sedan\n`)
  const before = await fixture.rows('select ctid, xmin, * from core.stock_unit')

  const turned =
    'Body,Colour,Model,Make,VIN,Stock Number\nSedan,Red,Corolla,Toyota,JTDBR32E730000001,A1\n'
  const report = await fixture.import(turned)

  expect(report).toMatchObject({ unchanged: 1, updated: 0 })
  expect(await fixture.rows('select ctid, xmin, * from core.stock_unit')).toEqual(before)
})

test('a unit is off stock after its days of grace, and back when a list names it again', async () => {
  await using fixture = await openImportFixture(3)
  const [all, fewer] = [listOf(vehicles(10)), listOf(vehicles(9))]
  const marks = () =>
    fixture.rows("select missing_since, off_stock_at from core.stock_unit where stock_no = 'S0010'")
  await fixture.import(all)

  await fixture.import(fewer, { now: later(1) })
  const within = await fixture.import(fewer, { now: later(3) })
  const marksWithin = await marks()
  const after = await fixture.import(fewer, { now: later(4) })
  const marksAfter = await marks()
  const back = await fixture.import(all, { now: later(5) })

  expect([within.offStock, after.offStock]).toEqual([0, 1])
  expect(marksWithin).toEqual([{ missing_since: later(1), off_stock_at: null }])
  expect(marksAfter).toEqual([{ missing_since: later(1), off_stock_at: later(4) }])
  expect(back).toMatchObject({ reappeared: 1, unchanged: 9, added: 0, removed: 0 })
  expect(back.changes).toEqual([{ stockNo: 'S0010', change: 'reappeared', changes: {} }])
  expect(await marks()).toEqual([{ missing_since: null, off_stock_at: null }])
})

test.each([
  ['no date in stock', ['', ''], true],
  ['another date in stock', ['2026-03-01', '2026-03-15'], true],
  ['the same date in stock', ['2026-03-01', '2026-03-01'], false],
])('a unit that was off stock and is listed with %s', async (_, [date, again], isNewStay) => {
  await using fixture = await openImportFixture(0)
  const list = (...rows: readonly string[]) =>
    ['Stock No,VIN,Make,Model,Year,Price,Date in stock', ...rows, ''].join('\n')
  const [first, ...others] = [1, 2, 3, 4].map(
    (index) => `S${index},${vinOf(index)},Toyota,Corolla,2019`,
  )
  const rest = others.map((row) => `${row},20000,2026-02-01`)
  const day = async (days: number, ...rows: readonly string[]) =>
    await fixture.import(list(...rows, ...rest), { now: later(days) })
  await day(0, `${first},31000,${date}`)
  await day(1, `${first},30000,${date}`)
  await day(2)

  const back = await day(9, `${first},26000,${again}`)
  await day(10, `${first},25500,${again}`)

  expect(back).toMatchObject({ reappeared: 1, added: 0 })
  expect(
    await fixture.rows(
      `select first_seen_at, asking_price_first, price_changes from core.stock_unit
       join core.stock_asking_price using (rooftop_id, stock_no) where stock_no = 'S1'`,
    ),
  ).toEqual([
    isNewStay
      ? { first_seen_at: later(9), asking_price_first: '26000.000', price_changes: 1 }
      : { first_seen_at: now, asking_price_first: '31000.000', price_changes: 3 },
  ])
  expect(
    await fixture.rows(
      `select asking_price::int as asking, asking_drift::int as drift from mart.stock_price_drift where stock_no = 'S1' order by step_no`,
    ),
  ).toEqual(
    isNewStay
      ? [
          { asking: 26000, drift: 0 },
          { asking: 25500, drift: -500 },
        ]
      : [
          { asking: 31000, drift: 0 },
          { asking: 30000, drift: -1000 },
          { asking: 26000, drift: -5000 },
          { asking: 25500, drift: -5500 },
        ],
  )
})

test('a delta removes nothing', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(10)))

  const report = await fixture.import(listOf(vehicles(2, 10)), { mode: 'delta' })

  expect(report).toMatchObject({ added: 1, unchanged: 1, removed: 0 })
  expect(await fixture.rows('select from core.stock_unit where missing_since is not null')).toEqual(
    [],
  )
})

test('a dry run reports the same, and changes nothing', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(10)))
  const before = await fixture.content()
  const list = listOf([
    ...vehicles(8),
    aVehicle(20),
    aVehicle(21),
    aVehicle(21),
    aVehicle(22, { km: '1x2' }),
  ])

  const dry = await fixture.import(list, { dryRun: true })

  expect(await fixture.content()).toEqual(before)
  const real = await fixture.import(list)
  expect(dry).toMatchObject({
    status: 'dry-run',
    importId: null,
    added: 2,
    removed: 2,
    collapsed: 1,
  })
  const { file: _, ...rest } = real
  expect(dry).toMatchObject({ ...rest, status: 'dry-run', importId: null })
})

test('a dry run for an unregistered rooftop creates no rooftop', async () => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(listOf(vehicles(3)), { dryRun: true })

  expect(report).toMatchObject({ added: 3 })
  expect(await fixture.rows('select from core.rooftop')).toEqual([])
})

test('rooftops do not see each other', async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(10))
  await fixture.import(list, { rooftop: 'south' })

  const report = await fixture.import(list, { rooftop: 'north' })
  const empty = await fixture.import(listOf(vehicles(9)), { rooftop: 'north' })

  expect(report).toMatchObject({ status: 'imported', added: 10 })
  expect(empty).toMatchObject({ removed: 1 })
  expect(
    await fixture.rows(
      'select rooftop_uid from core.stock_unit join core.rooftop using (rooftop_id) where missing_since is not null',
    ),
  ).toEqual([{ rooftop_uid: 'north' }])
})

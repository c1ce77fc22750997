import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import { aVehicle, listOf, openImportFixture, vehicles, vinOf } from './import-fixture.ts'

const header = 'Stock Number,VIN,Make,Model,Year,Price,Status'

function row(index: number, status: string): string {
  const { stockNo, vin, price } = aVehicle(index)
  return `${stockNo},${vin},Toyota,Corolla,2019,${price},${status}`
}

function listWith(...rows: readonly string[]): string {
  return [header, ...rows, ''].join('\r\n')
}

const onHand =
  'select stock_no from core.stock_unit where off_stock_at is null and missing_since is null order by 1'

const texts = [
  ...['End of report,,,,,,,', 'End of report', 'Report generated 22/11/2026,,,,,,,'],
  ...['Report generated,22/11/2026,,,,,,', '40 vehicles,,,,,,,', 'Vehicles:,40,,,,,,'],
  ...['USED VEHICLES,,,,,,,', ',,USED VEHICLES,,,,,', 'Toyota,,,,,,,', '--------,,,,,,,'],
  ...['22/11/2026,,,,,,,', ',,,,,1800000,760000,', 'Prices in all,,,,,,760000,'],
  ...['Page 1 of 3,,,,,,,', 'نهاية التقرير,,,,,,,'],
]

test('titles, footers and counts are not vehicles, wherever they are', async () => {
  await using fixture = await openImportFixture()
  const lines = listOf(vehicles(12)).trimEnd().split('\r\n')
  for (const text of someOf(texts, 5)) {
    const parts = [lines[0], text, ...lines.slice(1, 5), text, ...lines.slice(5), text, '']

    const report = await fixture.import(parts.join('\r\n'), { dryRun: true })

    expect(report, text).toMatchObject({ added: 12, accepted: 12, rejected: 0 })
    expect(report.skipped, text).toBeGreaterThan(1)
    const kinds = report.issues.map(({ code, severity }) => `${severity} ${code}`)
    expect(kinds, text).toEqual(Array(report.skipped).fill('info NO_VEHICLE'))
  }
})

test('a row that is not a vehicle is stored, and a unit imported from one before leaves the stock', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(9)))
  await fixture.rows(
    "update core.stock_unit set stock_no = 'End of report' where stock_no = 'S0009'",
  )

  const report = await fixture.import(`${listOf(vehicles(8))}End of report,,,,,,,\r\n`)

  expect(report).toMatchObject({ accepted: 8, skipped: 1, removed: 1 })
  expect(report.issues[0]).toMatchObject({
    line: 10,
    hint: 'the row describes no vehicle, only "End of report"',
  })
  expect(
    await fixture.rows("select cells[0] from core.stock_import_row where status = 'skipped'"),
  ).toEqual([{ cells: 'End of report' }])
})

const remaining = [
  ['of letters', 'ABCD,,Toyota,Corolla,2019,45000,20000,Red', 'accepted'],
  ['with only a stock number', 'S0099,,,,,,,', 'accepted'],
  ['with only a VIN', `,${vinOf(99)},,,,,,`, 'accepted'],
  ['with a stock number of two words', 'STK 99,,Toyota,Corolla,,,,', 'accepted'],
  ['without a key', ',,Toyota,Corolla,2019,45000,20000,Red', 'rejected'],
  ['with an error', 'S0099,,Toyota,Corolla,2019,1x1,20000,Red', 'rejected'],
  ['that is damaged', 'S0099,Toyota', 'rejected'],
] as const

test('a vehicle with few fields is a vehicle', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  for (const [name, text, status] of remaining) {
    const report = await fixture.import(`${listOf(vehicles(12))}${text}\r\n`, { dryRun: true })

    const count = status === 'accepted' ? 13 : 1
    expect(report, name).toMatchObject({ records: 13, skipped: 0, [status]: count })
  }
})

test('a list of two columns, or of only stock numbers, has vehicles', async () => {
  await using fixture = await openImportFixture()

  const prices = await fixture.import('Stock No,Price\nRED,20000\nBLUE,30000\nEnd of list,\n')
  const alone = await fixture.import('Stock No\nA1\nB2\nC3\nEnd of list\n', { rooftop: 'south' })

  expect(prices).toMatchObject({ accepted: 2, skipped: 1 })
  expect(alone).toMatchObject({ accepted: 3, skipped: 1 })
})

test('a vehicle with status Sold is not stock on hand, now and later', async () => {
  await using fixture = await openImportFixture()
  const stock = [1, 2, 3, 4, 5, 6].map((index) => row(index, 'In stock'))
  await fixture.import(listWith(...stock))
  const sold = [row(1, 'Sold'), ...stock.slice(1), row(9, 'Sold')]

  const report = await fixture.import(listWith(...sold))
  const again = await fixture.import(listWith(...sold, row(10, 'In stock')))

  expect(report).toMatchObject({ accepted: 5, skipped: 2, unchanged: 5, removed: 1 })
  expect(report.changes).toEqual([{ stockNo: 'S0001', change: 'removed', changes: {} }])
  expect(report.issueCounts).toEqual({ 'not-in-stock': 2 })
  expect(again).toMatchObject({ added: 1, unchanged: 5, removed: 0, reappeared: 0 })
  expect(
    await fixture.rows('select stock_no from core.stock_unit where off_stock_at is not null'),
  ).toEqual([{ stock_no: 'S0001' }])
})

test('words of a status that mean that a vehicle has left, and words that do not', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const words = {
    1: [
      'SOLD',
      'Sold 12/11/2026',
      'Sold - Delivered',
      'SOLD - awaiting delivery',
      'Wholesale',
      'Wholesaled',
      'Delivered',
      'مباع',
      'تم البيع',
    ],
    0: [
      'Available',
      'For sale',
      'Not sold',
      'Sold pending finance',
      'Sold awaiting finance',
      'Soldier',
      'Reserved',
      '',
    ],
  }
  for (const [skipped, statuses] of Object.entries(words))
    for (const status of statuses) {
      const list = listWith(row(1, status), row(2, 'In stock'), row(3, 'In stock'))
      const report = await fixture.import(list, { dryRun: true })
      expect(report.skipped, status).toBe(Number(skipped))
    }
})

test('a sold vehicle also leaves by a delta, comes back with its status, and stays with a reused number', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const stock = [1, 2, 3].map((index) => row(index, 'In stock'))
  await fixture.import(listWith(...stock))

  const delta = await fixture.import(listWith(row(1, 'Sold')), { mode: 'delta' })
  const back = await fixture.import(listWith(...stock))
  const other = `S0001,${vinOf(77)},Kia,Rio,2020,15000,In stock`
  const reused = await fixture.import(listWith(row(1, 'Sold'), other, ...stock.slice(1)))

  expect(delta).toMatchObject({ accepted: 0, skipped: 1, removed: 1 })
  expect(back).toMatchObject({ reappeared: 1, unchanged: 2 })
  expect(reused).toMatchObject({ accepted: 3, added: 1, removed: 1 })
  expect(await fixture.rows(onHand)).toHaveLength(3)
})

test('a vehicle sold without a stock number leaves by its VIN; with --map status= it stays', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const stock = [1, 2, 3].map((index) => row(index, 'In stock'))
  const list = listWith(row(1, 'Sold').replace('S0001', ''), ...stock.slice(1))
  await fixture.import(listWith(...stock))

  const dry = await fixture.import(list, { dryRun: true })
  const report = await fixture.import(list)
  const remaining = await fixture.import(listWith(row(1, 'Sold'), ...stock.slice(1)), {
    maps: ['status='],
  })

  expect(dry).toMatchObject({ removed: 1, skipped: 1 })
  expect(report).toMatchObject({ removed: 1, skipped: 1 })
  expect(remaining).toMatchObject({ accepted: 3, reappeared: 1 })
})

test('a list with most of the stock sold is refused', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const list = (status: string) =>
    listWith(...Array.from({ length: 20 }, (_, index) => row(index + 1, status)))
  await fixture.import(list('In stock'))

  await expect(fixture.import(list('Sold'))).rejects.toThrow(
    /would remove 20 of the 20 vehicles .*\(20 have left by their status\)/,
  )
  await expect(fixture.import(list('Sold'), { rooftop: 'south' })).rejects.toThrow(
    /has no vehicle \(".*" is not stock on hand\).*Nothing was imported.*--map status=/,
  )
  const allowed = await fixture.import(list('Sold'), { allowMassRemoval: true })
  expect(allowed).toMatchObject({ removed: 20 })
})

test('a row with a surplus comma is rejected, whatever is in the place of the status', async () => {
  await using fixture = await openImportFixture()
  const names = header.replace('Status', 'Comments,Status')
  const rows = (comment: string) =>
    [1, 2, 3].map((index) => row(index, `${index === 1 ? comment : 'Clean'},In stock`))
  await fixture.import([names, ...rows('One owner'), ''].join('\r\n'))

  const report = await fixture.import([names, ...rows('One owner,sold new by us'), ''].join('\r\n'))

  expect(report).toMatchObject({ accepted: 2, rejected: 1, skipped: 0, removed: 0 })
})

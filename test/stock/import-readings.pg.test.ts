import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { openExportFixture } from './export/export-fixture.ts'
import { openInboxFixture } from './folders/inbox-fixture.ts'
import { aVehicle, listOf, openImportFixture, vehicles } from './import-fixture.ts'
import { escapeXml, workbook } from './workbook/make-workbook.ts'

/** A list in which one price contradicts another. */
const contrary = (from = 1) =>
  listOf([
    aVehicle(from, { price: '512.345' }),
    aVehicle(from + 1, { price: '527.36' }),
    ...vehicles(3, from + 2),
  ])
const prices = 'select asking_price::text as price from core.stock_unit order by stock_no limit 2'

test('a price with two readings is refused with both, and the answer is used for later lists', async () => {
  await using fixture = await openImportFixture()

  const asked = fixture.import(contrary())
  await expect(asked).rejects.toThrow(
    /The column "Price" has "512\.345" beside "527\.36"[\s\S]*--map price_asking:decimals=Price[\s\S]*--map price_asking:thousands=Price[\s\S]*forecourt stock import .* --map price_asking:decimals=Price/,
  )
  const untouched = await fixture.content()
  const answered = await fixture.import(contrary(), { maps: ['price_asking:decimals=Price'] })
  const stored = await fixture.rows(prices)
  const later = await fixture.import(contrary(), { mode: 'delta' })
  const next = await fixture.import(contrary(2), { mode: 'delta' })
  const other = await fixture.import(contrary(2), {
    ...{ mode: 'delta', maps: ['price_asking:thousands=Price'], allowUnusualValues: true },
  })

  expect(untouched).toMatchObject({ 'core.stock_import': [], 'ops.stock_mapping': [] })
  expect(stored).toEqual([{ price: '512.345' }, { price: '527.360' }])
  expect([answered, later, next, other].map(({ status }) => status)).toEqual([
    ...['imported', 'already-imported', 'imported', 'imported'],
  ])
  expect(next.mapping[6]).toMatchObject({ source: 'remembered', readings: ['decimals'] })
  expect(other.changes[0]!.changes['asking_price']).toEqual([512.345, 512_345])
})

test('a contradiction after the rows that show the columns is asked about too', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const grouped = vehicles(700).map((vehicle) => ({ ...vehicle, price: '18.990' }))
  const list = listOf([...grouped, aVehicle(701, { price: '527.36' })])

  await expect(fixture.import(list)).rejects.toThrow('has "18.990" beside "527.36"')

  expect(await fixture.content()).toMatchObject({ 'core.stock_unit': [], 'core.stock_import': [] })
})

test('an answer that is not a reading is refused, and a further question keeps the answers before it', async () => {
  await using fixture = await openImportFixture()

  await expect(fixture.import(contrary(), { maps: ['price_asking:often=Price'] })).rejects.toThrow(
    '--map price_asking:often=Price: cells are not read as "often"',
  )
  const old = contrary().replace('Corolla,2019', 'Corolla,1936')
  await expect(fixture.import(old, { maps: ['price_asking:decimals=Price'] })).rejects.toThrow(
    /--map price_asking:decimals=Price --map model_year:1936=Year/,
  )
})

/** Numbers with a format each, beside texts. */
function bookOf(rows: readonly (readonly (string | readonly [number, number])[])[]): Buffer {
  const cell = (value: string | readonly [number, number]) =>
    typeof value === 'string'
      ? `<c t="str"><v>${escapeXml(value)}</v></c>`
      : `<c s="${value[1]}"><v>${value[0]}</v></c>`
  const names = ['Stock No', 'Make', 'Model', 'Year', 'Odometer', 'Price', 'Date In']
  const lines = [names, ...rows].map((cells) => `<row>${cells.map(cell).join('')}</row>`)
  const formats = ['0.0,"k"', '0.000,,"M"', '0, "000 km"', 14, '00000', '0" 000"', '#,##0.000']
  return workbook({ sheets: [{ name: 'Stock', rows: lines.join('') }], formats })
}

const odd = bookOf([
  [[123, 5], 'Kia', 'Rio', [2012, 4], [45_000, 3], [18_990, 1], [46_085, 4]],
  [[124, 5], 'Kia', 'Rio', [2013, 0], [16.093, 0], [512.345, 7], [46_086, 4]],
  [[125, 5], 'Kia', 'Rio', [2014, 4], [88_000, 3], [1_250_000, 2], [46_087, 4]],
])
const units = [
  { stock_no: '00123', model_year: 2012, km: 45_000, price: '18990.000', day: '2026-03-04' },
  { stock_no: '00124', model_year: 2013, km: 16, price: '512.345', day: '2026-03-05' },
  { stock_no: '00125', model_year: 2014, km: 88_000, price: '1250000.000', day: '2026-03-06' },
]
const selected =
  'select stock_no, model_year, odometer_km as km, asking_price::text as price, acquired_on::text as day from core.stock_unit order by 1'

test('the numbers of a workbook are loaded, exported as they were uploaded, and come back unchanged', async () => {
  await using fixture = await openExportFixture()
  const options = ['--map', 'vin=']

  const first = await fixture.importList('odd.xlsx', odd, ...options)
  const { rows: stored } = await fixture.database.pool.query(selected)
  const id = String(first.document['importId'])
  await fixture.exportList('--rooftop', 'north', '--original', id, '--out', 'back.csv')
  const back = await fixture.importList('again.csv', await fixture.file('back.csv'), ...options)

  expect(stored).toEqual(units)
  expect(back.document).toMatchObject({ accepted: 3, unchanged: 3, updated: 0, rejected: 0 })
})

test('a rejected row of a workbook comes back alone with the same numbers', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const rejects = `${fixture.folder}/rejects.csv`
  const row = (stock: string, odometer: readonly [number, number] | string) =>
    [stock, 'Kia', 'Rio', [2012, 4], odometer, [512.345, 0], [46_085, 4]] as const
  const book = bookOf([row('S1X', 'forty2'), row('S2X', [45_000, 0])])

  const report = await fixture.import(book, { rejects, maps: ['vin='] })
  const text = (await readFile(rejects, 'utf8')).replace('forty2', '16.093')
  const corrected = text.replace('16.093', '16.0930')
  await fixture.import(corrected, { mode: 'delta' })

  expect(report).toMatchObject({ accepted: 1, rejected: 1 })
  expect(await fixture.rows(selected)).toEqual([
    { stock_no: 'S1X', model_year: 2012, km: 16, price: '512.345', day: '2026-03-04' },
    { stock_no: 'S2X', model_year: 2012, km: 45_000, price: '512.345', day: '2026-03-04' },
  ])
})

test('dates that Excel exchanged are a warning of their column once they are answered', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const row = (at: number, day: string | readonly [number, number]) =>
    [`S${at}X`, 'Kia', 'Rio', '2012', '45000', '18990', day] as const
  const book = bookOf([row(1, [46_085, 4]), row(2, '25/01/2026')])

  await expect(fixture.import(book, { maps: ['vin='] })).rejects.toThrow(
    /"Date In" has 1 date and none after the 12th.*received_date:swapped=Date In.*received_date:unswapped=Date In/s,
  )
  const report = await fixture.import(book, { maps: ['vin=', 'received_date:swapped=Date In'] })

  expect(report.warnings[0]).toMatchObject({
    ...{ code: 'DATES_SWAPPED', severity: 'warning', column: 'Date In' },
  })
  expect(
    await fixture.rows('select acquired_on::text as day from core.stock_unit order by stock_no'),
  ).toEqual([{ day: '2026-04-03' }, { day: '2026-01-25' }])
})

test('a dropped list with two readings waits with both in its report', async () => {
  await using fixture = await openInboxFixture()
  await fixture.drop('list.csv', contrary())
  await fixture.pass()

  const report = await fixture.text('failed', '.txt')

  expect(report).toContain('has "512.345" beside "527.36"')
  expect(report).toContain('--map price_asking:thousands=Price (512.345 is 512345)')
  expect(report).toMatch(/forecourt stock import .*list.*--map price_asking:decimals=Price/)
  expect(await fixture.rows('select from core.stock_unit')).toEqual([])
})

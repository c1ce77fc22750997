import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import type { StockImportReport } from '#src/stock/import/request.ts'
import { openImportFixture, vinOf } from './import-fixture.ts'

const header = 'Stock Number,VIN,Make,Model,Mdl Yr,Odo (km),Adv Price,Date In,Colour'

/** A list of three cars with the given years and days in stock. */
function list(years: readonly string[], days: readonly string[], names = header): string {
  const rows = years.map(
    (year, at) => `S${at + 1}X,${vinOf(at + 1)},Kia,Rio,"${year}",15tkm,18990 SEK,${days[at]},Red`,
  )
  return [names, ...rows, ''].join('\r\n')
}

const years = ['2012.0', '2,013', 'MY14']
const days = ['2026-01-05', '31/02/2026', '2026-02-07']

test("a typical dealer's list fills every field, and a bad date does not reject its row", async () => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(list(years, days))

  expect(report).toMatchObject({ accepted: 3, rejected: 0, missing: [] })
  const units = await fixture.rows(
    'select model_year, odometer_km, asking_price::int, currency_code, acquired_on::text from core.stock_unit order by stock_no',
  )
  expect(units).toEqual(
    [2012, 2013, 2014].map((model_year, at) => ({
      ...{ model_year, odometer_km: 15_000, asking_price: 18_990, currency_code: 'SEK' },
      acquired_on: [days[0], null, days[2]][at],
    })),
  )
  expect(report.issueCounts).toMatchObject({ CURRENCY_DIFFERS: 3, 'type-error': 1 })
})

test('a year column without years is refused until the user confirms it, which is remembered', async () => {
  await using fixture = await openImportFixture()
  const bad = ['2012/2013', '2014/2015', '2015/2016']

  const asked = fixture.import(list(bad, days))
  await expect(asked).rejects.toThrow(UsageError)
  await expect(asked).rejects.toThrow(/"Mdl Yr" holds model_year[\s\S]*--map 'model_year=Mdl Yr'/)
  const none = await fixture.import(list(bad, days), { maps: ['model_year='] })
  const next = await fixture.import(list(bad.toReversed(), days))
  const taken = await fixture.import(list(years, days), { maps: ['model_year=Mdl Yr'] })

  expect([none.status, next.status, taken.status]).toEqual(Array(3).fill('imported'))
  expect(next.mapping[4]).toMatchObject({ header: 'Mdl Yr', field: null })
  expect(next.missing).toEqual([])
  expect(await fixture.rows('select absent from ops.stock_mapping')).toEqual([{ absent: [] }])
  expect(await fixture.rows('select count(model_year)::int as n from core.stock_unit')).toEqual([
    { n: 3 },
  ])
})

test('a price column of ranges is asked about with the consequence of a yes', async () => {
  await using fixture = await openImportFixture()
  const ranges = list(years, days).replaceAll('18990 SEK', '18990-19990')

  const asked = fixture.import(ranges)
  await expect(asked).rejects.toThrow(
    /"Adv Price" holds price_asking.* a row whose cell cannot be read is rejected\.[\s\S]*Leave a field out with --map <field>=/,
  )
  const without = await fixture.import(ranges, { maps: ['price_asking='] })
  expect(without).toMatchObject({ status: 'imported', accepted: 3 })
})

test('a column that an older release left out is read again, in the same file too', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const first = await fixture.import(list(years, days), { maps: ['price_asking=', 'model_year='] })
  await fixture.pool.query('update ops.stock_mapping set absent = null')

  const again = await fixture.import(list(years, days))
  const same = await fixture.import(list(years, days))

  expect(first.mapping[6]!.field).toBeNull()
  expect(again).toMatchObject({ status: 'imported', updated: 3 })
  expect(again.mapping[6]).toMatchObject({ header: 'Adv Price', field: 'price_asking' })
  expect(same.status).toBe('already-imported')
})

test('a list without such a column loads with a report at every import, until the user confirms it', async () => {
  await using fixture = await openImportFixture()
  const plain = `Stock Number,Make,Model\nS1X,Kia,Rio\nS2X,Kia,Ceed\n`

  const first = await fixture.import(plain)
  const confirmed = await fixture.import(plain, { maps: ['price_asking=', 'received_date='] })
  const next = await fixture.import(plain.replace('Rio', 'Picanto'))

  expect(first.missing.map(({ field }) => field)).toEqual([
    ...['price_asking', 'model_year', 'odometer', 'received_date'],
  ])
  expect(confirmed.status).toBe('already-imported')
  expect(next.missing.map(({ field }) => field)).toEqual(['model_year', 'odometer'])
})

/** Six cars, and a second price of some of them. */
function twoPrices(name: string, second: (at: number) => string, first = 'Price'): string {
  const rows = Array.from(
    { length: 6 },
    (_, at) => `S${at}X,${vinOf(at + 1)},Kia,Rio,2018,15000,${20_000 + at},${second(at)}`,
  )
  return [`Stock Number,VIN,Make,Model,Year,Km,${first},${name}`, ...rows, ''].join('\r\n')
}

test('a second price that is lower is asked about, whether all vehicles have it or some', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const some = twoPrices('Reduced To', (at) => (at < 2 ? '19000' : ''))
  const all = twoPrices('Internet Price', (at) => String(19_500 + at))

  await expect(fixture.import(some)).rejects.toThrow(
    '"Reduced To" is lower than "Price" for 2 of 6 vehicles. Where it is empty, "Price" holds the price',
  )
  await expect(fixture.import(all)).rejects.toThrow(
    '"Internet Price" is lower than "Price" for 6 of 6 vehicles. Name the one that holds the asking price.',
  )
  await fixture.import(all, { maps: ['price_asking=Internet Price'] })
  // The answer is remembered.
  await fixture.import(all.replaceAll('15000', '15001'))

  const units = await fixture.rows(
    'select asking_price::int as price from core.stock_unit order by 1',
  )
  expect(units).toEqual([0, 1, 2, 3, 4, 5].map((at) => ({ price: 19_500 + at })))
})

test('another amount, a price before a reduction and one that is equal are not asked about', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const lists = [
    twoPrices('Was', (at) => String(22_000 + at)),
    twoPrices('New Price', (at) => String(20_000 + at)),
    twoPrices('Discount', () => '500'),
    twoPrices('Special Offer', (at) => (at < 2 ? 'free tank' : '')),
    twoPrices('Now', (at) => String(19_000 + at), 'Was'),
  ]
  for (const list of lists)
    expect(await fixture.import(list, { dryRun: true })).toMatchObject({ accepted: 6 })
})

test('a price without tax is stored as written, and the import says so', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  for (const header of ['Price ex GST', 'Price (excl. VAT)', 'Price + tax']) {
    const report = await fixture.import(list(years, days, names(header)), { dryRun: true })
    expect(codesOf(report), header).toContain('PRICE_WITHOUT_TAX')
  }
  const report = await fixture.import(list(years, days, names('Price incl GST')), { dryRun: true })
  expect(codesOf(report)).not.toContain('PRICE_WITHOUT_TAX')
})

const codesOf = ({ warnings }: StockImportReport) => warnings.map(({ code }) => code)

const names = (price: string) => header.replace('Adv Price', price)

test('a list of several rooftops is asked about, unless its rows are chosen or it was confirmed', async () => {
  await using fixture = await openImportFixture()
  const [names, ...rows] = list(years, days).trimEnd().split('\r\n')
  const group = [
    `${names},Branch`,
    ...rows.map((row, at) => `${row},${at === 1 ? 'East' : 'West'}`),
  ]
  const text = group.join('\r\n')

  await expect(fixture.import(text)).rejects.toThrow(/"Branch" has 2 values \("West", "East"\)/)
  const only = { column: 'Branch', values: ['East'] }
  const east = await fixture.import(text, { only, rooftop: 'south' })
  const all = await fixture.import(text, { maps: ['location=Branch'] })
  const next = await fixture.import(`${text}\r\n`)

  expect([east.accepted, all.accepted, next.accepted]).toEqual([1, 3, 3])
})

test('a title that is a make is the make of the rows below it, where no column has it', async () => {
  await using fixture = await openImportFixture()
  const row = (at: number, model: string) => `S${at}X,${vinOf(at)},${model},2019,${20_000 + at}`
  const groups = ['TOYOTA', row(1, 'Camry'), row(2, 'RAV4'), 'Mazda (1 unit)', row(3, 'CX-5')]
  const others = ['WHOLESALE', row(4, 'Pajero')]

  const text = ['Stock No,VIN,Model,Year,Price', ...groups, ...others, ''].join('\r\n')
  await fixture.import(text, { maps: ['odometer=', 'received_date='] })

  const units = await fixture.rows<{ make: string }>(
    'select make from core.stock_unit order by stock_no',
  )
  expect(units.map(({ make }) => make)).toEqual(['TOYOTA', 'TOYOTA', 'Mazda', null])
})

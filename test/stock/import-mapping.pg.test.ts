import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
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
    /"Adv Price" holds price_asking.* a row whose cell cannot be read is rejected\. --map price_asking= leaves the column out/,
  )
  const without = await fixture.import(ranges, { maps: ['price_asking='] })
  expect(without).toMatchObject({ status: 'imported', accepted: 3 })
})

test('a column that an older release left out is read again, in the same file too', async () => {
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

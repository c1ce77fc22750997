import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import { aVehicle, openImportFixture } from './import-fixture.ts'

const header = ['Stock No', 'VIN', 'Make', 'Model', 'Year', 'Odometer', 'Price', 'Date In']

interface ListOptions {
  readonly above?: readonly string[]
  readonly more?: readonly string[]
  readonly cells?: (index: number, cells: string[]) => readonly string[]
  readonly after?: (index: number) => readonly string[]
}

/** Twelve cars with 50,001 to 50,012 on the odometer, at 21,001 to 21,012. */
function list({ above = [], more = [], cells = (_, own) => own, after }: ListOptions): string {
  const rows = Array.from({ length: 12 }, (_, at) => at + 1).flatMap((at) => {
    const { stockNo, vin } = aVehicle(at)
    const day = String(13 + at).padStart(2, '0')
    const row = [stockNo, vin, 'Toyota', 'Corolla', '2019', String(50_000 + at)]
    return [
      cells(at, [...row, String(21_000 + at), `2025-03-${day}`]).join(','),
      ...(after?.(at) ?? []),
    ]
  })
  return [...above, [...header, ...more].join(','), ...rows, ''].join('\r\n')
}

const stored =
  'select odometer_km as km, currency_code as currency, asking_price::int as price from core.stock_unit where off_stock_at is null order by stock_no limit 1'
const count = 'select count(*)::int as n from core.stock_unit where off_stock_at is null'

test.each(someOf([['Unit'], ['U/M'], ['Odo type']], 1))(
  'a column "%s" whose cells are units says in which unit the odometer is',
  async (name) => {
    await using fixture = await openImportFixture()

    await fixture.import(list({ more: [name], cells: (_, own) => [...own, 'mi'] }))

    expect(await fixture.rows(stored)).toMatchObject([{ km: Math.round(50_001 * 1.609344) }])
  },
)

test.each(someOf([['Cur.'], ['Money']], 1))(
  'a column "%s" whose cells are currencies says in which the price is',
  async (name) => {
    await using fixture = await openImportFixture()

    await fixture.import(list({ more: [name], cells: (_, own) => [...own, 'USD'] }))

    expect(await fixture.rows(stored)).toMatchObject([{ currency: 'USD' }])
  },
)

test.each(
  someOf(
    [
      ['Odometer readings in miles', { km: Math.round(50_001 * 1.609344), currency: 'AUD' }],
      ['All distances are in mi.', { km: Math.round(50_001 * 1.609344), currency: 'AUD' }],
      ['Stock of 1 March - prices in USD', { km: 50_001, currency: 'USD' }],
      ['Alle Preise in EUR inkl. MwSt.', { km: 50_001, currency: 'EUR' }],
      ['We deliver within 50 miles', { km: 50_001, currency: 'AUD' }],
      ['US stock, no USD accepted', { km: 50_001, currency: 'AUD' }],
    ],
    2,
  ),
)('the title "%s" names the unit of what names none itself', async (title, expected) => {
  await using fixture = await openImportFixture()

  await fixture.import(list({ above: [`"${title}"`] }))

  expect(await fixture.rows(stored)).toMatchObject([expected])
})

test('a title is not used where the header or the cells name another unit', async () => {
  await using fixture = await openImportFixture()

  await fixture.import(
    list({ above: ['Odometer readings in miles'] }).replace('Odometer,', 'Odometer (km),'),
  )

  expect(await fixture.rows(stored)).toMatchObject([{ km: 50_001 }])
})

test.each(
  someOf(
    [
      ['Sold / awaiting delivery'],
      ['Bereits verkauft'],
      ['Already sold'],
      ['Déjà vendus'],
      ['Sales this month'],
      ['Verkäufe im März'],
    ],
    2,
  ),
)('cars below the title "%s" are not stock', async (title) => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(list({ after: (at) => (at === 8 ? ['', title] : []) }))

  expect(await fixture.rows(count)).toEqual([{ n: 8 }])
  expect(report.issueCounts).toMatchObject({ 'not-in-stock': 4 })
})

test.each(someOf([['Sold/unsold list'], ['Sales team: call Anna']], 1))(
  'the title "%s" does not say that the cars below it are sold',
  async (title) => {
    await using fixture = await openImportFixture()

    await fixture.import(list({ after: (at) => (at === 8 ? ['', title] : []) }))

    expect(await fixture.rows(count)).toEqual([{ n: 12 }])
  },
)

test.each(
  someOf(
    [
      [3, 'Corolla *SOLD*', 11],
      [3, 'SOLD - Corolla', 11],
      [3, '(sold) Corolla', 11],
      [2, 'Toyota [verkauft]', 11],
      [3, 'Corolla SOLD', 11],
      [3, 'Corolla Sold Coast edition', 12],
      [3, 'Corolla NOT SOLD', 12],
    ],
    3,
  ),
)('cell %i that says "%s": %i cars are in stock', async (column, text, n) => {
  await using fixture = await openImportFixture()

  await fixture.import(list({ cells: (at, own) => (at === 5 ? own.with(column, text) : own) }))

  expect(await fixture.rows(count)).toEqual([{ n }])
})

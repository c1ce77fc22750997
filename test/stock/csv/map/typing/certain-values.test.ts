import { expect, test } from 'vitest'
import { typeColumn, typeTable } from '../table.ts'

test('years, readings and currencies are used if they are certain, else reported cell by cell', () => {
  const years = ['2012.0', '2,012', 'MY12', 'MY12.5', '12MY', '2012-05-01', '2012/2013', '2012/13']
  const { rows } = typeColumn('Year', [...years, ...Array(12).fill('2020')])
  const distances = typeColumn('Odometer', ['15tkm', '15.5 tkm', '15 kkm', '15,000 km approx.'])
  const money = ['18990 SEK', 'chf 20 000', '₺500000', 'MYR 90,000', '21500']
  const prices = typeColumn('Price', money).rows

  expect(rows.slice(0, 8).map(({ unit }) => unit?.model_year)).toEqual([
    ...[2012, 2012, 2012, 2012, 2012, 2012, null, null],
  ])
  expect(rows.slice(6, 8).map(({ issues }) => issues[0]?.severity)).toEqual(['warning', 'warning'])
  expect(distances.rows.map(({ unit }) => unit?.odometer_km)).toEqual([
    ...[15_000, 15_500, 15_000, 15_000],
  ])
  expect(prices.map(({ unit }) => unit?.currency_code)).toEqual(['SEK', 'CHF', 'TRY', 'MYR', 'AUD'])
  expect(prices.map(({ issues }) => issues[0]?.code)).toEqual([
    ...Array(4).fill('CURRENCY_DIFFERS'),
    undefined,
  ])
})

test('a foreign header, a word that is not a currency and a cost in another currency are reported', () => {
  const header = typeColumn('Price (SEK)', ['18990'])
  const { rows } = typeTable(
    ['Stock No', 'Price', 'Cost', 'Currency'],
    [
      ['A1X', '20000', '15000', 'Kroner'],
      ['A2X', '20000', '15000 USD', ''],
      ['A3X', '20000', '15000 AUD', 'AUD'],
    ],
  )

  const costs = typeTable(['Stock No', 'Price', 'Cost (USD)'], [['A1X', '20000', '9000']])

  expect(costs.rows[0]).toMatchObject({
    unit: { asking_price: '20000.000', currency_code: 'AUD', cost: null },
    issues: [{ code: 'CURRENCY_DIFFERS', column: 'Cost (USD)' }],
  })
  expect(header.rows[0]!.unit?.currency_code).toBe('SEK')
  expect(header.styles.issues.map(({ code }) => code)).toContain('CURRENCY_DIFFERS')
  expect(rows.map(({ unit }) => [unit?.currency_code, unit?.cost])).toEqual([
    ['AUD', '15000.000'],
    ['AUD', null],
    ['AUD', '15000.000'],
  ])
  expect(rows.map(({ issues }) => issues.map(({ code, column }) => [code, column]))).toEqual([
    [['type-error', 'Currency']],
    [['CURRENCY_DIFFERS', 'Cost']],
    [],
  ])
})

import { expect, test } from 'vitest'
import {
  hasSoldMark,
  isColourLegend,
  isSoldText,
  isSoldTitle,
} from '#src/stock/csv/map/typing/sold-words.ts'
import { mapColumns, stockNumbers, typeColumn, typeTable } from '../table.ts'

test('a mark in a name says that the car is sold, a sentence about a sale to come does not', () => {
  const sold = ['Corolla SOLD', 'Corolla *SOLD*', 'SOLD - Corolla', 'CX-5 - SOLD!!', '(sold) Rio']
  const onHand = ['MUST BE SOLD', '2019 Mazda CX-5 - MUST BE SOLD!', 'Rio TO BE SOLD', 'NOT SOLD']

  expect(sold.filter(hasSoldMark)).toEqual(sold)
  expect(onHand.filter(hasSoldMark)).toEqual([])
})

test('a car that was delivered to the dealer, or whose sale was cancelled, is on hand', () => {
  const onHand = [
    ...['Delivered to dealer', 'DELIVERED TO BRANCH', 'delivered to stock', 'Sold new'],
    ...['Sold - cancelled', 'SOLD (finance declined)', 'Sold, sale fell through'],
  ]
  const sold = [
    ...['Delivered', 'Delivered to customer', 'Delivered 5/3/2026', 'Delivered to J. Smith'],
    ...[
      'Sold - not delivered',
      'SOLD (not yet collected)',
      'Sold, not settled',
      'Sold/Undelivered',
      'Sold pending delivery',
    ],
  ]

  expect(onHand.filter(isSoldText)).toEqual([])
  expect(sold.filter(isSoldText)).toEqual(sold)
})

test('a note that a colour means sold is reported, below the list and above it', () => {
  const legends = ['Yellow = sold', 'SOLD: green', 'Highlighted cars are sold', 'Gelb = verkauft']
  const others = ['Red Corolla sold to Jim', 'Yellow = deposit', 'Sold with 2 keys', 'Colour: red']
  const cars = ['U1001', 'U1002', 'U1003'].map((number) => [number, 'Kia', 'Rio', '15000'])

  const { rows } = typeTable(
    ['Stock No', 'Make', 'Model', 'Price'],
    [...cars, ['Yellow = sold', '', '', '']],
  )
  const mapping = mapColumns([['Stock No', stockNumbers]], { titles: ['Stock list', 'Pink: sold'] })

  expect(legends.filter(isColourLegend)).toEqual(legends)
  expect(legends.filter(isSoldTitle)).toEqual([])
  expect(others.filter(isColourLegend)).toEqual([])
  expect(rows.at(-1)).toMatchObject({
    ...{ status: 'skipped', issues: [{ code: 'SOLD_BY_COLOUR', severity: 'warning', line: 5 }] },
  })
  expect(mapping.warnings).toMatchObject([{ code: 'SOLD_BY_COLOUR', text: 'Pink: sold' }])
})

test('a mark beside a stock number says that the car is sold', () => {
  const { rows } = typeTable(
    ['Stock No', 'Make', 'Model', 'Price'],
    [
      ['U1001', 'Kia', 'Rio', '15000'],
      ['U1002 SOLD', 'Kia', 'Rio', '16000'],
      ['*SOLD* U1003', 'Kia', 'Rio', '17000'],
      ['SOLDIER 4', 'Kia', 'Rio', '18000'],
    ],
  )

  expect(rows.map(({ status, hasLeft = false }) => [status, hasLeft])).toEqual([
    ...[
      ['accepted', false],
      ['skipped', true],
      ['skipped', true],
      ['accepted', false],
    ],
  ])
})

test.for([
  ['Rego', 'ABC123'],
  ['Colour', 'White'],
  ['Odometer', '15000'],
  ['Cost', '16000'],
] as const)('a %s that reads SOLD marks a sold car', ([header, other]) => {
  const { rows } = typeColumn(header, ['SOLD', 'Sold 2/3', ...Array(9).fill(other)])

  expect(rows.filter(({ hasLeft = false }) => hasLeft)).toHaveLength(2)
})

test('a price that reads SOLD or Delivered marks a sold car, one that reads Wholesale or Delivered 24,990 does not', () => {
  const sold = ['SOLD', 'Sold 24,990', 'Delivered', 'Delivered 12/11']
  const cells = [...sold, 'Wholesale', 'Delivered 24,990', '15000', '16000', '17000']

  const { rows } = typeColumn('Price', cells)

  expect(rows.map(({ hasLeft = false }) => hasLeft)).toEqual([
    ...[true, true, true, true, false, false, false, false, false],
  ])
})

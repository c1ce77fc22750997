import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import type { StockImportReport } from '#src/stock/import/request.ts'
import { runsEveryCase, someOf } from '../support/cases.ts'
import { type ImportFixture, now, openImportFixture, vinOf } from './import-fixture.ts'

/** What a list has of each car; left out: as usual at a dealer of used cars. */
interface Values {
  readonly price?: (usual: number) => number
  readonly cost?: (usual: number) => number
  readonly km?: (usual: number) => number
  readonly year?: (usual: number) => number
}

/** Cars with numbers of a rooftop's own: every other list has other cars. */
function listOf(count: number, { price, cost, km, year }: Values = {}, from = 1): string {
  const value = (usual: number, change: (usual: number) => number = (same) => same) => change(usual)
  const rows = Array.from({ length: count }, (_, at) => [
    ...[`S${from + at}`, vinOf(from + at), 'Toyota', 'Corolla'],
    value(now.getUTCFullYear() - 4 - (at % 3), year),
    value(45_000 + 700 * at, km),
    value(20_000 + 150 * at, price),
    value(16_000 + 150 * at, cost),
  ])
  const head = ['Stock Number,VIN,Make,Model,Year,Odometer (km),Price,Cost']
  return [...head, ...rows.map((row) => row.join(',')), ''].join('\r\n')
}

const faults: readonly (readonly [string, Values, RegExp])[] = [
  [
    'prices times a thousand',
    { price: (usual) => usual * 1000 },
    /median asking price of 20600000/,
  ],
  ['prices in cents', { price: (usual) => usual * 100 }, /median asking price/],
  ['prices by the month', { price: (usual) => usual / 60 }, /median asking price/],
  ['costs times a thousand', { cost: (usual) => usual * 1000 }, /median cost/],
  ['odometers times ten', { km: (usual) => usual * 10 }, /median odometer/],
  [
    'odometers in thousands',
    { km: (usual) => Math.round(usual / 1000) },
    /median odometer of \d\d /,
  ],
  ['years of other dates', { year: () => 1955 }, /median year of 1955/],
  ['years of birth', { year: (usual) => usual - 30 }, /median year/],
]

const both = async (
  fixture: ImportFixture,
  list: string,
  changes: { readonly rooftop?: 'gulf'; readonly mode?: 'delta' },
  message: RegExp,
) => {
  for (const dryRun of [true, false]) {
    const refused = fixture.import(list, { ...changes, dryRun })
    await expect(refused).rejects.toThrow(UsageError)
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toThrow(/Nothing was imported.*--allow-unusual-values/)
  }
  return await fixture.import(list, { ...changes, allowUnusualValues: true })
}

test.each(faults.filter((_, at) => runsEveryCase || at % 6 === 0))(
  'a list with %s is asked about: the first of a rooftop, and one of other cars than the last, in each region',
  async (_, values, message) => {
    await using fixture = await openImportFixture()

    const first = await both(fixture, listOf(9, values), { rooftop: 'gulf' }, message)
    await fixture.import(listOf(9))
    const next = await both(fixture, listOf(9, values, 100), { mode: 'delta' }, message)

    expect([first.status, next.status]).toEqual(['imported', 'imported'])
  },
)

test.each(
  someOf(
    [
      ['usual values', {}],
      ['prices twice as high', { price: (usual: number) => usual * 2 }],
      ['new cars', { km: (usual: number) => usual % 60, year: () => now.getUTCFullYear() }],
      ['old cars', { km: (usual: number) => usual * 4, year: (usual: number) => usual - 5 }],
    ] as const,
    2,
  ),
)('a list of %s is not asked about', async (_, values) => {
  await using fixture = await openImportFixture()

  const first = await fixture.import(listOf(9, values))
  const next = await fixture.import(listOf(9, values, 100), { mode: 'delta' })

  expect([first.status, next.status]).toEqual(['imported', 'imported'])
})

test('a dealer of dear cars is asked once, at the first list', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const dear = { price: (usual: number) => usual * 50, cost: (usual: number) => usual * 50 }

  await both(fixture, listOf(9, dear), {}, /median asking price/)
  const next = await fixture.import(listOf(9, dear, 100), { mode: 'delta' })

  expect(next.status).toBe('imported')
})

test('the report has minimum, median and maximum of each number column, beside the stock before', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const first = await fixture.import(listOf(3))
  const emptied = listOf(5).replace(',20600,', ',,')

  const second = await fixture.import(emptied)

  const price = { column: 'asking_price', currency: 'AUD' }
  const three = { cars: 3, empty: 0, minimum: 20_000, median: 20_150, maximum: 20_300 }
  expect(first.figures).toContainEqual({ ...price, list: three, stock: null })
  expect(second.figures).toContainEqual({
    ...{ ...price, stock: three },
    list: { cars: 5, empty: 1, minimum: 20_000, median: 20_150, maximum: 20_450 },
  })
  expect(second.figures.map(({ column }) => column)).toEqual([
    ...['model_year', 'odometer_km', 'asking_price', 'cost'],
  ])
})

test('amounts far from the median of the list are named, at a first list and at a later one', async () => {
  await using fixture = await openImportFixture()
  const odd = (list: string) =>
    list.replace(',20450,', ',1,').replace(',21050,', ',999999,').replace(',16600\r', ',16.60\r')

  const usual = await fixture.import(listOf(9))
  const next = await fixture.import(odd(listOf(9)))
  const first = await fixture.import(odd(listOf(9)), { rooftop: 'south' })

  const hints = [next, first].map(({ warnings }) =>
    warnings.filter(({ code }) => code === 'FAR_FROM_MEDIAN').map(({ hint }) => hint),
  )
  const price = 'the median asking price is 20600 AUD; far from it: S4: 1, S8: 999999'
  const cost = 'the median cost is 16450 AUD; far from it: S5: 16.6'
  expect(usual.warnings.map(({ code }) => code)).not.toContain('FAR_FROM_MEDIAN')
  expect(hints).toEqual([
    [price, cost],
    [price, cost],
  ])
})

test('a price with a zero too many and an odometer that went back are named, usual changes are not', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(9))
  const usual = listOf(9, { price: (price) => price - 2000, km: (km) => km + 900 })
  const odd = usual
    .replace(',18450,', ',184500,')
    .replace(',46600,', ',4660,')
    .replace(',19200,', ',,')

  const first = await fixture.import(usual, { dryRun: true })
  const next = await fixture.import(odd)

  const hintsOf = ({ warnings }: StockImportReport) =>
    warnings.filter(({ code }) => code === 'LARGE_CHANGE').map(({ hint }) => hint)
  expect(hintsOf(first)).toEqual([])
  expect(hintsOf(next)).toEqual([
    '1 known vehicle with an odometer that is lower than before: S2: 45700 → 4660',
    '1 known vehicle with an asking price of three times the one before, or a third: S4: 20450 → 184500',
  ])
})

test('a list in which most cars cost more than their price is reported', async () => {
  await using fixture = await openImportFixture()
  const dear = listOf(9, { cost: (cost) => cost + 10_000 })
  const few = listOf(9, { cost: (cost) => (cost > 16_400 ? cost : cost + 5_000) })

  const hintsOf = async (list: string) => {
    const { warnings } = await fixture.import(list, { dryRun: true })
    return warnings.filter(({ code }) => code === 'BELOW_COST').map(({ hint }) => hint)
  }

  expect(await hintsOf(dear)).toEqual([
    'the asking price of 9 of 9 cars is below their cost: are the two columns exchanged?',
  ])
  expect(await hintsOf(few)).toEqual([])
  expect(await hintsOf(listOf(9))).toEqual([])
})

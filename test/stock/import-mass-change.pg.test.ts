import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { someOf } from '../support/cases.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'

const list = listOf(vehicles(20))

function mapRows(change: (cells: string[]) => string[]): string {
  const [header, ...rows] = list.trimEnd().split('\r\n')
  return [header, ...rows.map((row) => change(row.split(',')).join(',')), ''].join('\r\n')
}

const swapped = mapRows(([no, vin, make, model, ...rest]) => [no!, vin!, model!, make!, ...rest])
const prices = (change: (price: number) => number | string) =>
  mapRows((cells) => cells.with(6, String(change(Number(cells[6])))))
const without = (column: number) => mapRows((cells) => cells.with(column, ''))

test.for(
  someOf(
    [
      [
        'make and model swapped',
        swapped,
        /would change the make of 20 of 20 \(S0001: Toyota → Corolla\), change the model of 20 of 20/,
      ],
      [
        'the price column empty',
        without(6),
        /remove the asking price of 20 of 20 \(S0001: 20001 → none\)/,
      ],
      ['all years gone', without(4), /remove the year of 20 of 20/],
      ['all VINs gone', without(1), /remove the VIN of 20 of 20/],
      [
        'the odometers of another column',
        mapRows((cells) => cells.with(5, String(Number(cells[5]) / 10))),
        /reduce the odometer of 20 of 20/,
      ],
      ['prices in cents', prices((price) => price * 100), /change the asking price of 20 of 20/],
      [
        'prices a hundredth',
        prices((price) => price / 100),
        /change the asking price of 20 of 20 \(S0001: 20001 → 200.01/,
      ],
      [
        'prices in another currency',
        prices((price) => `${price} SEK`),
        /change the currency of 20 of 20 \(S0001: AUD → SEK\)/,
      ],
      [
        'a column less',
        list
          .split('\r\n')
          .map((row) => row.split(',').toSpliced(6, 1).join(','))
          .join('\r\n'),
        /remove the asking price/,
      ],
    ],
    2,
  ),
)(
  '%s: refused without changes, and imported with --allow-mass-change',
  async ([, bad, message]) => {
    await using fixture = await openImportFixture()
    await fixture.import(list)
    const before = await fixture.content()

    for (const dryRun of [false, true]) {
      const refused = fixture.import(bad as string, { dryRun })
      await expect(refused).rejects.toThrow(UsageError)
      await expect(refused).rejects.toThrow(message as RegExp)
      await expect(refused).rejects.toThrow(
        /of 20 known vehicles at NORTH\. Nothing was imported.*--map.*--allow-mass-change/,
      )
    }
    expect(await fixture.content()).toEqual(before)
    await expect(fixture.import(bad as string, { allowMassRemoval: true })).rejects.toThrow(
      message as RegExp,
    )

    const allowed = await fixture.import(bad as string, { allowMassChange: true })
    expect(allowed).toMatchObject({ status: 'imported', updated: 20 })
  },
)

test('half of the list changed, new prices, a sale and another spelling of a make are not a mass change', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(list)
  let row = 0
  const half = mapRows((cells) => (row++ % 2 === 0 ? cells.with(3, 'Yaris') : cells))
  const lists = [
    half,
    list,
    prices((price) => price * 0.8),
    prices((price) => price * 1.9),
    list.replaceAll('Toyota', 'TOYOTA'),
    mapRows((cells) => cells.with(7, 'Blue').with(5, String(Number(cells[5]) + 1000))),
  ]
  for (const other of lists)
    expect(await fixture.import(other)).toMatchObject({ status: 'imported' })
})

test('fields that the user maps in the same command are not checked', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  await fixture.import(swapped, { maps: ['make=Make', 'model=Model'] })

  const corrected = await fixture.import(swapped, { maps: ['make=Model', 'model=Make'] })

  expect(corrected).toMatchObject({ status: 'imported', updated: 20 })
})

test('a delta list without the columns of a vehicle does not empty them', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(list)
  const prices = list
    .split('\r\n')
    .map((row) =>
      row
        .split(',')
        .filter((_, index) => index === 0 || index === 6)
        .join(','),
    )
    .join('\r\n')

  await expect(fixture.import(prices, { mode: 'delta' })).rejects.toThrow(/remove the make/)
})

test('dates in stock that become unreadable, or change, are refused', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const dated = (date: (row: number) => string) =>
    list
      .trimEnd()
      .split('\r\n')
      .map((row, index) => `${row},${index === 0 ? 'Date In' : date(index)}`)
      .join('\r\n')
      .concat('\r\n')
  await fixture.import(dated((row) => `${row}/01/2026`))

  for (const [bad, message] of [
    [dated(() => 'ask Bob'), /remove the date in stock of 20 of 20 \(S0001: 2026-01-01 → none\)/],
    [dated((row) => `${row}/02/2026`), /change the date in stock of 20 of 20/],
  ] as const)
    await expect(fixture.import(bad)).rejects.toThrow(message)
})

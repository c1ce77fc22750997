import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvText, defaultStyle } from '#src/stock/csv/write/csv-text.ts'
import { caseCount } from '../../support/cases.ts'
import { type ExportFixture, openExportFixture } from './export-fixture.ts'

const names = ['Stock No', 'VIN', 'Make', 'Model', 'Variant', 'Year', 'Kms', 'Price', 'Cost']
const more = [
  'Rego',
  'Date In Stock',
  'Colour',
  'Body',
  'Status',
  'Wholesale',
  'Notes',
  'Own column',
]

/** Text that people and programs write into a cell. */
const text = fc
  .array(
    fc.constantFrom(
      ...[
        ' ',
        ',',
        ';',
        '"',
        "'",
        '=',
        '+',
        '-',
        '@',
        '\n',
        '\t',
        '|',
        '0',
        '7',
        'é',
        'ض',
        '漢',
        '\u00A0',
      ],
      ...['White', 'GXL', '=1+1', '- full history', 'N/A', '\u200F', '²', '1/2', '01-02', '$'],
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''))
const word = fc.constantFrom('White', 'Blue', 'SUV', 'Ute', 'Reserved', 'Available', '')
const amount = fc.oneof(
  fc.integer({ min: 1000, max: 99_999 }).map(String),
  fc.integer({ min: 100_000, max: 9_999_999 }).map((cents) => (cents / 100).toFixed(2)),
  fc.constantFrom('', 'POA', '$12,990', '0'),
)
const plate = fc.constantFrom('ABC 123', '1ab-2cd', '+77', '')
const day = fc.integer({ min: 10, max: 28 }).map((date) => `2025-05-${date}`)

function row(at: number): fc.Arbitrary<string[]> {
  const cells: fc.Arbitrary<string>[] = [
    fc.constantFrom('S', '00', 'A-', '+', '=', '@').map((prefix) => `${prefix}${100_000 + at}`),
    fc.constantFrom(`6T1BF3FK20X${100_000 + at}`, `6T1BF3FK20X${100_000 + at}`, `HJ75-1${at}`),
    fc.constantFrom('Toyota', 'Kia', "O'Neill"),
    ...[text, text, fc.integer({ min: 1990, max: 2025 }).map(String)],
    fc.oneof(fc.nat(300_000).map(String), fc.constantFrom('', '85,000 km', '50000 mi')),
    ...[amount, amount, plate, day, word, word, word, amount, text, text],
  ]
  return fc.tuple(...cells).map((found) => [...found])
}

const unitsOf = async ({ database }: ExportFixture) =>
  (await database.pool.query('select * from core.stock_unit order by stock_no')).rows

test('export and import change no unit, for any cells', async () => {
  await using fixture = await openExportFixture()
  const rows = Array.from(
    { length: caseCount(1500, 300) },
    (_, at) => fc.sample(row(at), { numRuns: 1, seed: at })[0]!,
  )
  const file = csvText([[...names, ...more], ...rows], defaultStyle)
  const first = await fixture.importList('stock.csv', file, '--map', 'stock_number=Stock No')
  const before = await unitsOf(fixture)
  await fixture.exportList('--rooftop', 'north', '--out', 'priced.csv')

  const second = await fixture.importList('again.csv', await fixture.file('priced.csv'))

  const accepted = first.document['accepted']
  expect(accepted).toBeGreaterThan(caseCount(1000, 200))
  expect(second.document['changes']).toEqual([])
  expect(second.document).toMatchObject({ records: accepted, accepted, unchanged: accepted })
  expect(await unitsOf(fixture)).toEqual(before)
})

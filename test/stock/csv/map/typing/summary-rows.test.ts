import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import { caseCount } from '../../../../support/cases.ts'
import { sydney } from '../table.ts'

const names = ['Stock No', 'VIN', 'Make', 'Model', 'Year', 'Odometer (km)', 'Price', 'Margin']
type Row = readonly (string | number)[]

/** Cars without a VIN; their numbers differ. */
const cars: readonly Row[] = Array.from({ length: 12 }, (_, at) => [
  ...[`S${1001 + at}`, '', ['Toyota', 'Kia', 'Ford'][at % 3]!, `Model ${at}`, 2014 + (at % 7)],
  ...[21_000 + at * 1_337, 15_000 + at * 731, 900 + at * 11],
])

/** Types the rows of a list; the first ones are its vehicles. */
function typeRows(rows: readonly Row[]) {
  const texts = rows.map((row) => row.map(String))
  const mapping = proposeMapping(names, texts.slice(0, 2))
  const type = rowTyper(mapping, startStyles(mapping, sydney).styles())
  return texts.map((cells, at) => type({ line: at + 2, cells }))
}

function statusesOf(rows: readonly Row[]) {
  return typeRows(rows).map(({ status }) => status)
}

/** A row with the sums of the columns, and other cells. */
function sumsOf(rows: readonly Row[], cells: Readonly<Record<number, string | number>> = {}): Row {
  const sum = (at: number) => rows.reduce((all, row) => all + Number(row[at]), 0)
  return names.map((_, at) => cells[at] ?? (at >= 5 ? sum(at) : ''))
}

const labels = {
  english: ['Total', 'Sub Total', 'Grand Total', 'Min', 'Max', 'Average', 'Count', 'Toyota Total'],
  german: ['Summe', 'Zwischensumme', 'Gesamt', 'Toyota Ergebnis', 'Durchschnitt', 'Anzahl', 'Min'],
  french: ['Total général', 'Sous-total', 'Somme Toyota', 'Moyenne', 'Nombre', 'Totaux'],
  spanish: ['Total general', 'Subtotal', 'Suma', 'Promedio', 'Mín', 'Máximo', 'Cuenta'],
  arabic: [
    'المجموع',
    'الإجمالي',
    'المجموع الكلي',
    'المتوسط',
    'الحد الأدنى',
    'عدد',
    'إجمالي السيارات',
  ],
}

for (const [language, texts] of Object.entries(labels))
  test(`a total with a label in ${language} is not a vehicle, whichever column has the label`, () => {
    for (const label of texts)
      for (const at of [0, 1, 2, 3]) {
        const rows = [...cars, sumsOf(cars, { [at]: label }), sumsOf(cars, { [at]: label, 4: 12 })]

        expect(statusesOf(rows), `${label} in ${names[at]}`).toEqual([
          ...cars.map(() => 'accepted'),
          'skipped',
          'skipped',
        ])
      }
  })

test('a total without a word is not a vehicle: below a group, below all, with the number of vehicles as its key', () => {
  const [first, second] = [cars.slice(0, 5), cars.slice(5)]
  const rows = [
    ...[...first, sumsOf(first), ...second, sumsOf(second), sumsOf(cars)],
    ...[
      sumsOf(cars, { 0: 12 }),
      sumsOf(cars, { 3: 12, 4: 2016.58 }),
      sumsOf(cars, { 2: 'Toyota' }),
    ],
  ]

  const statuses = statusesOf(rows)

  expect(statuses.filter((status) => status === 'accepted')).toHaveLength(cars.length)
  expect(statuses.filter((status) => status === 'skipped')).toHaveLength(6)
})

test('numbers of pages and codes of reports are not vehicles, in one cell or in several', () => {
  const footers = [
    ...[
      'Page|1|of|1',
      '||Page|3|of|12',
      'Seite|1|von|1',
      'Page 2 / 3',
      '|Página|1|de|1',
      'صفحة|1|من|1',
    ],
    ...['RPT-0042', 'RPT-STK-01|Stock report||||||24/11/2026', 'Prepared by||John Smith'],
    ...['Prepared||by|John Smith', 'User|admin|Date|24/11/2026|Time|10:32'],
  ].map((text) =>
    Object.assign(
      names.map(() => ''),
      text.split('|'),
    ),
  )

  for (const footer of footers)
    expect(statusesOf([...cars, footer]).at(-1), footer.join('|')).toBe('skipped')
})

test('the reason names what the row is', () => {
  const hints = [
    sumsOf(cars, { 0: 'Summe' }),
    sumsOf(cars),
    ['Page', '1', 'of', '1', '', '', '', ''],
  ]
    .map((row) => typeRows([...cars, row]).at(-1)!)
    .map(({ issues }) => issues.map(({ severity, hint, line }) => `${severity} ${line} ${hint}`))

  expect(hints).toEqual([
    ['info 14 a total, not a vehicle: "Summe"'],
    ['info 14 a total, not a vehicle: its numbers are calculated from the rows above it'],
    ['info 14 the row is the number of a page, "Page 1 of 1"'],
  ])
})

const number = fc.constantFrom(0, 1, 10, 100, 10_000, 20_000, 30_000)
const anyCar = fc.record({
  year: fc.constantFrom(2019, 2020, 2021),
  odometer: number,
  price: number,
  margin: number,
  word: fc.constantFrom('Max', 'Total', 'Corolla', '3', 'Sum'),
})

test('a vehicle with a stock number and a make is never passed over, whatever its numbers', () => {
  fc.assert(
    fc.property(
      fc.array(anyCar, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      (list, hasLetters) => {
        const rows = list.map(({ year, odometer, price, margin, word }, at) => [
          ...[hasLetters ? `S${at + 1}` : String(at + 1), '', 'Toyota', word, year],
          ...[odometer, price, margin],
        ])

        expect(statusesOf(rows)).toEqual(list.map(() => 'accepted'))
      },
    ),
    { numRuns: caseCount(200) },
  )
})

const calculated = {
  sum: (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0),
  minimum: (numbers: readonly number[]) => Math.min(...numbers),
  maximum: (numbers: readonly number[]) => Math.max(...numbers),
  average: (numbers: readonly number[]) =>
    Math.round((numbers.reduce((all, one) => all + one, 0) / numbers.length) * 100) / 100,
  count: (numbers: readonly number[]) => numbers.length,
}
const written = (language: string, one: number) => one.toLocaleString(language)
/** How odometers and prices are written. */
const formats = {
  plain: [String, String],
  english: [
    (one: number) => `${written('en', one)} km`,
    (one: number) => `AED ${written('en', one)}`,
  ],
  german: [(one: number) => written('de', one), (one: number) => `${written('de', one)} €`],
} as const

test('a row whose numbers are calculated from those above is never a vehicle', () => {
  const kinds = Object.keys(calculated) as (keyof typeof calculated)[]
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(300_000), fc.nat(90_000)), { minLength: 2, maxLength: 20 }),
      fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...(Object.keys(formats) as (keyof typeof formats)[])),
      fc.constantFrom('', 'Total', 'Σ', '---'),
      fc.integer({ min: 0, max: 3 }),
      (numbers, footers, format, label, at) => {
        const [distance, money] = formats[format]
        const list = numbers.map(([odometer, price], row) => [
          ...[
            `S${row + 1}`,
            '',
            'Kia',
            'Rio',
            '2019',
            distance(odometer + 1),
            money(price + 1),
            '',
          ],
        ])
        const rows = footers.map((kind) => {
          const of = (column: 0 | 1) => calculated[kind](numbers.map((pair) => pair[column] + 1))
          const row = ['', '', '', '', '', distance(of(0)), money(of(1)), '']
          row[at] = label
          return row
        })

        const statuses = statusesOf([...list, ...rows])

        expect(statuses).toEqual([...list.map(() => 'accepted'), ...rows.map(() => 'skipped')])
      },
    ),
    { numRuns: caseCount(200) },
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'
import { fields } from '#src/stock/csv/map/stock-fields.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import type { StockRow } from '#src/stock/csv/map/typing/typed-row.ts'
import type { TypingOptions } from '#src/stock/csv/map/typing/typing-options.ts'
import { caseCount } from '../../../../support/cases.ts'
import { dallas, dubai, kuwait, sydney } from '../table.ts'

/** Types one column, with only a header to map it. */
function typeCells(header: string, cells: readonly string[], options: TypingOptions) {
  const mapping = proposeMapping(['Stock No', header], [])
  const rows = cells.map((cell, index) => [`S${index}X`, cell])
  const evidence = startStyles(mapping, options)
  for (const cells of rows) evidence.observe({ cells })
  const type = rowTyper(mapping, evidence.styles())
  return rows.map((row, index) => type({ line: index + 2, cells: row }))
}

interface Style {
  readonly group: string
  readonly decimal: string
  readonly before: string
  readonly after: string
  readonly arabic: boolean
}

const western = fc
  .record({
    group: fc.constantFrom('', ',', '.', ' ', '\u00a0', '\u202f', "'", '’'),
    decimal: fc.constantFrom('.', ','),
    before: fc.constantFrom('', '$', 'AED ', 'R ', '  ', '€ ', 'Rs.'),
    after: fc.constantFrom('', ' ', ' AED', ' drive away', '/-'),
    arabic: fc.boolean(),
  })
  .filter(({ group, decimal }) => group !== decimal)
const arabic = fc.constantFrom<Style>(
  { group: '\u066c', decimal: '\u066b', before: '', after: ' درهم', arabic: true },
  { group: '', decimal: '\u066b', before: '\u200f', after: '', arabic: true },
)
const anyStyle = fc.oneof({ weight: 4, arbitrary: western }, arabic)

/** Writes thousandths or hundredths in a style; `decimals` 0 leaves the point out. */
function write(units: number, decimals: number, style: Style): string {
  const digits = String(units).padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, style.group)
  const number = decimals === 0 ? grouped : grouped + style.decimal + digits.slice(-decimals)
  const inDigits = style.arabic
    ? number.replace(/\d/g, (digit) => String.fromCharCode(0x660 + Number(digit)))
    : number
  return style.before + inDigits + style.after
}

const exact = (units: number, decimals: number) =>
  `${Math.floor(units / 10 ** decimals)}.${String(units % 10 ** decimals)
    .padStart(decimals, '0')
    .slice(0, decimals)
    .padEnd(3, '0')}`

test('an amount written in any style of a column is read exactly', () => {
  const amounts = fc.array(fc.integer({ min: 1, max: 99_999_999_999 }), {
    minLength: 1,
    maxLength: 12,
  })

  fc.assert(
    fc.property(amounts, anyStyle, fc.constantFrom(0, 1, 2), (units, style, decimals) => {
      const written = units.map((unit) => write(unit, decimals, style))

      const typed = typeCells('Price', written, sydney).map(({ unit }) => unit?.asking_price)

      expect(typed).toEqual(units.map((unit) => exact(unit, decimals)))
    }),
    { numRuns: caseCount(1500) },
  )
})

test('three decimals are read if one amount of the column proves them', () => {
  const amounts = fc.array(fc.integer({ min: 1, max: 99_999_999 }), { minLength: 1, maxLength: 12 })

  fc.assert(
    fc.property(amounts, anyStyle, (others, style) => {
      const units = [4_500_125, ...others]
      const written = units.map((unit) => write(unit, 3, style))

      const typed = typeCells('Price', written, kuwait).map(({ unit }) => unit?.asking_price)

      expect(typed).toEqual(units.map((unit) => exact(unit, 3)))
    }),
    { numRuns: caseCount(1000) },
  )
})

test('an odometer written in any style and unit is read exactly', () => {
  const readings = fc.array(fc.integer({ min: 0, max: 999_999 }), { minLength: 1, maxLength: 12 })
  const unit = fc.constantFrom('', 'km', ' kms', ' KM', ' كم')

  fc.assert(
    fc.property(readings, anyStyle, unit, (km, style, after) => {
      const written = km.map((reading) => write(reading, 0, { ...style, before: '', after }))

      const typed = typeCells('Odometer', written, dubai).map((row) => row.unit?.odometer_km)

      expect(typed).toEqual(km)
    }),
    { numRuns: caseCount(1000) },
  )
})

const day = fc.date({
  min: new Date('1990-01-01T00:00:00Z'),
  max: new Date('2026-11-20T00:00:00Z'),
  noInvalidDate: true,
})
const separator = fc.constantFrom('/', '-', '.')

/** Writes a date in an order, padded or not, with or without a time. */
function writeDate(at: Date, order: string, mark: string, isPadded: boolean, time: string): string {
  const iso = at.toISOString().slice(0, 10)
  const [year, month, date] = iso.split('-') as [string, string, string]
  const short = (part: string) => (isPadded ? part : String(Number(part)))
  const parts = { d: short(date), m: short(month), y: year }
  return [...order].map((part) => parts[part as 'd' | 'm' | 'y']).join(mark) + time
}

test('dates written in one order are read exactly if a single one proves the order', () => {
  const order = fc.constantFrom('dmy', 'mdy', 'ymd')
  const time = fc.constantFrom('', ' 0:00', ' 13:45:10', ' 9:15 PM')
  const form = fc.tuple(order, separator, fc.boolean(), time, fc.constantFrom(sydney, dallas))
  const proof = new Date('2024-03-25T00:00:00Z')

  fc.assert(
    fc.property(
      fc.array(day, { maxLength: 12 }),
      form,
      (others, [order, mark, pad, time, where]) => {
        const days = [...others, proof]
        const written = days.map((at) => writeDate(at, order, mark, pad, time))

        const typed = typeCells('Date In Stock', written, where).map(
          ({ unit }) => unit?.acquired_on,
        )

        expect(typed).toEqual(days.map((at) => at.toISOString().slice(0, 10)))
      },
    ),
    { numRuns: caseCount(1000) },
  )
})

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.stringMatching(/^[-+$=(]?[\d.,' /:-]{0,24}[a-zA-Z%)]{0,4}$/),
)
const columnsOfUnit: readonly (keyof StockRow)[] = [
  ...(['stock_no', 'vin', 'adcode', 'plate', 'make', 'model', 'variant', 'model_year'] as const),
  ...(['odometer_km', 'asking_price', 'cost', 'currency_code', 'acquired_on'] as const),
  ...(['price_on_application', 'extras'] as const),
]

test('no text breaks typing, and every row is accepted, rejected or skipped', () => {
  const names = fields.map((field) => `a column for ${field}`)
  const overrides = parseOverrides(
    fields.map((field, index) => `${field}=#${index + 1}`),
    names,
  )
  const row = fc.array(anyText, { minLength: names.length - 2, maxLength: names.length + 2 })
  const where = fc.constantFrom(sydney, dallas, dubai, kuwait)

  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 3 }), where, (rows, options) => {
      const mapping = proposeMapping(names, rows, { overrides })
      const evidence = startStyles(mapping, options)
      for (const cells of rows) evidence.observe({ cells })
      const type = rowTyper(mapping, evidence.styles())

      for (const [index, cells] of rows.entries()) {
        const { status, unit, issues } = type({ line: index + 2, cells })

        expect(unit !== null).toBe(status === 'accepted')
        expect(issues.some(({ severity }) => severity === 'error')).toBe(status === 'rejected')
        if (unit) expect(Object.keys(unit)).toEqual(columnsOfUnit)
        if (unit?.asking_price) expect(unit.asking_price).toMatch(/^\d{1,12}\.\d{3}$/)
        if (unit?.acquired_on) expect(unit.acquired_on).toMatch(/^\d{4}-\d\d-\d\d$/)
        if (unit) expect(JSON.stringify(unit)).not.toContain('\\u0000')
      }
    }),
    { numRuns: caseCount(1000) },
  )
})

test('no header and no cell breaks mapping', () => {
  const cells = fc.array(anyText, { maxLength: 6 })

  fc.assert(
    fc.property(fc.option(cells), fc.array(cells, { maxLength: 6 }), (names, rows) => {
      const mapping = proposeMapping(names, rows)

      const width = names?.length ?? Math.max(0, ...rows.map((row) => row.length))
      expect(mapping.columns).toHaveLength(width)
      expect(mapping.status === 'sure').toBe(mapping.questions.length === 0)
    }),
    { numRuns: caseCount(1500) },
  )
})

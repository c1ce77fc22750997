import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import {
  byteOrderMark,
  type CsvStyle,
  csvText,
  defaultStyle,
} from '#src/stock/csv/write/csv-text.ts'
import { caseCount } from '../../../support/cases.ts'

const names = ['stock_number', 'vin', 'make', 'year', 'price', 'notes', 'more']
const text = fc
  .array(fc.constantFrom(...' ,;|\t"\'\n\r=-@aé漢ض€x5', 'ok', '\r\n'), { maxLength: 10 })
  .map((parts) => parts.join(''))
const row = fc
  .tuple(
    fc.nat(99_999).map((id) => `S${String(id).padStart(6, '0')}`),
    fc.nat(99_999).map((id) => `6T1BF3FK20X${String(100_000 + id)}`),
    fc.constantFrom('Toyota', 'Land Rover', "O'Neill"),
    fc.integer({ min: 1990, max: 2026 }).map(String),
    fc.integer({ min: 500, max: 99_999 }).map(String),
    text,
    text,
  )
  .map((cells) => [...cells])
const tables = fc.array(row, { minLength: 3, maxLength: 8 })
const styles: fc.Arbitrary<CsvStyle> = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|'),
  quote: fc.constant('"' as const),
  quotesAll: fc.boolean(),
  lineEnd: fc.constantFrom('\r\n' as const, '\n' as const),
})

test('any table that is written comes back equal through our reader', async () => {
  await fc.assert(
    fc.asyncProperty(styles, tables, fc.boolean(), async (style, table, bom) => {
      const bytes = Buffer.from((bom ? byteOrderMark : '') + csvText([names, ...table], style))

      const file = await readCsv(Readable.from([bytes]))
      const cells: (readonly string[])[] = []
      for await (const batch of file.batches) cells.push(...batch.map((record) => record.cells))

      expect(file.header?.names).toEqual(names)
      expect(cells).toEqual(table)
    }),
    { numRuns: caseCount(2500, 150), seed: 7 },
  )
}, 120_000)

test('any written table is read exactly by csv-parse with its defaults', () => {
  const anything = fc.array(fc.array(fc.string({ unit: 'binary' }), { minLength: 3, maxLength: 3 }))

  fc.assert(
    fc.property(styles, anything, (style, table) => {
      const { delimiter, lineEnd } = style
      const output = csvText(table, style)

      expect(parse(output, { delimiter, record_delimiter: lineEnd })).toEqual(table)
    }),
    { numRuns: caseCount(2500, 150), seed: 7 },
  )
})

test('only cells that need quotes have them', () => {
  const line = csvText([['a', 'b c', 'd,e', 'f"g', ' h', "'i", 'j\nk', '']], defaultStyle)

  expect(line).toBe('a,b c,"d,e","f""g"," h","\'i","j\nk",\r\n')
})

test('a single empty cell is a record, not a blank line', () => {
  expect(csvText([['']], defaultStyle)).toBe('""\r\n')
})

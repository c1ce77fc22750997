import fc from 'fast-check'
import { expect, test } from 'vitest'
import { caseCount } from '../../../support/cases.ts'
import { encode } from './encode.ts'
import { readAll } from './read-all.ts'

const names = ['Stock No', 'VIN', 'Make', 'Year', 'Price', 'Date In', 'Notes', 'Colour']
const makes = ['Toyota', 'Kia', 'Mercedes-Benz', 'Land Rover', "O'Neill"]
const colours = ['White', '', 'Dark Blue', 'Red']

const encodings = {
  'utf-8': 'aé漢ض€',
  'utf-8 bom': 'aé漢ض€',
  'utf-16le bom': 'aé漢ض€',
  'utf-16be bom': 'aé漢ض€',
  'windows-1252': 'aéüñ',
  'windows-1256': 'aضبح',
} as const

const styles = fc.record({
  encoding: fc.constantFrom(...(Object.keys(encodings) as (keyof typeof encodings)[])),
  delimiter: fc.constantFrom(',', ';', '\t', '|', ', ', ' '),
  // Apostrophes around a single cell may be text, so they are around all cells or none.
  quoting: fc.constantFrom(
    { quote: '"', quotesAll: false },
    { quote: '"', quotesAll: true },
    { quote: "'", quotesAll: true },
  ),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  endsLine: fc.boolean(),
  sepLine: fc.constantFrom(null, 'sep=', '"sep="'),
  preamble: fc.constantFrom([], ['Northside'], ['Stock list', '']),
  hasHeader: fc.boolean(),
})
type Style = typeof styles extends fc.Arbitrary<infer T> ? T : never

function tables(style: Style): fc.Arbitrary<string[][]> {
  // Both are rare; together it is ambiguous which of them ends a line.
  const isUncertain = style.end === '\r' && style.quoting.quote === "'"
  const characters = [...encodings[style.encoding], ...' ,;|"\'', isUncertain ? 'x' : '\n', 'ok']
  const note = fc
    .array(fc.constantFrom(...characters), { maxLength: 12 })
    .map((parts) => parts.join(''))
  const row = fc.tuple(
    fc.nat(99_999).map((id) => `S${String(id).padStart(6, '0')}`),
    fc.nat(99_999).map((id) => `6T1BF3FK20X${String(100_000 + id)}`),
    fc.constantFrom(...makes),
    fc.integer({ min: 1990, max: 2026 }).map(String),
    fc.integer({ min: 500, max: 99_999 }).map(String),
    fc.integer({ min: 10, max: 28 }).map((day) => `${day}/05/2025`),
    note,
    fc.constantFrom(...colours),
  )
  return fc.array(row, { minLength: 3, maxLength: 8 })
}

function rowText(cells: readonly string[], { delimiter, quoting }: Style): string {
  const { quote, quotesAll } = quoting
  return cells
    .map((cell) => {
      const must =
        quotesAll || /[\r\n]/.test(cell) || cell.includes(delimiter) || cell.includes(quote)
      const isBlank = cell === '' && delimiter === ' '
      const isEdged = cell !== cell.trim() || /^['"]/.test(cell)
      if (!must && !isBlank && !isEdged) return cell
      return quote + cell.replaceAll(quote, quote + quote) + quote
    })
    .join(delimiter)
}

interface Written {
  readonly bytes: Buffer
  readonly lines: readonly string[]
}

function write(table: readonly string[][], style: Style): Written {
  const { sepLine, delimiter, preamble, hasHeader, end } = style
  const isHinted = sepLine !== null && delimiter !== ', ' && delimiter !== ' '
  const hint = sepLine?.startsWith('"')
    ? `${sepLine.slice(0, -1)}${delimiter}"`
    : `${sepLine}${delimiter}`
  const lines = [
    ...(isHinted ? [hint] : []),
    ...preamble,
    ...(hasHeader ? [rowText(names, style)] : []),
    ...table.map((cells) => rowText(cells, style)),
  ]
  const text = lines.join(end) + (style.endsLine ? end : '')
  return { bytes: encode(text, style.encoding), lines }
}

/** The physical line on which each of the written lines begins. */
function lineNumbers(lines: readonly string[], end: string): number[] {
  const breaks = end === '\r' ? /\r/ : /\n/
  let line = 1
  return lines.map((text) => {
    const own = line
    line += text.split(breaks).length
    return own
  })
}

test('a table in any dialect, encoding and quirk is read exactly', async () => {
  const cases = styles.chain((style) =>
    fc.record({ style: fc.constant(style), table: tables(style) }),
  )

  await fc.assert(
    fc.asyncProperty(cases, async ({ style, table }) => {
      const { bytes, lines } = write(table, style)
      const market = style.encoding === 'windows-1256' ? 'GCC' : 'AU'

      const { file, records } = await readAll(bytes, { market })

      expect(records.map(({ cells }) => cells)).toEqual(table)
      expect(file.header?.names ?? null).toEqual(style.hasHeader ? names : null)
      expect(records.map(({ raw }) => raw)).toEqual(lines.slice(-table.length))
      expect(records.map(({ line }) => line)).toEqual(
        lineNumbers(lines, style.end).slice(-table.length),
      )
    }),
    { numRuns: caseCount(5000, 1000), seed: 20_250_601 },
  )
}, 300_000)

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { workbookLimits } from '#src/stock/workbook/limits.ts'
import {
  type ColumnKind,
  type WrittenSheet,
  writeWorkbook,
} from '#src/stock/workbook/write-workbook.ts'
import { openZip } from '#src/stock/workbook/zip-parts.ts'
import { caseCount } from '../../support/cases.ts'
import { readBook } from './read-book.ts'
import { sheetRowsOf } from './sheet-rows-of.ts'

async function written(sheet: Partial<WrittenSheet>, ...rows: readonly (readonly string[])[]) {
  const pages = (async function* () {
    for (const row of rows) yield [row]
  })()
  const whole = { name: 'Stock', head: [], kinds: [], pages, ...sheet }
  return Buffer.concat(await writeWorkbook(whole).toArray())
}

async function sheetXml(bytes: Buffer): Promise<string> {
  const zip = await openZip(bytes, workbookLimits)
  const chunks: Buffer[] = []
  for await (const chunk of zip.read('xl/worksheets/sheet1.xml')) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const kinds: readonly ColumnKind[] = ['text', 'amount', 'date', 'instant', 'boolean', 'number']

test('texts are texts, numbers numbers and dates dates; what does not fit is a text', async () => {
  const bytes = await written(
    { kinds, head: [['Stock', 'Price', 'In stock', 'Priced at', 'Sold', 'Km']] },
    ['00123', '25000.50', '2025-05-03', '2026-03-10T14:00:00Z', 'true', '45000'],
    ['=1+1', 'POA', '1899-01-01', 'yesterday', 'f', '1234567890123456'],
    ['1E5', '-0.125', '2025-02-30', '2026-03-10 16:00:00+02', 'false', '007'],
  )
  const xml = await sheetXml(bytes)
  const { file, records } = await readBook(bytes)

  const types = [...xml.matchAll(/<c r="([A-Z])(\d)" s="(\d)"( t="\w+")?>/g)].map(
    ([, column, row, style, type = '']) => `${column}${row} ${style}${type}`,
  )
  const inline = ' t="inlineStr"'
  expect(types.slice(6)).toEqual([
    ...[`A2 1${inline}`, 'B2 2', 'C2 3', 'D2 4', 'E2 0 t="b"', 'F2 0'],
    ...['A', 'B', 'C', 'D', 'E', 'F'].map((column) => `${column}3 1${inline}`),
    ...[`A4 1${inline}`, 'B4 2', `C4 1${inline}`, 'D4 4', 'E4 0 t="b"', `F4 1${inline}`],
  ])
  expect(file.header?.names).toEqual(['Stock', 'Price', 'In stock', 'Priced at', 'Sold', 'Km'])
  expect(records.map(({ cells }) => cells)).toEqual([
    ['00123', '25000.5', '2025-05-03', '2026-03-10T14:00:00', 'TRUE', '45000'],
    ['=1+1', 'POA', '1899-01-01', 'yesterday', 'f', '1234567890123456'],
    ['1E5', '-0.125', '2025-02-30', '2026-03-10T14:00:00', 'FALSE', '007'],
  ])
  expect(xml).not.toContain('<f>')
})

const piece = fc.constantFrom(
  ...[' ', '\n', '\t', '\r', '\0', '\u0001', '\uFFFE', '&', '<', ']]>', '"', '=', '_x000D_', '_x'],
  ...['_', '0', '7', 'é', 'ض', '漢', '😀', '\uD800', '_x005F_', '_X0041_'],
)
const cell = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))

test('any text is read back as it was, with its blanks and control characters', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }),
      async (rows) => {
        const ended = [...rows, ['end', 'of list']]
        const read = await sheetRowsOf(await written({}, ...ended))
        const filled = read.map((cells) => [cells[0] ?? '', cells[1] ?? ''])
        expect(filled).toEqual(ended.map((row) => row.map((text) => text.toWellFormed())))
      },
    ),
    // The escape of NUL begins with the _ that ends a text like one.
    { numRuns: caseCount(300), examples: [[[['_x7077\0', '']]]] },
  )
})

test('the same content gives the same bytes, with a name that Excel accepts', async () => {
  const sheet = { name: '\'a/b:c"&<[d]*?\\ and much longer than the limit of Excel' }
  const bytes = await written(sheet, ['a', 'b'], ['c', 'd'])

  expect(await written(sheet, ['a', 'b'], ['c', 'd'])).toEqual(bytes)
  expect((await readBook(bytes)).file.origin?.sheet).toBe('a b c"&< d     and much longer')
})

test('what Excel cannot hold is refused, and an error of the source ends the file', async () => {
  const long = ['x'.repeat(32_768)]
  const wide = Array<string>(16_385).fill('x')
  const failing = (async function* () {
    yield [['a']]
    throw new Error('connection lost')
  })()

  await expect(written({}, long)).rejects.toThrow('cell A1 has 32,768 characters')
  await expect(written({}, wide)).rejects.toThrow(
    '1,048,576 rows of 16,384 columns: write it with --format csv',
  )
  await expect(written({ pages: failing })).rejects.toThrow('connection lost')
})

test('whoever stops reading stops the source', async () => {
  let isClosed = false
  const endless = (async function* () {
    try {
      for (;;) yield [['a', 'b'.repeat(1000)]]
    } finally {
      isClosed = true
    }
  })()
  const output = writeWorkbook({ name: 'Stock', head: [], kinds: [], pages: endless })
  let bytes = 0
  output.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > 10_000) output.destroy()
  })

  await new Promise((closed) => output.once('close', closed))

  await expect.poll(() => isClosed).toBe(true)
})

test('columns are as wide as what they hold', async () => {
  const head = [['VIN', 'Price', 'Priced at', 'Notes', 'In stock']]
  const notes = 'A'.repeat(300)
  const row = ['JTDBR32E030000001', '18990000.00', '2026-03-10T14:00:00Z', notes, '2025-05-03']

  const xml = await sheetXml(
    await written({ head, kinds: ['text', 'amount', 'instant', 'text', 'date'] }, row),
  )

  const widths = [...xml.matchAll(/ width="(\d+)"/g)].map(([, width]) => Number(width))
  expect(widths).toEqual([19, 18, 22, 60, 12])
})

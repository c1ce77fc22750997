import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { CsvFileError } from '#src/stock/csv/read/csv-file.ts'
import { readAll } from './read-all.ts'

async function refusalOf(
  content: Parameters<typeof readAll>[0],
  options: Parameters<typeof readAll>[1] = {},
): Promise<CsvFileError> {
  const error = await readAll(content, options).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(CsvFileError)
  expect(error).toBeInstanceOf(UsageError)
  return error
}

const noise = Buffer.from(Array.from({ length: 4000 }, (_, at) => (at * 7919 + (at >> 3)) % 256))

test.each([
  ['an empty file', '', 'empty', 'export the stock list again'],
  ['a BOM alone', '\uFEFF', 'empty', 'export the stock list again'],
  ['an xlsx', Buffer.from('PK\x03\x04\x14\0[Content_Types].xml'), 'workbook', 'CSV UTF-8'],
  ['an old xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'workbook', 'CSV UTF-8'],
  ['a zip', Buffer.from('PK\x03\x04\x14\0stock.csv'), 'archive', 'unpack it first'],
  ['a gzip', gzipSync('a,b\n1,2\n'), 'archive', 'unpack it first'],
  ['a PDF', '%PDF-1.7\n', 'binary', 'export the list as CSV'],
  ['noise', noise, 'binary', 'Export the list as CSV'],
  ['JSON', '[\n  { "stockNumber": "S1", "make": "Kia" }\n]', 'markup', 'this is JSON'],
  ['JSON lines', '{"stockNumber":"S1","make":"Kia"}\n{"stockNumber":"S2"}\n', 'markup', 'JSON'],
  [
    'XML without a declaration',
    '<vehicles><vehicle><vin>1</vin></vehicle></vehicles>',
    'markup',
    'XML',
  ],
  [
    'a mail',
    'From: a@b.c\nSubject: stock\nMIME-Version: 1.0\nContent-Type: text/plain;\n charset=x\n\nS1,Kia',
    'markup',
    'attached',
  ],
  [
    'a mailbox',
    'From a@b.c Mon\nReceived: by x\nMessage-ID: <1>\n\nS1,Kia',
    'markup',
    'this is a mail',
  ],
  ['a mail that was copied', 'From: a\nTo: b\nSubject: stock\n\nS1,Kia', 'markup', 'a mail'],
  ['RTF', '{\\rtf1\\ansi S1,Kia}', 'markup', 'word processor'],
  ['a web page', '\n<!DOCTYPE html><table><tr><td>1</td></tr></table>', 'markup', 'CSV UTF-8'],
] as const)('%s is refused, with what to do', async (_, content, code, advice) => {
  const refusal = await refusalOf(content as string | Buffer)

  expect(refusal.code).toBe(code)
  expect(refusal.message).toContain(advice)
})

test('more than 2,000 columns are refused, in the header or in a late row', async () => {
  const wide = Array(10_000).fill('wide column').join(',')

  const header = await refusalOf(`${wide}\n${wide}\n`)
  const row = await refusalOf(`a,b\n${'1,2\n'.repeat(30_000)}${wide}\n`)

  expect(header).toMatchObject({ code: 'too-many-columns' })
  expect(header.message).toContain('line 1 has 10000 cells')
  expect(row.message).toContain('line 30002 has 10000 cells')
})

test('a cell over 1 MB is refused, closed or not, in one line or in many', async () => {
  const cells = [
    `"${'x'.repeat(1_500_000)}"`,
    `"${'x'.repeat(50_000_000)}`,
    `"${'some text\n'.repeat(600_000)}"`,
  ]

  for (const cell of cells) {
    const refusal = await refusalOf(`a,b\n1,2\n1,${cell}\n2,3\n`)

    expect(refusal.code).toBe('cell-too-long')
    expect(refusal.message).toContain('line 3')
  }
})

test('a limit can be set', async () => {
  const refusal = await refusalOf('a,b,c\n1,2,3\n', { maxColumns: 2 })

  expect(refusal.code).toBe('too-many-columns')
})

test('an unknown encoding, or one that does not fit the bytes, is refused', async () => {
  const latin = Buffer.from(`Stock,Make\n${'A1,\xe4\xf6\xfc\n'.repeat(20)}`, 'latin1')

  const wrong = await refusalOf(latin, { encoding: 'utf-8' })
  const unknown = await refusalOf('a,b\n', { encoding: 'klingon' })

  expect(wrong.code).toBe('undecodable')
  expect(wrong.message).toContain('invalid in utf-8')
  expect(unknown.message).toContain('"klingon" is not known')
})

test.each([
  ['[Stock],[VIN],[Make]\n[S1],[],[Kia]\n'],
  ['From: Northside Motors\nDate: 22/11/2026\nTo: all\n\nStock Number,VIN,Make\nS1,,Kia\n'],
  ['<none>,VIN,Make\n1,2,3\n'],
])('%j is a table', async (text) => {
  expect((await readAll(text)).records.length).toBeGreaterThan(0)
})

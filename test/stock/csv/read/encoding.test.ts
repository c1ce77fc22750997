import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { encode } from './encode.ts'
import { problemsOf, readAll } from './read-all.ts'

const list = 'Stock No;Make;Price\r\nA1;Citroën;12,5\r\nA2;Škoda;13,5\r\n'

test.each([
  ['utf-8 bom', 'utf-8', true, 'certain'],
  ['utf-8', 'utf-8', false, 'certain'],
  ['utf-16le bom', 'utf-16le', true, 'certain'],
  ['utf-16be bom', 'utf-16be', true, 'certain'],
  ['utf-16le', 'utf-16le', false, 'likely'],
  ['utf-16be', 'utf-16be', false, 'likely'],
  ['windows-1252', 'windows-1252', false, 'assumed'],
] as const)('a list in %s is read as %s', async (written, name, bom, confidence) => {
  const { file, records } = await readAll(encode(list, written))

  expect(file.encoding).toEqual({ name, bom, confidence })
  expect(file.header?.names).toEqual(['Stock No', 'Make', 'Price'])
  expect(records.map(({ cells }) => cells[1])).toEqual(['Citroën', 'Škoda'])
})

test('curly quotes, dashes, pound and euro signs are read as windows-1252', async () => {
  const text = 'Stock,Note,Price\nA1,“as new” – €1,£900\n'

  const { records } = await readAll(encode(text, 'windows-1252'))

  expect(records[0]?.cells).toEqual(['A1', '“as new” – €1', '£900'])
})

test('one Arabic cell makes a GCC list windows-1256; in Australia its letters must form words', async () => {
  const word = encode('Stock,Colour\nA1,White\nA2,أبيض\n', 'windows-1256')
  const letter = encode('Stock,Plate\nA1,X 12\nA2,ب 12\n', 'windows-1256')

  const inGcc = await readAll(letter, { market: 'GCC' })
  const inAustralia = await readAll(letter, { market: 'AU' })
  const wordAnywhere = await readAll(word, { market: 'AU' })

  expect(inGcc.file.encoding).toMatchObject({ name: 'windows-1256', confidence: 'assumed' })
  expect(inGcc.records[1]?.cells[1]).toBe('ب 12')
  expect(inAustralia.file.encoding.name).toBe('windows-1252')
  expect(wordAnywhere.file.encoding).toMatchObject({ name: 'windows-1256', confidence: 'likely' })
})

test('a GCC list of European names stays windows-1252', async () => {
  const bytes = encode('Stock,Make,Price\nA1,Citroën,900\nA2,Coupé,800\n', 'windows-1252')

  const { file, records } = await readAll(bytes, { market: 'GCC' })

  expect(file.encoding.name).toBe('windows-1252')
  expect(records.map(({ cells }) => cells[1])).toEqual(['Citroën', 'Coupé'])
})

test('accents of Mac OS Roman are distinguished from those of Windows', async () => {
  const bytes = encode('Stock,Make\rA1,Coupé\rA2,Café\r', 'macintosh')

  const { file, records } = await readAll(bytes)

  expect(file.encoding).toEqual({ name: 'macintosh', bom: false, confidence: 'likely' })
  expect(records.map(({ cells }) => cells[1])).toEqual(['Coupé', 'Café'])
})

test('the first byte above ASCII decides the encoding, wherever it is', async () => {
  const ascii = `Stock,Make,Price\n${'A1,Kia,900\n'.repeat(9000)}`
  const bytes = (encoding: string) => encode(`${ascii}A2,Citroën,900\n`, encoding)

  const wide = await readAll(bytes('utf-8'))
  const narrow = await readAll(bytes('windows-1252'))
  const none = await readAll(ascii)

  expect(wide.records.at(-1)?.cells[1]).toBe('Citroën')
  expect(wide.file.encoding).toMatchObject({ name: 'utf-8', confidence: 'certain' })
  expect(narrow.records.at(-1)?.cells[1]).toBe('Citroën')
  expect(narrow.file.encoding).toMatchObject({ name: 'windows-1252', confidence: 'assumed' })
  expect(none.file.encoding).toMatchObject({ name: 'utf-8', confidence: 'assumed' })
})

test('a character that is split between two chunks is read correctly, at any position', async () => {
  const text = `Stock,Make,Note\nA1,漢字,${'é漢😎'.repeat(30_000)}\n`

  for (const encoding of ['utf-8', 'utf-16le bom'])
    for (const padding of ['', 'x', 'xx', 'xxx']) {
      const { records } = await readAll(encode(text.replace('A1', `A1${padding}`), encoding))

      expect(records[0]?.cells[2]).toBe('é漢😎'.repeat(30_000))
    }
})

test('bytes of another encoding in UTF-8 damage only their row, with a warning for the file', async () => {
  const good = Buffer.from(`Stock,Make\n${'A1,Citroën\n'.repeat(20)}`)
  const bytes = Buffer.concat([good, encode('A2,Coupé\n', 'windows-1252'), Buffer.from('A3,Kia\n')])

  const outcome = await readAll(bytes)

  expect(outcome.file.encoding).toMatchObject({ name: 'utf-8', confidence: 'likely' })
  expect(problemsOf(outcome)).toEqual(['22 encoding-error'])
  expect(outcome.file.warnings).toMatchObject([{ code: 'ENCODING_ERROR', line: 22 }])
})

test("the user's encoding overrides the detected one", async () => {
  const bytes = encode('Stock,Make\nA1,Citroën\n', 'windows-1252')

  const file = await readCsv(Readable.from([bytes]), { encoding: 'windows-1256' })

  expect(file.encoding).toEqual({ name: 'windows-1256', bom: false, confidence: 'certain' })
})

import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { textRows, workbook } from './make-workbook.ts'
import { readBook, refusalOf } from './read-book.ts'
import { zipFile } from './zip-file.ts'

const csv = 'Stock No;Make;Price\r\nS1;Citroën;5\r\n'
const rows = textRows([
  ['Stock No', 'Make', 'Price'],
  ['S1', 'Citroën', '5'],
])
const book = workbook({ sheets: [{ name: 'Stock', rows }] })
const cells = ['S1', 'Citroën', '5']

test.each([
  ['a CSV file', [{ name: 'feed/stock.csv', data: Buffer.from(csv, 'latin1') }]],
  [
    'a CSV file beside other things',
    [
      { name: 'feed/', data: '' },
      { name: 'feed/readme.txt', data: 'hello' },
      { name: '__MACOSX/feed/._stock.csv', data: 'x' },
      { name: 'feed/.DS_Store', data: 'x' },
      { name: 'feed/stock.csv', data: csv },
      { name: 'feed/car.jpg', data: 'x' },
    ],
  ],
  ['a text file', [{ name: 'feed/stock.csv', data: csv.replaceAll(';', '\t') }]],
  ['a workbook', [{ name: 'feed/stock.csv', data: book }]],
])('a zip file with %s', async (_, members) => {
  const { file, records } = await readBook(zipFile(members))

  expect(file.header?.names).toEqual(['Stock No', 'Make', 'Price'])
  expect(records.map((record) => record.cells)).toEqual([cells])
  expect(file.origin?.entry).toBe('feed/stock.csv')
})

test('a gzip file with a CSV file or a workbook', async () => {
  expect((await readBook(gzipSync(csv))).records[0]).toMatchObject({ line: 2, cells })
  expect((await readBook(gzipSync(book))).records[0]).toMatchObject({ line: 2, cells })
})

test('a long CSV file in an archive is read piece by piece', async () => {
  const line = 'S1;Kia;5;a longer text that repeats\r\n'
  const long = Buffer.from(`Stock No;Make;Price;Notes\r\n${line.repeat(100_000)}`)
  const read = await readBook(zipFile([{ name: 'a.csv', data: long }]))

  expect(read.records).toHaveLength(100_000)
  expect((await readBook(gzipSync(long))).records).toHaveLength(100_000)
})

test('an archive with several lists, none, or another archive is refused with what it holds', async () => {
  const several = zipFile([
    { name: 'used.csv', data: csv },
    { name: 'new.xlsx', data: book },
  ])
  const nested = zipFile([{ name: 'stock.csv', data: zipFile([{ name: 'a.csv', data: csv }]) }])
  const photos = zipFile(['a', 'b'].map((name) => ({ name: `${name}.jpg`, data: 'x' })))

  expect((await refusalOf(several)).message).toContain(
    '2 files and not exactly one list: "used.csv", "new.xlsx". Unpack it',
  )
  expect((await refusalOf(nested)).message).toContain('holds another archive: unpack both')
  expect((await refusalOf(gzipSync(gzipSync(csv)))).message).toContain('another archive')
  expect((await refusalOf(photos)).message).toContain('"a.jpg", "b.jpg"')
  expect((await refusalOf(zipFile([]))).message).toContain('holds no file')
})

test('other documents are refused by their names', async () => {
  const named = async (...names: readonly string[]) =>
    (await refusalOf(zipFile(names.map((name) => ({ name, data: 'x' }))))).message

  expect(await named('mimetype', 'META-INF/manifest.xml')).toContain('OpenDocument file (.ods)')
  expect(await named('[Content_Types].xml', 'word/document.xml')).toContain('a Word document')
  expect(await named('Index/Document.iwa')).toContain('Apple Numbers')
  const relations = `<Relationships><Relationship Id="a" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>`
  const binary = zipFile([
    { name: '_rels/.rels', data: relations },
    { name: 'xl/workbook.bin', data: 'x' },
  ])
  expect((await refusalOf(binary)).message).toContain('binary Excel workbook (.xlsb)')
})

test('old workbooks and workbooks with a password are refused', async () => {
  const old = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600_000)])
  const locked = Buffer.concat([old, Buffer.from('EncryptedPackage', 'utf16le')])

  expect((await refusalOf(old)).message).toContain('an old Excel workbook (.xls)')
  expect((await refusalOf(locked)).message).toContain('remove the password')
})

test('a damaged gzip file, and one that unpacks to far more than its size', async () => {
  const zipped = gzipSync(Buffer.from(csv.repeat(5000)))
  const bomb = gzipSync(Buffer.alloc(40 * 1024 ** 2, 'S1;Kia;5\r\n'))

  expect((await refusalOf(zipped.subarray(0, -20))).message).toContain('the gzip file is damaged')
  expect((await refusalOf(bomb)).message).toContain('more than 200 times its size')
})

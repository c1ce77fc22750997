import { crc32, createDeflateRaw } from 'node:zlib'
import { expect, test } from 'vitest'
import { runsEveryCase } from '../../support/cases.ts'
import { readInChild } from './child-reading.ts'
import { textRows, workbook, workbookParts } from './make-workbook.ts'
import { readBook, refusalOf } from './read-book.ts'
import { type ZipMember, zipFile } from './zip-file.ts'

const megabyte = 1024 ** 2
const rows = textRows([
  ['Stock No', 'Make', 'Price'],
  ['S1', 'Kia', '5'],
])
const parts = workbookParts({ sheets: [{ name: 'Stock', rows }] })
const sheetName = 'xl/worksheets/sheet1.xml'

/** The workbook with another sheet, or other parts. */
function withSheet(sheet: Partial<ZipMember>, ...more: readonly ZipMember[]): Buffer {
  const changed = parts.map((part) => (part.name === sheetName ? { ...part, ...sheet } : part))
  return zipFile([...changed, ...more])
}

function sheetOf(inner: string): string {
  return `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${inner}</sheetData></worksheet>`
}

/** A packed file that repeats a piece between a start and an end, without holding it in memory. */
async function packedRepeat(start: string, piece: Buffer, times: number, end: string) {
  const deflate = createDeflateRaw({ level: 9 })
  const packed = (async () => Buffer.concat(await deflate.toArray()))()
  let [size, crc] = [0, 0]
  const pieces = [Buffer.from(start), ...Array<Buffer>(times).fill(piece), Buffer.from(end)]
  for (const bytes of pieces) {
    size += bytes.length
    crc = crc32(bytes, crc)
    if (!deflate.write(bytes)) await new Promise((drained) => deflate.once('drain', drained))
  }
  deflate.end()
  return { bytes: await packed, size, crc }
}

const head = sheetOf('').replace('</sheetData></worksheet>', '')
const tail = '</sheetData></worksheet>'
const bombRow = Buffer.from('<row><c t="str"><v>AAAAAAAAAAAAAAAA</v></c></row>'.repeat(20_000))

const hostile: readonly (readonly [string, () => Buffer | Promise<Buffer>, string, string])[] = [
  [
    'a bomb of 1.2 GB in one cell',
    async () => {
      const letters = Buffer.alloc(4 * megabyte, 'A')
      const start = `${head}<row><c t="inlineStr"><is><t>`
      return withSheet({
        packed: await packedRepeat(start, letters, 300, `</t></is></c></row>${tail}`),
      })
    },
    'cell-too-long',
    'longer than 32,767 characters',
  ],
  [
    'a bomb of 300 MB of short rows',
    async () => withSheet({ packed: await packedRepeat(head, bombRow, 320, tail) }),
    'too-large',
    'the limit is 200',
  ],
  [
    'a bomb in a part that no list has',
    async () => {
      const spaces = Buffer.alloc(4 * megabyte, ' ')
      const packed = await packedRepeat('<styleSheet>', spaces, 100, '</styleSheet>')
      const others = parts.filter(({ name }) => name !== 'xl/styles.xml')
      return zipFile([...others, { name: 'xl/styles.xml', data: '', packed }])
    },
    'cell-too-long',
    'a cell or tag in xl/styles.xml',
  ],
  [
    'three million shared texts',
    async () => {
      const text = Buffer.from('<si><t>a</t></si>'.repeat(100_000))
      const packed = await packedRepeat('<sst>', text, 30, '</sst>')
      const [contents, relations, book, sheet, links] = parts
      const data = String(links!.data).replace(
        '</Relationships>',
        '<Relationship Id="x" Type="x/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
      )
      const others = [
        contents!,
        relations!,
        book!,
        sheet!,
        { name: links!.name, data },
        parts.at(-1)!,
      ]
      return zipFile([...others, { name: 'xl/sharedStrings.xml', data: '', packed }])
    },
    'too-large',
    'the limit is',
  ],
  [
    'a million cell formats',
    async () => {
      const formats = Buffer.from('<xf/>'.repeat(100_000))
      const packed = await packedRepeat(
        '<styleSheet><cellXfs>',
        formats,
        10,
        '</cellXfs></styleSheet>',
      )
      const others = parts.filter(({ name }) => name !== 'xl/styles.xml')
      return zipFile([...others, { name: 'xl/styles.xml', data: '', packed }])
    },
    'too-large',
    'xl/styles.xml in the workbook has more than 70,000 entries',
  ],
  [
    'a hundred thousand sheets',
    async () => {
      const sheets = Buffer.from('<sheet name="x" xmlns:r="r" r:id="s0"/>'.repeat(10_000))
      const packed = await packedRepeat('<workbook><sheets>', sheets, 10, '</sheets></workbook>')
      const others = parts.filter(({ name }) => name !== 'xl/workbook.xml')
      return zipFile([...others, { name: 'xl/workbook.xml', data: '', packed }])
    },
    'too-large',
    'the workbook has more than 250 sheets, the limit is 250',
  ],
  [
    'a value in a million pieces that never ends',
    async () => {
      const pieces = Buffer.from('<![CDATA[a]]>'.repeat(50_000))
      return withSheet({ packed: await packedRepeat(`${head}<row><c t="str"><v>`, pieces, 20, '') })
    },
    'cell-too-long',
    'cell A1 of sheet "Stock"',
  ],
  [
    'a value in the last cell of Excel',
    () =>
      withSheet({
        data: sheetOf(`${rows}<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`),
      }),
    'too-many-columns',
    'cell XFD1048576 of sheet "Stock" has a value, the limit is 200 columns',
  ],
  [
    'a value in the last row of Excel',
    () =>
      withSheet({ data: sheetOf(`${rows}<row r="1048576"><c r="A1048576"><v>1</v></c></row>`) }),
    'too-large',
    'cell A1048576 of sheet "Stock" has a value, the limit is 200,000 rows',
  ],
  [
    'a cell of 25 MB',
    () =>
      withSheet({
        data: sheetOf(`<row><c t="str"><v>${'ab1'.repeat((25 * megabyte) / 3)}</v></c></row>`),
      }),
    'cell-too-long',
    'longer than 32,767 characters, which is the limit: shorten it',
  ],
  [
    'a cell that is a little too long',
    () => withSheet({ data: sheetOf(`<row><c t="str"><v>${'x'.repeat(32_768)}</v></c></row>`) }),
    'cell-too-long',
    'cell A1 of sheet "Stock"',
  ],
  [
    'an attribute of 25 MB',
    () => withSheet({ data: sheetOf(`<row spans="${'1:2 '.repeat(6 * megabyte)}"/>`) }),
    'cell-too-long',
    'a cell or tag in xl/worksheets/sheet1.xml',
  ],
  [
    'entities that grow',
    () =>
      withSheet({
        data: `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>${sheetOf('<row><c t="str"><v>&b;</v></c></row>')}`,
      }),
    'markup',
    'document type (DOCTYPE)',
  ],
  [
    'an entity that reads a file',
    () =>
      withSheet({
        data: `<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>${sheetOf('<row><c t="str"><v>&a;</v></c></row>')}`,
      }),
    'markup',
    'document type (DOCTYPE)',
  ],
  [
    'an entity without a document type',
    () => withSheet({ data: sheetOf('<row><c t="str"><v>&a;</v></c></row>') }),
    'damaged',
    'is not XML',
  ],
  [
    '65,536 parts in a zip64 file',
    () =>
      zipFile([
        ...parts,
        ...Array.from({ length: 65_536 - parts.length }, (_, at) => ({ name: `x${at}`, data: '' })),
      ]),
    'too-large',
    'holds 65,536 files, the limit is 2,000',
  ],
  [
    'a path that leaves the folder',
    () => withSheet({}, { name: '../../etc/cron.d/x', data: '' }),
    'damaged',
    'invalid relative path',
  ],
  [
    'an absolute path',
    () => withSheet({}, { name: '/etc/x', data: '' }),
    'damaged',
    'absolute path',
  ],
  [
    'two parts of one name',
    () => withSheet({}, { name: sheetName.toUpperCase(), data: sheetOf('') }),
    'damaged',
    'two files with the name "XL/WORKSHEETS/SHEET1.XML"',
  ],
  ['a wrong checksum', () => withSheet({ crc: 1 }), 'damaged', 'does not match its checksum'],
  ['a size that is too small', () => withSheet({ size: 10 }), 'damaged', 'cannot be unpacked'],
  ['a size that is too large', () => withSheet({ size: 2 ** 31 }), 'damaged', 'cannot be unpacked'],
  ['a part with a password', () => withSheet({ isEncrypted: true }), 'encrypted', 'a password'],
  ['a file that was cut', () => withSheet({}).subarray(0, -100), 'damaged', 'its end is missing'],
  [
    'a packed part with other bytes',
    () => {
      const bytes = Buffer.from(withSheet({}))
      bytes.fill(0x55, bytes.indexOf(sheetName) + 40, bytes.indexOf(sheetName) + 80)
      return bytes
    },
    'damaged',
    'the file is damaged',
  ],
  [
    'a sheet that was cut',
    () => withSheet({ data: sheetOf(rows).slice(0, -40) }),
    'damaged',
    'is not XML',
  ],
  [
    'a sheet with bytes that are not UTF-8',
    () => withSheet({ data: Buffer.from(sheetOf('<row><c t="str"><v>é</v></c></row>'), 'latin1') }),
    'damaged',
    'is not XML',
  ],
  [
    'a text that does not exist',
    () => withSheet({ data: sheetOf('<row><c t="s"><v>7</v></c></row>') }),
    'damaged',
    'cell A1 of sheet "Stock" refers to text 7, which does not exist',
  ],
  [
    'rows in the wrong order',
    () => withSheet({ data: sheetOf('<row r="5"><c><v>1</v></c></row><row r="5"/>') }),
    'damaged',
    'row 5 of sheet "Stock" follows row 5',
  ],
  [
    'a place that is none',
    () => withSheet({ data: sheetOf('<row><c r="ZZZZ1"><v>1</v></c></row>') }),
    'damaged',
    '"ZZZZ1" is not a place of a cell',
  ],
  [
    'a sheet that is missing',
    () => zipFile(parts.filter(({ name }) => name !== sheetName)),
    'damaged',
    'its part xl/worksheets/sheet1.xml is missing',
  ],
  [
    'another part in place of the sheet',
    () => withSheet({ data: '<html/>' }),
    'damaged',
    'begins with <html> instead of <worksheet>',
  ],
]

// A process reads each: every fourth one in npm test.
test.each(hostile.filter((_, at) => runsEveryCase || at % 4 === 2))(
  '%s is refused with its reason within 10 s of CPU and 300 MB',
  async (name, make, code, reason) => {
    const { refused, seconds, cpuSeconds, megabytes } = await readInChild(await make())

    console.log(`${name}: ${seconds.toFixed(2)} s, ${megabytes.toFixed(0)} MB: ${refused?.message}`)
    expect(refused?.code).toBe(code)
    expect(refused?.message).toContain(reason)
    expect(cpuSeconds).toBeLessThan(10)
    expect(megabytes).toBeLessThan(300)
  },
)

test('a sheet that takes longer than the limit to read is refused', async () => {
  const many = textRows(Array.from({ length: 20_000 }, (_, at) => [`S${at}`, 'Kia', '5']))
  const book = workbook({ sheets: [{ name: 'Stock', rows: many }] })

  const refusal = await refusalOf(book, { limits: { seconds: 0.001 } })

  expect(refusal.message).toContain('takes more than 0.001 seconds, the limit is 0.001 seconds')
})

test('a file, a part, and all parts together have a limit', async () => {
  const book = workbook({ sheets: [{ name: 'Stock', rows }] })
  const refusedAt = async (limits: object) => (await refusalOf(book, { limits })).message

  expect(await refusedAt({ fileBytes: 1000 })).toContain('is larger than 1,000 bytes, the limit is')
  expect(await refusedAt({ partBytes: 500 })).toContain('unpacks to more than 500 bytes')
  expect(await refusedAt({ partBytes: 500, totalBytes: 700 })).toContain('the limit is')
  expect((await readBook(book)).records).toHaveLength(1)
})

test('a zip64 file with few parts is read', async () => {
  const few = zipFile(parts)
  const end = few.length - 22
  const [size, offset] = [few.readUInt32LE(end + 12), few.readUInt32LE(end + 16)]
  const record = Buffer.alloc(76)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(44n, 4)
  for (const [at, value] of [
    [24, parts.length],
    [32, parts.length],
    [40, size],
    [48, offset],
  ] as const)
    record.writeBigUInt64LE(BigInt(value), at)
  record.writeUInt32LE(0x07064b50, 56)
  record.writeBigUInt64LE(BigInt(end), 64)
  record.writeUInt32LE(1, 72)
  const last = Buffer.from(few.subarray(end))
  last.fill(0xff, 8, 20)
  const large = Buffer.concat([few.subarray(0, end), record, last])

  expect((await readBook(large)).records).toHaveLength(1)
})

import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip, deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { openApart } from '#src/stock/import/read-apart.ts'
import { someOf } from '../support/cases.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'
import { textRows, workbook, workbookParts } from './workbook/make-workbook.ts'
import { zipFile } from './workbook/zip-file.ts'

const good = listOf(vehicles(6))
const header = ['Stock No', 'Make', 'Model', 'Price']
const [sheets, columns] = [60_000, 50_000]
const oneMegabyte = 'x'.repeat(1024 ** 2)
const wideRow = (name: string) => Array.from({ length: columns }, (_, at) => `${name}${at}`)
const ofSheet = (rows: readonly (readonly string[])[]) =>
  workbook({ sheets: [{ name: 'Stock', rows: textRows(rows) }] })

/** All of the sheets lead to one part of the file. */
function sheetsOfOnePart(): Buffer {
  const list = Array.from({ length: sheets }, (_, at) => `<sheet name="x${at}" r:id="s0"/>`)
  const parts = workbookParts({ sheets: [{ name: 'Stock', rows: textRows([header]) }] })
  const named = (data: Buffer | string) =>
    String(data).replace(/<sheets>.*<\/sheets>/, () => `<sheets>${list.join('')}</sheets>`)
  return zipFile(
    parts.map((part) =>
      part.name === 'xl/workbook.xml' ? { ...part, data: named(part.data) } : part,
    ),
  )
}

function sheetsOfOwnParts(folder: string, names: readonly string[] = []): Buffer {
  const packed = { bytes: deflateRawSync(''), size: 0, crc: 0 }
  const own = Array.from({ length: sheets }, (_, at) => ({
    ...{ name: `${folder}sheet${at}.xml`, data: '', packed },
  }))
  return zipFile([...names.map((name) => ({ name, data: '' })), ...own])
}

test.for(
  someOf<readonly [string, () => Buffer | string, string]>(
    [
      [
        '60,000 sheets in one part',
        sheetsOfOnePart,
        'more than 250 sheets, the limit is 250: copy',
      ],
      [
        '60,000 sheets in parts of their own',
        () => sheetsOfOwnParts('xl/worksheets/', ['xl/workbook.xml']),
        'holds 60,001 files, the limit is 2,000: a stock list has about ten; open it in Excel',
      ],
      [
        '60,000 sheets of OpenDocument',
        () =>
          zipFile([
            { name: 'META-INF/manifest.xml', data: '' },
            { name: 'content.xml', data: '<table:table table:name="x"/>'.repeat(sheets) },
          ]),
        'this is an OpenDocument file (.ods), which is not read: save or export it as .xlsx or CSV',
      ],
      [
        '50,000 columns of a sheet',
        () => ofSheet([wideRow('Column'), wideRow('v')]),
        'cell GS1 of sheet "Stock" has a value, the limit is 200 columns: delete what is right of',
      ],
      [
        '50,000 columns of text',
        () => [wideRow('Column'), ...Array<string[]>(20).fill(wideRow('v'))].join('\n'),
        'line 1 has 50000 cells, the limit is 2000: rows and columns may be swapped',
      ],
      [
        'a cell of 1 MB in a sheet',
        () => ofSheet([header, ['S1', 'Kia', oneMegabyte, '5']]),
        'cell C2 of sheet "Stock" is longer than 32,767 characters, which is the limit: shorten it',
      ],
      [
        'a cell of 1 MB in a text',
        () => [header, ['S1', 'Kia', oneMegabyte, '5']].join('\n'),
        'cell 3 of the record at line 2 is longer than 1,000,000 bytes: shorten it',
      ],
      [
        'a quoted cell of 1 MB with line ends',
        () => [header, ['S1', 'Kia', `"${'x,\n'.repeat(350_000)}"`, '5']].join('\n'),
        'cell 3 of the record at line 2 is longer than 1,000,000 bytes: shorten it',
      ],
    ],
    4,
  ),
)('%s: refused with where and what to do', async ([, make, message]) => {
  await using fixture = await openImportFixture()
  await fixture.import(good)
  const before = await fixture.content()

  const refused = fixture.import(make())

  await expect(refused).rejects.toThrow(UsageError)
  await expect(refused).rejects.toThrow(message)
  expect(await fixture.content()).toEqual(before)
})

const gigabytes = 2.5
const nuls = Buffer.alloc(1024 ** 2)
const rows = Buffer.from(listOf(vehicles(60_000)))

test.for(
  someOf<readonly [string, readonly Buffer[], string]>(
    [
      [
        'nothing but NULs',
        [],
        'this is not text: 2097152 of its first 2097152 characters are control',
      ],
      ['a list, then NULs', [rows], 'the record at line 60002 is longer than 4,000,000 bytes'],
    ],
    1,
  ),
)('a gzip of 2.5 GB, %s: refused before its end', { tags: 'ci' }, async ([, start, message]) => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'list.csv.gz')
  const content = function* () {
    yield* start
    for (let at = 0; at < gigabytes * 1024; at += 1) yield nuls
  }
  await pipeline(Readable.from(content()), createGzip({ level: 1 }), createWriteStream(file))
  let readBytes = 0
  const read = async function* () {
    for await (const chunk of createReadStream(file)) {
      readBytes += chunk.length
      yield chunk
    }
  }
  const recordsOf = async () => {
    await using stack = new AsyncDisposableStack()
    const list = await openApart({ read }, {}, new AbortController().signal)
    stack.defer(() => list.close())
    for await (const batch of list.batches) void batch
  }

  await expect(recordsOf()).rejects.toThrow(message)

  // What was read is the sample, and what the streams had asked for.
  expect(readBytes).toBeLessThan((await stat(file)).size)
})

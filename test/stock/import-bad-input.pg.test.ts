import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { caseCount, someOf } from '../support/cases.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'
import { textRows, workbook } from './workbook/make-workbook.ts'
import { zipFile } from './workbook/zip-file.ts'

const zip = (...names: readonly string[]) => zipFile(names.map((name) => ({ name, data: 'x' })))
const good = listOf(vehicles(6))

test.for(
  someOf<readonly [string, string | Uint8Array, RegExp]>(
    [
      [
        'a binary file',
        Buffer.from(Array.from({ length: 4000 }, (_, at) => (at * 37) % 32)),
        /this is not text/,
      ],
      ['a PDF', '%PDF-1.7\n1 0 obj', /PDF document, not CSV/],
      [
        'an xlsx that was cut',
        zip('xl/workbook.xml').subarray(0, -9),
        /file is damaged.*download it/,
      ],
      [
        'an xlsx without a workbook',
        zip('[Content_Types].xml'),
        /workbook is damaged.*save it as a/,
      ],
      ['a zip of two lists', zip('used.csv', 'new.csv'), /"used.csv", "new.csv". Unpack it/],
      ['a gzip in a gzip', gzipSync(gzipSync(good)), /another archive: unpack both/],
      ['0 bytes', '', /the file is empty.*export the stock list again/],
      ['blank lines', '\n\n\n', /No column holds a stock number/],
      [
        'a file that is cut in a quoted cell',
        `${good}S0007,JT,"Toyo`,
        /the file ends within a quoted cell.*--mode delta/,
      ],
      [
        '10,000 columns',
        `${Array.from({ length: 10_000 }, (_, at) => `c${at}`).join(',')}\n`,
        /has 10000 cells, the limit is/,
      ],
      [
        'a cell of 50 MB',
        `${good}S0007,"${'x'.repeat(50_000_000)}",Toyota,Corolla,2019,1,2,Red\n`,
        /at line 8 is longer than [\d,]+ bytes: .*(shorten|split)/,
      ],
      ['a web page', '<!DOCTYPE html><html><body>Log in</body></html>', /web page/],
      [
        'prose',
        'Dear all,\nplease find attached the list.\nKind regards\n',
        /No column holds a stock number/,
      ],
    ],
    3,
  ),
)('%s: refused with what to do, nothing changed', async ([, content, message]) => {
  await using fixture = await openImportFixture()
  await fixture.import(good)
  const before = await fixture.content()

  const refused = fixture.import(content)

  await expect(refused).rejects.toThrow(UsageError)
  await expect(refused).rejects.toThrow(message)
  expect(await fixture.content()).toEqual(before)
})

test('a missing file and a folder are refused by name', async () => {
  await using fixture = await openImportFixture()
  await mkdir(join(fixture.folder, 'lists'))

  const missing = () => fixture.importFile(join(fixture.folder, 'none.csv'))
  const folder = () => fixture.importFile(join(fixture.folder, 'lists'))

  await expect(missing()).rejects.toThrow(/none\.csv does not exist: check the path/)
  await expect(folder()).rejects.toThrow(/lists is a folder: name the CSV file in it/)
})

test('the complete rows of a cut file can be imported as a delta', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(good)

  const cut = `${listOf(vehicles(2, 6))}S0008,JT,"Toyo`
  const report = await fixture.import(cut, { mode: 'delta' })

  expect(report).toMatchObject({ records: 3, accepted: 2, rejected: 1, added: 1, removed: 0 })
  expect(report.warnings).toMatchObject([{ code: 'TRUNCATED_FILE' }])
})

test('text that Postgres cannot store does not stop a list', async () => {
  await using fixture = await openImportFixture()
  const odd = good.replace('Toyota', 'Toy\0ota').replace('Red', 'R\\N\ted\\').replace('Red', 'Re"d')

  const report = await fixture.import(odd)

  expect(report).toMatchObject({ accepted: 6, rejected: 0 })
  const [first] = await fixture.rows<{ cells: string[] }>(
    'select cells from core.stock_import_row order by line_no',
  )
  expect(first!.cells[2]).toBe('Toy\uFFFDota')
})

test('a quote that swallows most of a list stops neither the mapping nor the import', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const count = caseCount(200_000)
  const rest = Array.from({ length: count }, (_, index) => `S${100_000 + index},Hilux,2019,12990`)
  const lines = ['Stock Number,Model,Year,Price', 'S1,"5dr Hilux,2019,12990', ...rest, '']

  const report = await fixture.import(lines.join('\r\n'))

  expect(report).toMatchObject({ records: count + 1, added: report.accepted })
  expect(report.accepted).toBeGreaterThanOrEqual(count)
})

test('a list whose header is below some of its vehicles, as after sorting, is refused', async () => {
  await using fixture = await openImportFixture()
  const [header, ...rows] = listOf(vehicles(9)).trimEnd().split('\r\n')
  const sorted = (above: number) => [...rows.slice(0, above), header, ...rows.slice(above), '']
  const book = workbook({
    sheets: [{ name: 'Stock', rows: textRows(sorted(2).map((row) => row!.split(','))) }],
  })
  const titled = ['Northside Motors,,,,,,,', 'As of,10/03/2026,,,,,,', header, ...rows, '']

  await expect(fixture.import(sorted(5).join('\r\n'))).rejects.toThrow(
    'the header at line 6 is below 5 rows of vehicles, which would be lost: move it above them. Nothing was imported.',
  )
  await expect(fixture.import(sorted(9).join('\r\n'))).rejects.toThrow('is below 9 rows')
  await expect(fixture.import(book)).rejects.toThrow('is below 2 rows')
  expect(await fixture.import(titled.join('\r\n'))).toMatchObject({ accepted: 9 })
})

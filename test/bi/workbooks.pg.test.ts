import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { type ReadFile, readAll } from '../stock/csv/read/read-all.ts'
import { sharedPath, testOfShared } from '../stock/csv/read/shared.ts'
import { readBook } from '../stock/workbook/read-book.ts'
import { sheetRowsOf } from '../stock/workbook/sheet-rows-of.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { randomWorkbook } from './random-workbook.ts'
import { testWith } from './test-with.ts'
import { skipReason } from './tools.ts'

const run = promisify(execFile)
/** `FORECOURT_WORKBOOKS=10000` compares that many. */
const count = Number(process.env['FORECOURT_WORKBOOKS'] ?? 400)

async function compareRandomWorkbooks(): Promise<void> {
  await using folder = await temporaryFolder()
  for (let seed = 0; seed < count / 2; seed += 1)
    await writeFile(join(folder.path, `ours-${seed}.xlsx`), randomWorkbook(seed))
  const script = fileURLToPath(new URL('clients/workbooks.py', import.meta.url))
  await run('/usr/bin/python3', [script, folder.path, String(count / 2)])

  const expected: Record<string, string[][]> = JSON.parse(
    await readFile(join(folder.path, 'rows.json'), 'utf8'),
  )
  let cells = 0
  for (const [name, rows] of Object.entries(expected)) {
    expect(await sheetRowsOf(await readFile(join(folder.path, name))), name).toEqual(rows)
    cells += rows.reduce((sum, row) => sum + row.length, 0)
  }

  console.log(`${Object.keys(expected).length} workbooks with ${cells} cells agree with openpyxl`)
  expect(Object.keys(expected)).toHaveLength(count)
  expect(cells).toBeGreaterThan(count * 10)
}

testWith(
  'openpyxl',
  `${count} random workbooks are read as openpyxl reads them`,
  compareRandomWorkbooks,
  3_600_000,
)

/** The files as LibreOffice saves them when every column is imported as text. */
async function convert(paths: readonly string[], delimiter: string, folder: string): Promise<void> {
  const columns = Array.from({ length: 60 }, (_, at) => `${at + 1}/2`).join('/')
  const filter = `CSV:${delimiter.charCodeAt(0)},34,76,1,${columns}`
  const profile = `-env:UserInstallation=file://${folder}/profile`
  const words = ['--headless', profile, '--convert-to', 'xlsx', '--outdir', folder]
  await run('soffice', [...words, `--infilter=${filter}`, ...paths])
}

/** Header and records, without what a sheet of LibreOffice cannot hold: blank rows at the end, empty cells at the end of a row,
 *  and the CR of a line end within a cell. */
function tableOf({ file, records }: ReadFile): string[][] {
  const rows = [...(file.header?.rowNames ?? []), ...records.map(({ cells }) => cells)].map((row) =>
    row.map((cell) => cell.replaceAll('\r\n', '\n')),
  )
  const cut = rows.map((row) => row.slice(0, row.findLastIndex((cell) => cell !== '') + 1))
  return cut.slice(0, cut.findLastIndex((row) => row.length > 0) + 1)
}

/** Compares each CSV file with its workbook; the number of rows. */
async function compareFolder(source: string, filter: RegExp): Promise<number> {
  await using folder = await temporaryFolder()
  const names = (await readdir(sharedPath(source))).filter((name) => filter.test(name))
  const read = new Map<string, ReadFile>()
  for (const name of names) read.set(name, await readAll({ path: sharedPath(`${source}/${name}`) }))
  const byDelimiter = Map.groupBy(read, ([, { file }]) => file.dialect.delimiter)
  for (const [delimiter, group] of byDelimiter) {
    const paths = group.map(([name]) => sharedPath(`${source}/${name}`))
    await mkdir(join(folder.path, 'profile'), { recursive: true })
    await convert(paths, delimiter, folder.path)
  }
  let rows = 0
  for (const [name, csv] of read) {
    const path = join(folder.path, `${basename(name, '.csv')}.xlsx`)
    const { file, records } = await readBook(await readFile(path), { isKnownName: () => false })
    expect(tableOf({ file, records }), name).toEqual(tableOf(csv))
    rows += records.length
  }
  console.log(`${source}: ${read.size} files with ${rows} rows are the same as workbooks`)
  return rows
}

/** A test of the files of a private folder as workbooks. */
function testOfFolder(folder: string, name: string, run: () => Promise<void>): void {
  if (skipReason('LibreOffice') === null) testOfShared(folder, name, run)
  else testWith('LibreOffice', name, run)
}

testOfFolder('data/stock-csv', 'the 12 real lists as workbooks of LibreOffice', async () => {
  expect(await compareFolder('data/stock-csv', /\.csv$/)).toBeGreaterThan(10_000)
})

testOfFolder('suites/csv-spectrum', 'csv-spectrum as workbooks of LibreOffice', async () => {
  expect(await compareFolder('suites/csv-spectrum/csvs', /\.csv$/)).toBeGreaterThan(10)
})

// A file of empty cells alone gives a sheet without cells.
testOfFolder('suites/csv-test-data', 'csv-test-data as workbooks of LibreOffice', async () => {
  expect(
    await compareFolder('suites/csv-test-data/csv', /^(?!bad-|all-empty).*\.csv$/),
  ).toBeGreaterThan(10)
})

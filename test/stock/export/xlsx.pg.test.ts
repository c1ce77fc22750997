import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBook } from '../workbook/read-book.ts'
import { type ExportFixture, openExportFixture, tableOf } from './export-fixture.ts'

const header = 'Stock No,VIN,Make,Model,Year,Kms,Price,Cost,Date In Stock,Colour,Status,Notes\r\n'
const list = `${header}${[
  '00123,6T1BF3FK20X100001,Toyota,Camry,2019,85000,"$25,990",22000,03/05/2025,White,Available,-1 key missing',
  '1E5,6T1BF3FK20X100002,Kia,Sorento,2021,45000,POA,,04/05/2025,Blue,Reserved,=1+1',
  'C9,JZX100-0012345,Toyota,Chaser,1998,182000,39000.55,30000,13/05/2025,,,"two\nlines, one comma"',
].join('\r\n')}\r\n`

async function exported(fixture: ExportFixture, ...args: readonly string[]) {
  const { code, stderr } = await fixture.exportList(
    ...[...args, '--format', 'xlsx', '--out', 'out.xlsx', '--force'],
  )
  expect([code, stderr]).toEqual([0, ''])
  const bytes = await readFile(join(fixture.folder, 'out.xlsx'))
  const { file, records } = await readBook(bytes)
  const names = file.header!.names
  const rows = records.map(({ cells }) =>
    Object.fromEntries(names.map((name, at) => [name, cells[at]])),
  )
  return { bytes, file, rows, names }
}

const unitsOf = async ({ database }: ExportFixture) =>
  (await database.pool.query('select * from core.stock_unit order by stock_no')).rows

test('the priced list as a workbook keeps every stock number, and imports again without a change', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await fixture.price('00123')
  const before = await unitsOf(fixture)

  const { bytes, rows, file } = await exported(fixture, '--rooftop', 'north')
  const { document } = await fixture.importList('again.xlsx', bytes)

  expect(file.origin?.sheet).toBe('Stock north')
  expect(rows.map((row) => row['stock_number'])).toEqual(['00123', '1E5', 'C9'])
  expect(rows[0]).toMatchObject({
    ...{ vin: '6T1BF3FK20X100001', year: '2019', odometer_km: '85000', asking_price: '25990' },
    ...{ acquired_on: '2025-05-03', price_retail: '25000.5', notes: '-1 key missing' },
    ...{ priced_at: '2026-03-10T14:00:00', status: 'priced' },
  })
  expect(rows[1]).toMatchObject({ asking_price: 'POA', notes: '=1+1' })
  expect(rows[2]).toMatchObject({ asking_price: '39000.55', notes: 'two\nlines, one comma' })
  expect(document).toMatchObject({
    ...{ records: 3, accepted: 3, added: 0, updated: 0, unchanged: 3, removed: 0, changes: [] },
  })
  expect(await unitsOf(fixture)).toEqual(before)
})

test('an uploaded file as a workbook has its rows, its columns and the prices', async () => {
  await using fixture = await openExportFixture()
  const titled = `Northside,as of May\r\n\r\n${list}`
  await fixture.importList('stock.csv', titled)
  await fixture.price('00123')

  const { file, rows, names, bytes } = await exported(
    fixture,
    '--rooftop',
    'north',
    '--original',
    '1',
  )
  const again = await fixture.importList('again.xlsx', bytes)
  const twice = await exported(
    fixture,
    ...['--rooftop', 'north', '--original', String(again.document['importId'])],
  )

  expect(file.preamble[0]).toBe('Northside,as of May')
  expect(names.slice(0, 12).join()).toBe(header.trim())
  expect(rows[0]).toMatchObject({
    ...{ 'Stock No': '00123', Price: '$25,990', Cost: '22000', 'Date In Stock': '03/05/2025' },
    ...{
      retail: '25000.5',
      priced_at: '2026-03-10T14:00:00',
      forecourt_status: 'priced',
      Notes: '-1 key missing',
    },
  })
  expect(rows.map((row) => row['Notes'])).toEqual([
    '-1 key missing',
    '=1+1',
    'two\nlines, one comma',
  ])
  expect(again.document).toMatchObject({ records: 3, unchanged: 3, added: 0, updated: 0 })
  expect(twice.names).toEqual(names)
  expect(twice.rows).toEqual(rows)
})

test('a mart as a workbook has the cells of its CSV, as dates, booleans and numbers', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture()
  const { stdout } = await fixture.exportList('--mart', 'dim_date')
  const csv = await tableOf(stdout)

  const { rows, names } = await exported(fixture, '--mart', 'dim_date')

  const asCsv = rows.map((row) => ({ ...row, is_weekend: row['is_weekend']?.toLowerCase() }))
  expect(names).toEqual(csv.names)
  expect(asCsv).toEqual(csv.rows)
  expect(rows.length).toBeGreaterThan(365)
})

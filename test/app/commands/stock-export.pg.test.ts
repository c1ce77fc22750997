import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { type ExportFixture, openExportFixture } from '../../stock/export/export-fixture.ts'

const list =
  'Stock No,VIN,Make,Year,Price\nA1,6T1BF3FK20X100001,Kia,2019,25000\nA2,6T1BF3FK20X100002,Kia,2020,26000\n'

const filesOf = async ({ folder }: ExportFixture) => (await readdir(folder)).sort()

const refused = async (fixture: ExportFixture, ...args: readonly string[]) => {
  const { code, stdout, stderr } = await fixture.exportList(...args)
  expect([code, stdout]).toEqual([2, ''])
  return stderr
}

test('--out writes the file whole, and --json says how much is in it', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)

  const { code, stdout } = await fixture.exportList(
    '--rooftop',
    'north',
    '--out',
    'out.csv',
    '--json',
  )

  const text = await fixture.file('out.csv')
  const bytes = Buffer.byteLength(text)
  expect([code, JSON.parse(stdout)]).toEqual([0, { rows: 2, file: 'out.csv', bytes }])
  expect(text.split('\r\n')).toHaveLength(4)
  expect(await filesOf(fixture)).toEqual(['forecourt.yaml', 'out.csv', 'stock.csv'])
})

test('the output says where the rows were written', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)

  const { stdout } = await fixture.exportList('--rooftop', 'north', '--out', 'out.csv')

  expect(stdout).toMatch(/^2 rows written to out\.csv \(\d+ bytes\)\.\n$/)
})

test('a file that is there already stays as it is, unless it is to be replaced', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await writeFile(join(fixture.folder, 'out.csv'), 'mine')

  const message = await refused(fixture, '--rooftop', 'north', '--out', 'out.csv')
  const content = await fixture.file('out.csv')
  const { code } = await fixture.exportList('--rooftop', 'north', '--out', 'out.csv', '--force')

  expect(message).toMatch(/out\.csv already exists: name another, or replace it with --force/)
  expect(content).toBe('mine')
  expect(code).toBe(0)
  expect(await fixture.file('out.csv')).toContain('stock_number')
})

test('an export that fails leaves no file, and the one that was there', async () => {
  await using fixture = await openExportFixture()
  await fixture.importList('stock.csv', list)
  await writeFile(join(fixture.folder, 'out.csv'), 'mine')
  await fixture.database.pool.query(
    'create view mart.broken as select stock_no, 1 / (model_year - 2020) as bad from core.stock_unit',
  )
  const before = await filesOf(fixture)

  const { code, stderr } = await fixture.exportList(
    '--mart',
    'broken',
    '--out',
    'out.csv',
    '--force',
  )

  expect([code, stderr]).toEqual([1, 'division by zero (SQLSTATE 22012)\n'])
  expect(await fixture.file('out.csv')).toBe('mine')
  expect(await filesOf(fixture)).toEqual(before)
})

test('a place that cannot be written to is refused before anything is read', async () => {
  await using fixture = await openExportFixture()
  await mkdir(join(fixture.folder, 'there'))

  const folder = await refused(fixture, '--rooftop', 'north', '--out', 'there', '--force')
  const missing = await refused(fixture, '--rooftop', 'north', '--out', 'nowhere/out.csv')

  expect(folder).toMatch(/there is not a file that can be replaced/)
  expect(missing).toMatch(/there is no folder .*nowhere: create it first/i)
})

test('what makes no sense together is refused with what to write instead', async () => {
  await using fixture = await openExportFixture()

  const messages = await Promise.all([
    refused(fixture),
    refused(fixture, '--rooftop', 'west'),
    refused(fixture, '--rooftop', 'north', '--mart', 'fact_evaluation'),
    refused(fixture, '--rooftop', 'north', '--original', '1', '--all'),
    refused(fixture, '--rooftop', 'north', '--format', 'ods'),
    refused(fixture, '--rooftop', 'north', '--format', 'xlsx', '--delimiter', ';'),
    refused(fixture, '--rooftop', 'north', '--format', 'parquet', '--out', 'x.parquet'),
    refused(fixture, '--mart', 'x', '--format', 'parquet'),
    refused(fixture, '--rooftop', 'north', '--delimiter', 'ab'),
  ])
  const json = await fixture.exportList('--rooftop', 'north', '--json')

  expect(messages.map((text) => text.trimEnd())).toEqual([
    'Name whose stock it is with --rooftop <uid>, or a view with --mart <view>.',
    '--rooftop west is not in the config; known are: North (north), Empty (empty).',
    '--mart exports a view of all rooftops: leave --rooftop, --original and --all out.',
    '--original gives every row of the upload: leave --all out.',
    '--format ods is not known: write csv, xlsx or parquet.',
    '--delimiter is for text, and --format xlsx is none: leave one out.',
    '--format parquet is for marts and goes into a file: add --mart and --out.',
    '--format parquet is for marts and goes into a file: add --mart and --out.',
    '--delimiter "ab" is none of "," ";" "|" and tab.',
  ])
  expect(json.code).toBe(2)
  expect(JSON.parse(json.stdout).error).toMatch(/^--json needs --out/)
})

test('a second rooftop, mart or import is refused: none takes the place of the other', async () => {
  await using fixture = await openExportFixture()

  const messages = [
    await refused(fixture, '--rooftop', 'north', '--rooftop', 'empty'),
    await refused(fixture, '--mart', 'dim_date', '--mart', 'dim_user'),
    await refused(fixture, '--rooftop', 'north', '--original', '1', '--original', '2'),
  ]

  expect(messages.map((text) => /it was "[^"]*" already: it takes one value/.test(text))).toEqual([
    ...[true, true, true],
  ])
})

test('a mart is exported with its types as text, and only its texts are guarded', async () => {
  await using fixture = await openExportFixture()
  await fixture.database.pool.query(
    `create view mart.all_types as
     select true as yes, -5 as int, date '2026-03-01' as day, timestamptz '2026-03-01 10:00:00.123456+10' as at,
       -1234.50::numeric(15,3) as amount, '=1+1'::varchar(20) as formula, null::varchar(5) as nothing,
       'a "b", c'::varchar(20) as "odd, name"`,
  )

  const { code, stdout } = await fixture.exportList('--mart', 'mart.all_types', '--no-bom')

  expect(code).toBe(0)
  expect(parse(stdout)).toEqual([
    ['yes', 'int', 'day', 'at', 'amount', 'formula', 'nothing', 'odd, name'],
    [
      ...['true', '-5', '2026-03-01', '2026-03-01 00:00:00.123456+00', '-1234.500'],
      ...["'=1+1", '', 'a "b", c'],
    ],
  ])
})

test('an unknown mart is refused with those that there are', async () => {
  await using fixture = await openExportFixture()
  const { pool } = fixture.database
  await pool.query('create view mart.fact_stock as select 1 as one')

  const message = await refused(fixture, '--mart', 'fact_stok')

  expect(message).toMatch(
    /^There is no mart "fact_stok" \(did you mean fact_stock\?\); known are: /,
  )
  expect(message).toMatch(/dim_date.*fact_stock/)
})

test('nothing outside of the schema mart can be exported', async () => {
  await using fixture = await openExportFixture()

  const messages = await Promise.all(
    ['app_user_email', 'pii.app_user_email', 'x" ; drop table core.stock_unit; --'].map((name) =>
      refused(fixture, '--mart', name),
    ),
  )

  expect(messages.every((text) => text.startsWith('There is no mart "'))).toBe(true)
})

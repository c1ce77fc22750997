import { expect, test } from 'vitest'
import { readCells } from '#src/stock/csv/read/read-cells.ts'
import { type Vehicle, vehicles } from '../import-fixture.ts'
import { textRows, workbook } from '../workbook/make-workbook.ts'
import { openInboxFixture } from './inbox-fixture.ts'

const codes = { rooftopColumn: 'Branch', rooftopCodes: { NTH: 'north', STH: 'south' } }

/** A list of a group: each vehicle with the code of its rooftop. */
function groupList(parts: readonly (readonly [string, readonly Vehicle[]])[]): string {
  const lines = parts.flatMap(([branch, units]) =>
    units.map(
      ({ stockNo, vin, price, km }) =>
        `${stockNo},${vin},Toyota,Corolla,2019,${km},${price},${branch}`,
    ),
  )
  return ['Stock Number,VIN,Make,Model,Year,Odometer (km),Price,Branch', ...lines, ''].join('\r\n')
}

const stock = `select rooftop_uid || ' ' || count(*) as line from core.stock_unit join core.rooftop using (rooftop_id)
  where missing_since is null group by rooftop_uid order by 1`

test('a file of several rooftops is one snapshot of each, by code, name or uid', async () => {
  await using fixture = await openInboxFixture(codes)
  await fixture.drop(
    'group.csv',
    groupList([
      ['nth', vehicles(4)],
      ['Southside', vehicles(3, 11)],
      ['STH', vehicles(2, 21)],
      ['gulf', vehicles(1, 31)],
    ]),
  )

  const { files } = await fixture.pass()

  expect(files).toMatchObject([{ state: 'done', unknownRows: 0 }])
  expect(await fixture.rows(stock)).toEqual([
    { line: 'gulf 1' },
    { line: 'north 4' },
    { line: 'south 5' },
  ])
})

test('a rooftop that the file does not name is not emptied, and unknown rooftops are rejected and reported', async () => {
  await using fixture = await openInboxFixture(codes)
  await fixture.drop(
    'a.csv',
    groupList([
      ['NTH', vehicles(4)],
      ['STH', vehicles(8, 11)],
    ]),
  )
  await fixture.pass()
  await fixture.drop(
    'b.csv',
    `${groupList([
      ['NTH', vehicles(4)],
      ['Auction', vehicles(2, 11)],
      ['', vehicles(1, 13)],
    ])}Total,7,,,,,,\r\n`,
  )

  const { files } = await fixture.pass()

  expect(files).toMatchObject([{ state: 'done', unknownRows: 3 }])
  expect(await fixture.rows(stock)).toEqual([{ line: 'north 4' }, { line: 'south 8' }])
  const report = (await fixture.list('done')).find((name) => name.endsWith('b.csv.report.txt'))!
  const text = await fixture.text('done', report)
  expect(text).toContain('"Auction": 2 rows')
  expect(text).toContain('(empty): 1 row')
  expect(text).toContain('Not in this list: Southside. Their stock is as it was before')
  const rows = await fixture.text('done', '.unknown-rooftop.csv')
  expect(rows.split('\r\n')).toHaveLength(5)
  expect(rows).toContain('Auction is not a known rooftop')
  expect(rows).not.toContain('Total')
})

test('corrected rows of unknown rooftops are dropped again and add to the stock', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture(codes)
  await fixture.drop(
    'a.csv',
    groupList([
      ['NTH', vehicles(9)],
      ['Nroth', vehicles(1, 11)],
    ]),
  )
  await fixture.pass()
  const rows = await fixture.text('done', '.unknown-rooftop.csv')
  await fixture.drop(
    'again.csv',
    rows.replace(',Nroth,', ',North,').replace(/,North,/, ',Northside,'),
  )

  const { files } = await fixture.pass()

  expect(files).toMatchObject([{ state: 'done', rooftops: [{ rooftop: 'north', accepted: 1 }] }])
  expect(await fixture.rows(stock)).toEqual([{ line: 'north 10' }])
})

test('one rooftop whose part is refused does not stop the others, and its command imports that part alone', {
  tags: 'ci',
}, async () => {
  await using fixture = await openInboxFixture(codes)
  await fixture.drop(
    'a.csv',
    groupList([
      ['NTH', vehicles(20)],
      ['STH', vehicles(8, 31)],
    ]),
  )
  await fixture.pass()
  await fixture.drop(
    'b.csv',
    groupList([
      ['NTH', vehicles(2)],
      ['STH', vehicles(9, 31)],
    ]),
  )

  const { files } = await fixture.pass()

  const [file] = files
  expect(file).toMatchObject({
    state: 'failed',
    rooftops: [{ outcome: 'refused' }, { rooftop: 'south', outcome: 'imported', accepted: 9 }],
    commands: [
      `forecourt stock import ${file!.path} --rooftop north --only Branch=NTH --allow-mass-removal`,
    ],
  })
  expect(await fixture.rows(stock)).toEqual([{ line: 'north 20' }, { line: 'south 9' }])
  expect(await fixture.text('failed', '.report.txt')).toContain('Result: imported in part.')
})

test('a file without the column, or without a known rooftop, fails and says why', async () => {
  await using fixture = await openInboxFixture({ ...codes, mode: 'delta' })
  await fixture.drop('a.csv', groupList([['NTH', vehicles(3)]]).replace('Branch', 'Place'))
  await fixture.drop('b.csv', groupList([['X', vehicles(3)]]))

  const { files } = await fixture.pass()

  const reasons = Object.fromEntries(files.map(({ file, reason }) => [file, reason]))
  expect(files.map(({ state }) => state)).toEqual(['failed', 'failed'])
  expect(reasons['a.csv']).toContain('no column is called "Branch"')
  expect(reasons['b.csv']).toContain('no row is of a known rooftop')
  expect(await fixture.rows(stock)).toEqual([])
})

const dialect = { delimiter: ',', quote: '"', escape: '"', sepLine: false, lineEnd: 'LF' } as const

function sheetOf(name: string, list: string) {
  const lines = list.split('\r\n').filter((line) => line !== '')
  return { name, rows: textRows(lines.map((line) => readCells(line, dialect).cells)) }
}

test('a workbook of several rooftops is split as a text file is', { tags: 'ci' }, async () => {
  await using fixture = await openInboxFixture(codes)
  const list = groupList([
    ['NTH', vehicles(4)],
    ['STH', vehicles(3, 11)],
    ['Other', vehicles(1, 21)],
  ])
  await fixture.drop('group.xlsx', workbook({ sheets: [sheetOf('Stock', list)] }))

  const { files } = await fixture.pass()

  expect(files).toMatchObject([{ state: 'done', unknownRows: 1 }])
  expect(await fixture.rows(stock)).toEqual([{ line: 'north 4' }, { line: 'south 3' }])
})

test('a workbook with two lists fails with the command that names a sheet, unless the config does', {
  tags: 'ci',
}, async () => {
  const sheets = [
    sheetOf('Used', groupList([['NTH', vehicles(3)]])),
    sheetOf('New', groupList([['NTH', vehicles(3, 11)]])),
  ]
  await using asking = await openInboxFixture()
  await using knowing = await openInboxFixture({ rooftop: 'north', sheet: 'New' })
  for (const fixture of [asking, knowing]) await fixture.drop('a.xlsx', workbook({ sheets }))

  const [asked] = (await asking.pass()).files
  const known = await knowing.pass()

  expect(asked).toMatchObject({ state: 'failed', reason: expect.stringContaining('New') })
  expect(asked!.commands).toEqual([
    `forecourt stock import ${asked!.path} --rooftop north --sheet Used`,
  ])
  expect(known.files).toMatchObject([{ state: 'done', rooftops: [{ accepted: 3 }] }])
})

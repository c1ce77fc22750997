import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readCells } from '#src/stock/csv/read/read-cells.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'
import { textRows, workbook } from './workbook/make-workbook.ts'

const dialect = { delimiter: ',', quote: '"', escape: '"', sepLine: false, lineEnd: 'LF' } as const

/** The same list as rows of a sheet. */
function rowsOf(list: string): string {
  const lines = list.split('\r\n').filter((line) => line !== '')
  return textRows(lines.map((line) => readCells(line, dialect).cells))
}

const units =
  'select stock_no, vin, make, model, model_year, odometer_km, asking_price, extras from core.stock_unit order by 1'

test('a workbook loads the same stock as the same list in CSV', async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(12))
  await fixture.import(list)
  const asCsv = await fixture.rows(units)
  const sheets = [{ name: 'Used cars', rows: rowsOf(list) }]

  const report = await fixture.import(workbook({ sheets }))

  expect(report).toMatchObject({
    ...{ status: 'imported', encoding: 'xlsx', sheet: 'Used cars', entry: null },
    ...{ records: 12, accepted: 12, unchanged: 12, added: 0, updated: 0 },
  })
  expect(await fixture.rows(units)).toEqual(asCsv)
  expect(asCsv).toHaveLength(12)
})

test('the same workbook again does nothing, and another of its sheets is another list', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const book = workbook({
    sheets: [
      { name: 'Used', rows: rowsOf(listOf(vehicles(3))) },
      { name: 'All', rows: rowsOf(listOf(vehicles(5))) },
    ],
  })

  await expect(fixture.import(book)).rejects.toThrow(
    '--sheet <name>: "Used", "All". Some have the same header: --sheet Used/All reads them as one list. Nothing',
  )
  const first = await fixture.import(book, { sheet: 'Used' })
  const again = await fixture.import(book, { sheet: 'Used' })
  const other = await fixture.import(book, { sheet: 'All' })

  expect([first.status, again.status, other.status]).toEqual([
    ...['imported', 'already-imported', 'imported'],
  ])
  expect([first.added, other.added, other.unchanged]).toEqual([3, 2, 3])
})

test('errors and formulas without a value are issues of their rows, numbers keep their zeros', async () => {
  await using fixture = await openImportFixture()
  const row = (stock: string, price: string, colour: string) =>
    `<row><c s="1"><v>${stock}</v></c><c t="str"><v>Kia</v></c><c t="str"><v>Rio</v></c><c><v>2019</v></c>${price}${colour}</row>`
  const rows = [
    textRows([['Stock No', 'Make', 'Model', 'Year', 'Price', 'Colour']]),
    row('123', '<c><v>15990</v></c>', '<c t="str"><v>Red</v></c>'),
    row('124', '<c t="e"><f>B9</f><v>#REF!</v></c>', '<c t="e"><v>#N/A</v></c>'),
    row('125', '<c><f>B9*1.1</f></c>', '<c t="str"><v>Red</v></c>'),
  ]
  const book = workbook({ sheets: [{ name: 'Used', rows: rows.join('') }], formats: ['000000'] })

  const report = await fixture.import(book, { maps: ['vin=', 'odometer=', 'received_date='] })

  const found = report.issues.map(({ code, line, column, text }) => [code, line, column, text])
  expect(found.filter(([code]) => code === 'EXCEL_ERROR')).toEqual([
    ['EXCEL_ERROR', 3, 'Colour', '#N/A'],
    ['EXCEL_ERROR', 3, 'Price', '#REF!'],
    ['EXCEL_ERROR', 4, 'Price', '#NOT-CALCULATED!'],
  ])
  expect(report.issues.at(-1)!.hint).toContain('open it in Excel, save it')
  expect(
    await fixture.rows('select stock_no, asking_price from core.stock_unit order by 1'),
  ).toEqual([
    { stock_no: '000123', asking_price: '15990.000' },
    { stock_no: '000124', asking_price: null },
    { stock_no: '000125', asking_price: null },
  ])
})

test('rejected rows of a workbook are written as CSV and can be imported', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(3)).replace('20002', 'forty2')
  const rejects = `${fixture.folder}/rejects.csv`

  const sheets = [{ name: 'Used', rows: rowsOf(list) }]
  const report = await fixture.import(workbook({ sheets }), { rejects })
  const corrected = (await readFile(rejects, 'utf8')).replace('forty2', '20002')
  const again = await fixture.import(corrected, { mode: 'delta' })

  expect(report).toMatchObject({ accepted: 2, rejected: 1, rejectsFile: rejects })
  expect(again).toMatchObject({ records: 1, accepted: 1, added: 1 })
})

test('outline subtotals of a workbook are passed over as information, with formulas that were never calculated too', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const [header, ...lines] = listOf(vehicles(6)).trimEnd().split('\r\n')
  const subtotal = (label: string, first: number, last: number) =>
    `<row><c/><c/><c t="inlineStr"><is><t>${label}</t></is></c><c/><c/><c><f>SUBTOTAL(9,F${first}:F${last})</f></c><c><f>SUBTOTAL(9,G${first}:G${last})</f></c></row>`
  for (const label of ['Toyota Total', 'Toyota']) {
    const rows = [
      rowsOf([header, ...lines.slice(0, 3)].join('\r\n')) + subtotal(label, 2, 4),
      rowsOf(lines.slice(3).join('\r\n')) + subtotal(label, 6, 8) + subtotal('Grand Total', 2, 9),
    ]

    const report = await fixture.import(
      workbook({ sheets: [{ name: 'Stock', rows: rows.join('') }] }),
      {
        dryRun: true,
      },
    )

    expect(report, label).toMatchObject({ accepted: 6, rejected: 0, skipped: 3 })
    expect(report.issueTotals).toEqual([{ severity: 'info', code: 'TOTALS_ROW', count: 3 }])
    expect(report.issues.map(({ line }) => line)).toEqual([5, 9, 10])
  }
})

test('several sheets are imported as one list, and what another one has is in the report', async () => {
  await using fixture = await openImportFixture()
  const sheet = (name: string, from: number, count: number, title = '') => {
    const rows = listOf(vehicles(count, from)).trimEnd().split('\r\n')
    return { name, rows: rowsOf([...rows, title].join('\r\n')) }
  }
  const sheets = [sheet('New', 1, 3, 'SOLD'), sheet('Used', 11, 4), sheet('Sold', 21, 2)]
  const book = workbook({ sheets })

  const two = await fixture.import(book, { dryRun: true, sheet: 'New/Used' })
  const all = await fixture.import(book, { dryRun: true, sheet: 'New/Used/Sold' })

  expect(two).toMatchObject({ accepted: 7, rejected: 0, sheet: 'New/Used' })
  expect(two.warnings.map(({ code }) => code)).toEqual(
    expect.arrayContaining(['SHEETS_JOINED', 'SHEET_NOT_READ']),
  )
  expect(all).toMatchObject({ accepted: 7, issueCounts: { 'not-in-stock': 2 } })
})

test('a sheet that is called Sold has no stock, whether it is the only list or is named', async () => {
  await using fixture = await openImportFixture()
  const rows = rowsOf(listOf(vehicles(4)).trimEnd())
  const only = workbook({ sheets: [{ name: 'Sold October', rows }] })
  const two = workbook({
    sheets: [
      { name: 'Stock', rows },
      { name: 'Sold', rows },
    ],
  })

  await expect(fixture.import(only)).rejects.toThrow(
    /has no vehicle \(it is below the title "Sold October"\).*--map sold=/,
  )
  await expect(fixture.import(two, { sheet: 'Sold' })).rejects.toThrow('has no vehicle')
  const ignored = await fixture.import(only, { dryRun: true, maps: ['sold='] })
  const stock = await fixture.import(two, { dryRun: true, sheet: 'Stock' })

  expect([ignored.accepted, stock.accepted]).toEqual([4, 4])
})

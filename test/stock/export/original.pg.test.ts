import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { readCsv } from '#src/stock/csv/read/read-csv.ts'
import { appendedColumns } from '#src/stock/own-columns.ts'
import { someOf } from '../../support/cases.ts'
import { encode } from '../csv/read/encode.ts'
import { type ExportFixture, openExportFixture } from './export-fixture.ts'

const names = ['Stock No', 'VIN', 'Make', 'Model', 'Year', 'Kms', 'Price', 'Notes']
const rows = [
  ['00123', '6T1BF3FK20X100001', 'Toyota', 'Camry', '2019', '85,000', '$25,990', 'one owner'],
  ['B-7', '6T1BF3FK20X100002', 'Kia', 'Sorento', '2021', '45000 km', 'POA', '- full history'],
  ['C9', 'JZX100-0012345', ' Toyota ', 'Chaser', '1998', '182000', '39000.55', 'a "quoted" word'],
  ['D1', '6T1BF3FK20X100004', 'Kia', 'Rio', '2020', '12x34 or so', '9000', ''],
  ['00123', '6T1BF3FK20X100001', 'Toyota', 'Camry', '2019', '85,000', '$25,990', 'one owner'],
  ['', '', '', '', '', '', '', ''],
  ['E5', '6T1BF3FK20X100005', 'Kia', 'Rio', '2020', '1000', '9000', 'last one'],
  ['Total', '', '', '', '', '', '83990', ''],
]

interface Kind {
  readonly encoding: string
  readonly delimiter: string
  readonly end: string
  readonly quote: '"' | "'"
  readonly preamble: readonly string[]
  readonly word: string
  readonly region?: 'AU' | 'GCC'
}

const plain: Kind = {
  ...{ encoding: 'utf-8', delimiter: ',', end: '\n', quote: '"', preamble: [], word: 'Café' },
}
const kinds: readonly (readonly [string, Kind])[] = [
  ['plain UTF-8', plain],
  [
    'windows-1252 with semicolons',
    { ...plain, encoding: 'windows-1252', delimiter: ';', end: '\r\n' },
  ],
  [
    'windows-1256 in Arabic',
    { ...plain, encoding: 'windows-1256', word: 'أبيض لؤلؤي', region: 'GCC' },
  ],
  ['UTF-16 with tabs', { ...plain, encoding: 'utf-16le bom', delimiter: '\t', word: 'ضوء 漢字' }],
  ['pipes and CR', { ...plain, delimiter: '|', end: '\r' }],
  ['apostrophes', { ...plain, quote: "'" }],
  [
    'titles above the header',
    { ...plain, preamble: ['Northside Motors,,,"as of 3 May, evening"', '', 'Stock list'] },
  ],
  ['a sep line', { ...plain, delimiter: ';', preamble: ['sep=;'] }],
]

function fileOf({ encoding, delimiter, end, quote, preamble, word }: Kind): Buffer {
  const cell = (text: string) =>
    quote === "'" || text.includes(delimiter) || text.includes(quote)
      ? quote + text.replaceAll(quote, quote + quote) + quote
      : text
  const table = [names, ...rows.map((row) => row.with(3, `${row[3]}${row[3] && ` ${word}`}`))]
  const lines = [...preamble, ...table.map((row) => row.map(cell).join(delimiter))]
  return encode(lines.join(end) + end, encoding)
}

/** The file as another program reads it: the lines above the table, and the table. */
function readBack(text: string, { delimiter, quote, preamble }: Kind) {
  const lines = text.replace(/^\uFEFF/, '').split('\r\n')
  const table = lines.slice(preamble.length).join('\r\n')
  const options = {
    delimiter,
    quote,
    escape: quote,
    relax_column_count: true,
    skip_empty_lines: false,
  }
  const cells: string[][] = parse(table, options)
  return { preamble: lines.slice(0, preamble.length), cells }
}

/** A few rows prove too little, so the columns need a confirmation. */
const importFile = async (fixture: ExportFixture, bytes: Buffer | string) =>
  await fixture.importList('stock.csv', bytes, '--map', 'stock_number=Stock No', '--map', 'vin=VIN')

async function importAndExport(
  fixture: ExportFixture,
  bytes: Buffer | string,
  ...args: readonly string[]
) {
  const { document } = await importFile(fixture, bytes)
  const id = String(document['importId'])
  const given = await fixture.exportList('--rooftop', 'north', '--original', id, ...args)
  return { document, text: given.stdout, stderr: given.stderr }
}

test.each(someOf(kinds, 2))(
  'an upload of %s is exported with every row and cell',
  async (_, kind) => {
    await using fixture = await openExportFixture(kind.region ? { region: kind.region } : {})
    const bytes = fileOf(kind)
    const source = await readCsv(Readable.from([bytes]), { market: kind.region ?? 'AU' })
    const records: (readonly string[])[] = []
    for await (const batch of source.batches) records.push(...batch.map(({ cells }) => cells))

    const { document, text } = await importAndExport(fixture, bytes)

    const { preamble, cells } = readBack(text, kind)
    expect(document).toMatchObject({
      records: 8,
      accepted: 4,
      collapsed: 1,
      skipped: 2,
      rejected: 1,
    })
    expect(preamble).toEqual(kind.preamble)
    expect(cells[0]).toEqual([...names, ...appendedColumns])
    // The only cell that a spreadsheet would run is text now.
    const expected = records.map((row) =>
      row.map((cell) => (cell === '- full history' ? "'- full history" : cell)),
    )
    expect(cells.slice(1).map((row) => row.slice(0, names.length))).toEqual(expected)
    expect(new Set(cells.map(({ length }) => length))).toEqual(new Set([names.length + 13]))
    expect(cells.slice(1).map((row) => row.at(-2))).toEqual([
      ...['not_priced', 'not_priced', 'not_priced', 'rejected'],
      ...['collapsed', 'skipped', 'not_priced', 'skipped'],
    ])
  },
)

test('each row has its price, or the reason why it has none', { tags: 'ci' }, async () => {
  await using fixture = await openExportFixture()
  const { document } = await importFile(fixture, fileOf(plain))
  await fixture.price('00123')
  await fixture.price('B-7', { retail: null, error: 'no market data' })

  const { stdout } = await fixture.exportList(
    '--rooftop',
    'north',
    '--original',
    String(document['importId']),
  )

  const { cells } = readBack(stdout, plain)
  const appended = cells.slice(1).map((row) => row.slice(names.length))
  const prices = ['25000.50', '24000.50', '26000.50', '20000.40', '', '']
  const priced = [...prices, 'AUD', '2026-03-10T14:00:00Z', '', '', '']
  expect(appended[0]).toEqual([...priced, 'priced', ''])
  expect(appended[1]!.slice(-2)).toEqual(['not_priced', 'no market data'])
  expect(appended[2]!.slice(-1)).toEqual(['it has no VIN and no ADCode, so it cannot be priced'])
  expect(appended[3]!.at(-1)).toMatch(/^Kms: this is not an odometer reading/)
  expect(appended[4]).toEqual([...priced, 'collapsed', 'repeats another row of the file'])
  expect(appended[5]!.at(-1)).toMatch(/blank/)
  expect(appended[7]!.at(-1)).toBe('a total, not a vehicle: "Total"')
})

test('a row whose stock number now belongs to another vehicle gets no price', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture()
  const { document } = await importFile(fixture, fileOf(plain))
  await fixture.database.pool.query(
    `update core.stock_unit set vin = '6T1BF3FK20X999999' where stock_no = '00123'`,
  )
  await fixture.price('00123')

  const { stdout } = await fixture.exportList(
    '--rooftop',
    'north',
    '--original',
    String(document['importId']),
  )

  const [row] = readBack(stdout, plain).cells.slice(1)
  expect(row!.slice(names.length)).toEqual([
    ...Array<string>(11).fill(''),
    ...['replaced', 'its stock number now belongs to another vehicle'],
  ])
})

test('rows with too few or too many cells keep them all, and the prices are in their columns', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture()
  const ragged = [
    'Stock No,VIN,Make,Year,Price',
    'A1,6T1BF3FK20X100001,Kia,2019,25000',
    'A2,6T1BF3FK20X100002,Kia,2019',
    'A3,6T1BF3FK20X100003,Kia,2019,twelve,thousand,and,more',
    'A4,6T1BF3FK20X100004,Kia,2019,26000',
  ].join('\n')

  const { text } = await importAndExport(fixture, ragged)

  const { cells } = readBack(text, plain)
  const [, , short, long] = cells as [string[], string[], string[], string[]]
  expect(short.slice(0, 5)).toEqual(['A2', '6T1BF3FK20X100002', 'Kia', '2019', ''])
  expect(long.slice(0, 5)).toEqual(['A3', '6T1BF3FK20X100003', 'Kia', '2019', 'twelve'])
  expect(long.slice(-3)).toEqual(['thousand', 'and', 'more'])
  expect(cells.slice(1).map((row) => row[15])).toEqual(['', 'missing-cell:4', 'extra-cell:8', ''])
  expect(cells.slice(1).map((row) => row[16])).toEqual([
    ...['not_priced', 'rejected', 'rejected', 'not_priced'],
  ])
})

test('a header of two rows is exported, and a file without a header gets none', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture()
  const body = [...rows.slice(0, 4), ...rows.slice(0, 4)].map(
    (row) => `"${row.map((c) => c.replaceAll('"', '""')).join('","')}"`,
  )
  const second = ['#', '', '', '', '', 'km', 'AUD', '']
  const two = [names.join(','), second.join(','), ...body].join('\n')

  const withTwo = await importAndExport(fixture, two)
  const maps = ['stock_number', 'vin', 'make', 'model', 'model_year', 'odometer', 'price_asking']
  const without = await fixture.importList(
    'bare.csv',
    body.join('\n'),
    '--mode',
    'delta',
    ...maps.flatMap((field, at) => ['--map', `${field}=#${at + 1}`]),
  )
  const bare = await fixture.exportList(
    '--rooftop',
    'north',
    '--original',
    String(without.document['importId']),
  )

  const first = readBack(withTwo.text, plain).cells
  expect(first[0]).toEqual([...names, ...appendedColumns.map(() => '')])
  expect(first[1]).toEqual([...second, ...appendedColumns])
  const last = readBack(bare.stdout, plain).cells
  expect(last).toHaveLength(8)
  expect(last[0]!.slice(0, 2)).toEqual(['00123', '6T1BF3FK20X100001'])
})

test('a name that the file already has is not used twice', { tags: 'ci' }, async () => {
  await using fixture = await openExportFixture()
  const file =
    'Stock No,VIN,Make,Year,Retail,Status\nA1,6T1BF3FK20X100001,Kia,2019,25000,Reserved\nA2,6T1BF3FK20X100002,Kia,2019,26000,Reserved\n'

  const { text } = await importAndExport(fixture, file)

  expect(readBack(text, plain).cells[0]!.slice(6)).toEqual(
    appendedColumns.map((name) =>
      ['retail', 'status'].includes(name) ? `forecourt_${name}` : name,
    ),
  )
})

test('an export imports like the upload, and its next export has new prices, not more columns', {
  tags: 'ci',
}, async () => {
  await using fixture = await openExportFixture()
  const first = await importAndExport(fixture, fileOf(plain))
  await fixture.price('00123')

  const second = await importAndExport(fixture, first.text)

  expect(second.document).toMatchObject({
    ...{ records: 8, accepted: 4, collapsed: 1, skipped: 2, rejected: 1 },
    ...{ added: 0, updated: 0, unchanged: 4, removed: 0 },
  })
  const [before, after] = [first, second].map(({ text }) => readBack(text, plain).cells)
  expect(after![0]).toEqual(before![0])
  expect(after!.map((row) => row.slice(0, names.length))).toEqual(
    before!.map((row) => row.slice(0, names.length)),
  )
  expect(after![1]!.at(-2)).toBe('priced')
})

test('with --raw every cell is unchanged, formulas too', async () => {
  await using fixture = await openExportFixture()
  const file = '=now(),,\nStock No,VIN,=Notes\nA1,6T1BF3FK20X100001,=1+1\nA2,6T1BF3FK20X100002,@x\n'

  const raw = await importAndExport(fixture, file, '--raw')
  const id = String(raw.document['importId'])
  const safe = (await fixture.exportList('--rooftop', 'north', '--original', id)).stdout

  const firstCells = (text: string) => readBack(text, plain).cells.map((row) => row.slice(0, 3))
  expect(firstCells(raw.text)).toEqual(
    file
      .trimEnd()
      .split('\n')
      .map((line) => line.split(',')),
  )
  expect(firstCells(safe)).toEqual([
    ["'=now()", '', ''],
    ['Stock No', 'VIN', "'=Notes"],
    ['A1', '6T1BF3FK20X100001', "'=1+1"],
    ['A2', '6T1BF3FK20X100002', "'@x"],
  ])
})

test('an unknown import, or one of another rooftop, is refused', async () => {
  await using fixture = await openExportFixture()
  await importFile(fixture, fileOf(plain))

  const unknown = await fixture.exportList('--rooftop', 'north', '--original', '99')
  const others = await fixture.exportList('--rooftop', 'empty', '--original', '1')
  const noNumber = await fixture.exportList('--rooftop', 'north', '--original', 'stock.csv')

  expect([unknown.code, others.code, noNumber.code]).toEqual([2, 2, 2])
  expect(unknown.stderr).toBe('Rooftop north has no import 99; its newest are: 1 (stock.csv).\n')
  expect(others.stderr).toMatch(/^Rooftop empty has no imported stock list: import one with/)
  expect(noNumber.stderr).toMatch(/^--original stock\.csv is not a number of an import/)
  expect(unknown.stdout + others.stdout + noNumber.stdout).toBe('')
})

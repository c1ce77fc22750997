import { expect, test } from 'vitest'
import { textRows, workbook } from './make-workbook.ts'
import { readBook, rowsOf } from './read-book.ts'

const header = textRows([['Stock No', 'Make', 'Price']])

/** The text of one number in that format. */
async function shown(value: string, format: number | string, date1904 = false): Promise<string> {
  const rows = `${header}<row><c t="str"><v>S1</v></c><c t="str"><v>Kia</v></c><c s="1"><v>${value}</v></c></row>`
  const book = workbook({ sheets: [{ name: 'Stock', rows }], formats: [format], date1904 })
  return (await rowsOf(book))[1]![2]!
}

test.each([
  ['230058', 0, '230058'],
  ['10002.5', 0, '10002.5'],
  ['11002.200000000001', 0, '11002.2'],
  ['0.1', 0, '0.1'],
  ['1.5E-2', 0, '0.015'],
  ['123456789012', 0, '123456789012'],
  ['1.23E+3', 0, '1230'],
  ['1.2345678901234501E+19', 0, '1.23456789012345E+19'],
  ['1234567890123450', 0, '1234567890123450'],
  ['-12', 0, '-12'],
  ['230058', '000000', '230058'],
  ['123', '000000', '000123'],
  ['42', '"STK-"0000', 'STK-0042'],
  ['1234567', '000-0000', '123-4567'],
  ['12345678', '000-0000', '1234-5678'],
  ['1.5', '000', '1.5'],
  ['165000', '"AED" #,##0', 'AED 165000'],
  ['165000', '[$AED-3801]\\ #,##0.00', 'AED 165000'],
  ['10002.5', '"$"#,##0.00', '$10002.5'],
  ['-5', '"$"#,##0.00;[Red]-"$"#,##0.00', '-$5'],
  ['45000', '#,##0" km"', '45000 km'],
  ['45000', '#,##0_);(#,##0)', '45000'],
  ['0.15', 9, '15%'],
  ['0.155', 10, '15.5%'],
  ['0.07', '0.0%', '7%'],
  ['12', 49, '12'],
  ['45002', 14, '2023-03-17'],
  ['45002.999', 14, '2023-03-17'],
  ['45002.395833333336', 22, '2023-03-17T09:30:00'],
  ['45002', 'dd/mm/yyyy', '2023-03-17'],
  ['45002', '[$-409]d\\-mmm\\-yyyy;@', '2023-03-17'],
  ['45002', '[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy', '2023-03-17'],
  ['45002', 31, '2023-03-17'],
  ['45002.5', 'yyyy-mm-dd hh:mm', '2023-03-17T12:00:00'],
  ['35735', 17, 'Nov-97'],
  ['45002', 16, '17-Mar'],
  ['45002', 'yyyy', '2023'],
  ['45002', 'mm/yyyy', '03/2023'],
  ['0.395833333333333', 20, '09:30:00'],
  ['0.395833333333333', 'h:mm AM/PM', '09:30:00'],
  ['1.5', 46, '36:00:00'],
  ['0.0104166666666667', 45, '00:15:00'],
  ['1', 14, '1900-01-01'],
  ['59', 14, '1900-02-28'],
  ['60', 14, '1900-02-29'],
  ['61', 14, '1900-03-01'],
  ['2958465', 14, '9999-12-31'],
  ['2958466', 14, '########'],
  ['-1', 14, '########'],
  ['12', '"day "0', 'day 12'],
] as const)('%s in the format %s is %s', async (value, format, text) => {
  expect(await shown(value, format)).toBe(text)
})

test('dates of a workbook that counts from 1904', async () => {
  expect(await shown('0', 14, true)).toBe('1904-01-01')
  expect(await shown('43540', 14, true)).toBe('2023-03-17')
  expect(await shown('2957004', 14, true)).toBe('########')
})

const shared = [
  '<si><t>Stock No</t></si>',
  '<si><t>Make</t></si>',
  '<si><r><t>Sell</t></r><r><rPr><b/></rPr><t xml:space="preserve">ing </t></r><r><t>Price</t></r></si>',
  '<si><t>課</t><rPh sb="0" eb="1"><t>カ</t></rPh><phoneticPr fontId="1"/></si>',
  '<si><t xml:space="preserve"> two blanks  </t></si>',
  '<si><t>\n  indented\n</t></si>',
  '<si><t>a_x000D_b_x005F_x0041_</t></si>',
  '<si><t><![CDATA[<b>]]>&amp;&#65;</t></si>',
  '<si/>',
].join('')
const names =
  '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c></row>'

/** The cells of one row, with shared texts. */
async function cellsOf(cells: string): Promise<readonly string[]> {
  const rows = `${names}<row r="2">${cells}</row>`
  const found = await rowsOf(workbook({ sheets: [{ name: 'Stock', rows }], shared }))
  expect(found[0]).toEqual(['Stock No', 'Make', 'Selling Price'])
  return found[1]!
}

test('shared, rich and phonetic texts, blanks, escapes and CDATA', async () => {
  expect(await cellsOf('<c t="s"><v>3</v></c><c t="s"><v>4</v></c><c t="s"><v>5</v></c>')).toEqual([
    '課',
    ' two blanks  ',
    'indented',
  ])
  expect(await cellsOf('<c t="s"><v>6</v></c><c t="s"><v>7</v></c><c t="s"><v>8</v></c>')).toEqual([
    'a\rb_x0041_',
    '<b>&A',
    '',
  ])
})

test('inline texts, results of formulas, booleans, errors and ISO dates', async () => {
  expect(
    await cellsOf(
      '<c t="inlineStr"><is><r><t>S</t></r><r><t>1</t></r></is></c><c t="str"><f>A1&amp;"x"</f><v> Kia </v></c><c t="e"><f>1/0</f><v>#DIV/0!</v></c>',
    ),
  ).toEqual(['S1', ' Kia ', '#DIV/0!'])
  expect(
    await cellsOf('<c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="d"><v>2023-03-17</v></c>'),
  ).toEqual(['TRUE', 'FALSE', '2023-03-17'])
})

test('a formula without a value is not an empty cell', async () => {
  expect(
    await cellsOf('<c t="str"><v>S1</v></c><c><f>B9</f></c><c t="str"><f>""</f><v></v></c>'),
  ).toEqual(['S1', '#NOT-CALCULATED!', ''])
})

test('cells are placed by their references, and gaps are empty', async () => {
  const rows = `${names}<row r="4"><c r="C4"><v>7</v></c></row><row r="5"><c r="B5" t="str"><v>Kia</v></c><c><v>8</v></c><c r="D5" s="3"/></row><row r="9"><c r="A9"/></row>`
  const { records } = await readBook(workbook({ sheets: [{ name: 'Stock', rows }], shared }))

  expect(records.map(({ line, cells, problem }) => [line, cells, problem?.code])).toEqual([
    [2, ['', '', ''], 'blank-row'],
    [3, ['', '', ''], 'blank-row'],
    [4, ['', '', '7'], undefined],
    [5, ['', 'Kia', '8'], undefined],
  ])
})

test('titles are above the header, and a note beside the title does not widen the table', async () => {
  const rows = `<row r="1"><c r="A1" t="str"><v>Used stock</v></c><c r="H1" t="str"><v>printed today</v></c></row>${names.replaceAll('"1"', '"3"').replaceAll('1" t', '3" t')}<row r="4"><c r="A4" t="str"><v>S,1</v></c><c r="B4" t="str"><v>Kia</v></c><c r="C4"><v>9</v></c></row>`
  const { file, records } = await readBook(workbook({ sheets: [{ name: 'Stock', rows }], shared }))

  expect(file).toMatchObject({
    ...{ width: 3, header: { line: 3, rows: 1 }, origin: { sheet: 'Stock', entry: null } },
    ...{ preamble: ['Used stock,,,,,,,printed today', ',,'], encoding: { name: 'xlsx' } },
  })
  expect(records).toEqual([{ line: 4, cells: ['S,1', 'Kia', '9'], raw: '"S,1",Kia,9' }])
})

test('a title above a list without a header is not a record', async () => {
  const vehicle = (at: number) => [`S${at}`, '2019', 'Kia', 'Rio', '5000', '9000', 'White']
  const rows = textRows([['Northside', 'Main St', '222'], vehicle(1), vehicle(2)])
  const { file, records } = await readBook(workbook({ sheets: [{ name: 'Stock', rows }] }))

  expect(file).toMatchObject({ header: null, preamble: ['Northside,Main St,222'], width: 7 })
  expect(records.map(({ line }) => line)).toEqual([2, 3])
})

test('a cell beside the table is reported, and its row is read', async () => {
  const row = (at: number, more = '') =>
    `<row r="${at}"><c t="str"><v>S${at}</v></c><c t="str"><v>Kia</v></c><c><v>${at}</v></c>${more}</row>`
  const rows = Array.from({ length: 400 }, (_, at) => row(at + 2)).join('')
  const sheet = { name: 'Stock', rows: `${names}${rows}${row(402, '<c r="F402"><v>1</v></c>')}` }
  const { records } = await readBook(workbook({ sheets: [sheet], shared }))

  expect(records).toHaveLength(401)
  expect(records[400]).toMatchObject({ cells: ['S402', 'Kia', '402', '', '', '1'] })
  expect(records[400]!.problem).toMatchObject({ code: 'extra-cell', repaired: true })
  expect(records[400]!.problem!.message).toContain('cell F402')
})

test('merged rows are reported, a merged title is not', async () => {
  const rows = `${names}<row r="2"><c t="str"><v>S1</v></c><c t="str"><v>Kia</v></c><c><v>9</v></c></row><row r="3"><c t="str"><v>S2</v></c></row>`
  const after = '<mergeCells><mergeCell ref="A1:A1"/><mergeCell ref="B2:B3"/></mergeCells>'
  const { file } = await readBook(workbook({ sheets: [{ name: 'Stock', rows, after }], shared }))

  expect(file.warnings.map(({ code, line }) => [code, line])).toEqual([['MERGED_CELLS', 2]])
  expect(file.warnings[0]!.message).toContain('B2:B3')
})

test('hidden rows of the list are read and reported, a hidden title is not', async () => {
  const row = (at: number, hidden: string) =>
    `<row r="${at}"${hidden}><c t="str"><v>S${at}</v></c><c t="str"><v>Kia</v></c><c><v>9</v></c></row>`
  const title = '<row r="1" hidden="1"><c t="str"><v>Stock list</v></c></row>'
  const header = names.replaceAll('1"', '2"')
  const list = [3, 4, 5, 6].map((at) => row(at, at === 4 || at === 6 ? ' hidden="1"' : ''))
  const books = [title + header + list.join(''), title + header + row(3, ' hidden="0"')]

  const [some, none] = await Promise.all(
    books.map((rows) => readBook(workbook({ sheets: [{ name: 'Stock', rows }], shared }))),
  )

  expect(some!.records).toHaveLength(4)
  expect(some!.file.warnings).toMatchObject([{ code: 'HIDDEN_ROWS', line: 4 }])
  expect(some!.file.warnings[0]!.message).toContain('hides 2 rows of the list, from row 4 on')
  expect(none!.file.warnings).toEqual([])
})

test.each([
  ['strict namespaces', { isStrict: true }],
  ['a prefix for every element', { prefix: 'x' }],
])('a workbook with %s', async (_, form) => {
  const rows = `${names}<row r="2"><c t="str"><v>S1</v></c><c t="s"><v>4</v></c><c s="1"><v>5</v></c></row>`
  const book = workbook({ sheets: [{ name: 'Stock', rows }], shared, formats: ['000'], ...form })

  expect(await rowsOf(book)).toEqual([
    ['Stock No', 'Make', 'Selling Price'],
    ['S1', ' two blanks  ', '005'],
  ])
})

test('the header again within the list is marked, as in CSV', async () => {
  const rows = textRows([
    ['Stock No', 'Make', 'Price'],
    ['S1', 'Kia', '5'],
    ['Stock No', 'Make', 'Price'],
  ])
  const { records } = await readBook(workbook({ sheets: [{ name: 'Stock', rows }] }))

  expect(records.map(({ problem }) => problem?.code)).toEqual([undefined, 'repeated-header'])
})

test('a row with a formula over several rows is a subtotal, one over its own row is not', async () => {
  const formulas = {
    'SUBTOTAL(9,C2:C3)': true,
    'SUBTOTAL(109,Sheet1!$C$2:$C$3)': true,
    '_xlfn.AGGREGATE(9,5,C2:C3)': true,
    'SUM(C2:C3)': true,
    'SUM(A4:C4)': false,
    'MAX(C2:C3)+1': false,
    'C2*1.1': false,
  }
  for (const [formula, isSubtotal] of Object.entries(formulas)) {
    const row = `<row><c t="inlineStr"><is><t>x</t></is></c><c/><c><f>${formula}</f><v>3</v></c></row>`
    const rows = textRows([...[['Stock No', 'Make', 'Price']], ...[['S1', 'Kia', '1']]]) + row

    const { records } = await readBook(workbook({ sheets: [{ name: 'Sheet1', rows }] }))

    expect(
      records.map((record) => record.isSubtotal ?? false),
      formula,
    ).toEqual([false, isSubtotal])
  }
})

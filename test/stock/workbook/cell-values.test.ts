import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { escapeXml, workbook } from './make-workbook.ts'
import { type TypedBook, typeBook } from './type-book.ts'

/** Formats of each kind that change nothing about the number. */
const formats: readonly string[] = [
  ...['General', '0', '0.00', '#,##0', '#,##0.000', '0.0', '# ##0', '@', '00000000', ';;;'],
  ...['0.00E+00', '##0.0E+0', '# ?/?', '# ??/??', '0%', '0.00%', '0;(0)', '0_);[Red](0)'],
  // Divided by thousands or millions, with and without the word for it.
  ...['0,', '#,##0.00,', '0.0,"k"', '#,##0,"K"', '0.000,,"M"', '0.0,,"m"', '0,"000"'],
  ...['0, "000 km"', '0.0,"tkm"', '0.0,"k km"', '0.00,"L"', '"AED "0.0,"k"', '0.0,%'],
  // Units and currencies.
  ...['"$"#,##0', '[$AED-3801] #,##0.00', '#,##0 "km"', 'General" km"', '#,##0 "inc GST"'],
  '_-"$"* #,##0.00_-;-"$"* #,##0.00_-;_-"$"* "-"??_-;_-@_-',
  // Sections by condition.
  ...['[<1000]0;[<1000000]0.0,"k";0.0,,"M"', '[>=1000]#,##0,"K";0', '[Red][>30000]0;[Blue]0'],
  '[>=10000000]##\\,##\\,##\\,##0;[>=100000]##\\,##\\,##0;##,##0',
  // Separators as literals.
  ...['#\\.##0', '000-0000', '[<=9999999]###-####;(###) ###-####'],
]
/** Formats that show another value than the number, without dividing by it. */
const doubtful: readonly string[] = [
  ...['0"k"', '0.0" k"', '0 "tkm"', '0" 000"', '0 "000 km"', '0\\0\\0\\0', '0"00"', '0 "lakh"'],
]
const dates: readonly string[] = [
  ...['yyyy-mm-dd', 'dd/mm/yyyy', 'm/d/yyyy h:mm', 'd-mmm', 'mmm-yy', 'yy', 'yyyy', 'dddd'],
  ...['h:mm', '[h]:mm', '[$-F800]dddd, mmmm dd, yyyy', 'd/m/yy;@'],
]
const numbers = [18_990, 512.345, 16.093, 1234.5, 45, 250_000, 999.999, 7, 120_701.664]

/** A list with one column of numbers in that format. */
function listOf(values: readonly number[], format: string, date1904 = false): Buffer {
  const rows = values.map(
    (value, at) =>
      `<row><c t="str"><v>S${at}X</v></c><c s="1"><v>${value}</v></c><c t="str"><v>Kia</v></c></row>`,
  )
  const header = '<row>' + ['Stock No', 'Value', 'Make'].map(textCell).join('') + '</row>'
  const sheets = [{ name: 'Stock', rows: header + rows.join('') }]
  return workbook({ sheets, formats: [format], date1904 })
}

function textCell(text: string): string {
  return `<c t="str"><v>${escapeXml(text)}</v></c>`
}

/** The values that the column got in that field. */
function valuesOf({ rows }: TypedBook, field: string): (number | null)[] {
  const columns = { price_asking: 'asking_price', cost: 'cost', odometer: 'odometer' } as const
  return rows.map(({ unit }) => {
    const name = columns[field as keyof typeof columns]
    const value = name === 'odometer' ? unit?.extras['odometer'] : unit?.[name]
    return value == null ? null : Number(value)
  })
}

const fields = someOf(['price_asking', 'odometer', 'cost'] as const, 1)
const maps = (field: string) => ['stock_number=#1', `${field}=#2`, 'make=#3']
const expected = (field: string) =>
  field === 'odometer' ? numbers.map((value) => Math.round(value)) : numbers

test.each(fields)(
  'a number in the field %s is the number of its cell in every format',
  async (field) => {
    const wrong: unknown[] = []
    for (const format of formats)
      for (const date1904 of [false, true]) {
        const book = await typeBook(listOf(numbers, format, date1904), maps(field))
        const found = valuesOf(book, field)
        if (JSON.stringify(found) !== JSON.stringify(expected(field)) || book.questions.length > 0)
          wrong.push([format, found, book.questions.map(({ message }) => message)])
      }

    expect(wrong).toEqual([])
  },
)

test.each(fields)(
  'a format that shows another value than the number is asked about in the field %s',
  async (field) => {
    const wrong: unknown[] = []
    for (const format of [...doubtful, ...dates]) {
      const list = listOf(numbers, format)
      const asked = await typeBook(list, maps(field))
      const readings = asked.questions.flatMap(({ readings = [] }) =>
        readings.map(({ name }) => name),
      )
      const answered = await typeBook(list, maps(`${field}:numbers`))
      const isQuestion = `${readings}` === `${field}:numbers,${field}:shown`
      const found = valuesOf(answered, field)
      const isRight = JSON.stringify(found) === JSON.stringify(expected(field))
      if (!isQuestion || !isRight || answered.questions.length > 0)
        wrong.push([format, readings, found])
    }

    expect(wrong).toEqual([])
  },
)

test('a person may take what such a format shows', async () => {
  const thousands = await typeBook(listOf([45, 16.5], '0.0" k"'), maps('odometer:shown'))
  const dated = await typeBook(listOf([45_000], 'yyyy-mm-dd'), maps('price_asking:shown'))

  expect(valuesOf(thousands, 'odometer')).toEqual([45_000, 16_500])
  expect(thousands.questions).toEqual([])
  expect(dated.rows[0]).toMatchObject({ status: 'rejected', issues: [{ code: 'type-error' }] })
})

test.each(someOf([...fields], 1))(
  'what is stored of the field %s gives the same values as CSV',
  async (field) => {
    const wrong: unknown[] = []
    for (const format of [...formats, ...doubtful, ...dates]) {
      const named = maps(`${field}:numbers`)
      const { cells } = await typeBook(listOf(numbers, format), named)
      // Each row alone, as a rejected one comes back.
      for (const [at, row] of cells.entries()) {
        const again = await typeBook(
          Buffer.from(`Stock No,Value,Make\r\n${row.join(',')}\r\n`),
          named,
        )
        const [found] = valuesOf(again, field)
        if (found !== expected(field)[at]) wrong.push([format, row[1], found])
      }
    }

    expect(wrong).toEqual([])
  },
)

test('a model year is the number of its cell, and the year of a real date', async () => {
  const years = [2012, 1998, 1950, 2026]
  const built = [40_969, 36_000, 45_002]
  const wrong: unknown[] = []
  for (const format of [...formats, ...dates])
    for (const date1904 of [false, true]) {
      const { rows, questions } = await typeBook(
        listOf(years, format, date1904),
        maps('model_year'),
      )
      const found = rows.map(({ unit }) => unit?.model_year)
      if (`${found}` !== `${years}` || questions.length > 0) wrong.push([format, found])
    }
  for (const format of dates) {
    const { rows } = await typeBook(listOf(built, format), maps('model_year'))
    const old = await typeBook(listOf(built, format, true), maps('model_year'))
    const found = [...rows, ...old.rows].map(({ unit }) => unit?.model_year)
    if (`${found}` !== '2012,1998,2023,2016,2002,2027') wrong.push([format, found])
  }

  expect(wrong).toEqual([])
})

test('a day is the whole date of its cell, whatever its format shows, in both calendars', async () => {
  const wrong: unknown[] = []
  for (const format of [...dates, 'General', '0', '0.00', '#,##0'])
    for (const date1904 of [false, true]) {
      const serials = [45_992, 45_992.75, 46_010].map((serial) => serial - (date1904 ? 1462 : 0))
      const { rows } = await typeBook(listOf(serials, format, date1904), maps('received_date'))
      const found = rows.map(({ unit }) => unit?.acquired_on)
      if (`${found}` !== '2025-12-01,2025-12-01,2025-12-19') wrong.push([format, date1904, found])
    }

  expect(wrong).toEqual([])
})

test.each([
  ['00000', ['00123', '01040', '123456']],
  ['"STK-"0000', ['STK-0123', 'STK-1040', 'STK-123456']],
  ['00-000', ['00-123', '01-040', '123-456']],
  ['[<1000]"A"000;"B"0000', ['A123', 'B1040', 'B123456']],
  ['[<=9999]000-0;(000) 000', ['012-3', '104-0', '(123) 456']],
  ['0.0,"k"', ['123', '1040', '123456']],
] as const)('a stock number in the format %s is what a person sees', async (format, shown) => {
  const { rows } = await typeBook(listOf([123, 1040, 123_456], format), [
    ...['stock_number=#2', 'variant=#1', 'make=#3'],
  ])

  expect(rows.map(({ unit }) => unit?.stock_no)).toEqual(shown)
})

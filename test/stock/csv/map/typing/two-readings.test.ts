import { expect, test } from 'vitest'
import { possibleAnswers } from '#src/stock/csv/map/mapping-text.ts'
import type { TypingOptions } from '#src/stock/csv/map/typing/typing-options.ts'
import { escapeXml, workbook } from '../../../workbook/make-workbook.ts'
import { typeBook } from '../../../workbook/type-book.ts'
import { dallas, kuwait, sydney } from '../table.ts'

/** Types a CSV list of one column and answers its questions, if any. */
async function typeCells(field: string, cells: readonly string[], options: TypingOptions = sydney) {
  const rows = cells.map((cell, at) => `S${at}X,"${cell}",Kia`)
  const list = Buffer.from(['Stock No,Value,Make', ...rows, ''].join('\r\n'))
  return await typeBook(list, ['stock_number=#1', `${field}=#2`, 'make=#3'], options)
}

const names = ({ questions }: Awaited<ReturnType<typeof typeCells>>) =>
  questions.flatMap(({ readings = [] }) => readings.map(({ name }) => name))

const fields = ['price_asking', 'cost', 'odometer'] as const

test.each(fields)(
  'cells that contradict each other are asked about in the field %s',
  async (field) => {
    const columns = [
      ['512.345', '527.36'],
      ['527.36', '512.345', '18000'],
      ['12,345', '527,36'],
      ['1.234.567', '512.345', '527.36'],
      ['16.093', '45000', '72000'],
      ['16.093', '45,000'],
      ['16.093', '1,045,000'],
      ['16,093', '1.045.000'],
      ['AED 16.093', 'AED 45.5', 'AED 45000'].map((cell) =>
        field === 'odometer' ? cell.replace('AED ', '') : cell,
      ),
      // Beyond the first hundreds of rows.
      [...Array(600).fill('512.345'), '527.36'],
    ]
    const found = await Promise.all(
      columns.map(async (cells) => names(await typeCells(field, cells))),
    )

    expect(found).toEqual(columns.map(() => [`${field}:decimals`, `${field}:thousands`]))
  },
)

test.each(fields)('cells that agree are not asked about in the field %s', async (field) => {
  const columns = [
    ['512.345', '18.990', '7.500'],
    ['512,345', '18000', '527'],
    ['512,345', '527.36', '10002.5'],
    ['512.345', '527,36', '1.234,50'],
    ['1,234,567', '512,345'],
    ['1.234.567', '512.345', '18000'],
    ['18990', '20000.50', '7'],
    ['512 345', '18 990'],
  ]
  const found = await Promise.all(
    columns.map(async (cells) => names(await typeCells(field, cells))),
  )

  expect(found.flat()).toEqual([])
})

test('a point within a number of thousands is a decimal point, and asked about nowhere', async () => {
  const driven = await typeCells('odometer', ['24.321k', '20.0k', '18.990 tkm'])
  const priced = await typeCells('price_asking', ['18.990k', '24.5k'])

  expect(driven.rows.map(({ unit }) => unit?.odometer_km)).toEqual([24_321, 20_000, 18_990])
  expect(priced.rows.map(({ unit }) => unit?.asking_price)).toEqual(['18990.000', '24500.000'])
  expect([...driven.questions, ...priced.questions]).toEqual([])
})

test('amounts with three decimals are not asked about', async () => {
  const dinars = await typeCells('price_asking', ['8512.345', '512.345', '527.36'], kuwait)

  expect(names(dinars)).toEqual([])
  expect(dinars.rows.map(({ unit }) => unit?.asking_price)).toEqual([
    ...['8512.345', '512.345', '527.360'],
  ])
})

test.each([
  ['decimals', ['512.345', '527.360', '18000.000'], [512, 527, 18_000]],
  ['thousands', ['512345.000', '527.360', '18000.000'], [512_345, 527, 18_000]],
] as const)(
  'the answer %s is used, and nothing more is asked',
  async (reading, prices, distances) => {
    const cells = ['512.345', '527.36', '18000']

    const priced = await typeCells(`price_asking:${reading}`, cells)
    const driven = await typeCells(`odometer:${reading}`, cells)

    expect(priced.rows.map(({ unit }) => unit?.asking_price)).toEqual(prices)
    expect(driven.rows.map(({ unit }) => unit?.odometer_km)).toEqual(distances)
    expect([...priced.questions, ...driven.questions]).toEqual([])
  },
)

test('a question names the column, the cells and both readings', async () => {
  const { questions } = await typeCells('price_asking', ['512.345', '527.36'])

  expect(questions).toMatchObject([{ code: 'TWO_READINGS', maps: ['price_asking:decimals=Value'] }])
  expect(questions[0]!.message).toBe(
    'The column "Value" has "512.345" beside "527.36": 512.345 is either 512.345 (a number with three decimals) or 512345 (thousands).',
  )
})

test('years before 1950 are asked about, from the earliest', async () => {
  const cells = ['2012', '1936', '1949', '1950']

  const asked = await typeCells('model_year', cells)
  const later = await typeCells('model_year:1949', cells)
  const right = await typeCells('model_year:1936', cells)

  expect([names(asked), names(later), names(right)]).toEqual([
    ...[['model_year:1936'], ['model_year:1936'], []],
  ])
  expect(asked.questions[0]!.message).toContain('2 years before 1950, the earliest 1936 ("1936")')
  expect(right.rows.map(({ unit }) => unit?.model_year)).toEqual([2012, 1936, 1949, 1950])
})

test('the year in a title is asked about only where no column holds it', async () => {
  const rows = ['S1X,1934 Ford Coupe Deluxe,2012', 'S2X,2015 Ford Kuga Trend,1990', '']
  const list = Buffer.from(['Stock No,Title,Year', ...rows].join('\r\n'))
  const titles = ['stock_number=#1', 'title_combined=#2']

  const alone = await typeBook(list, [...titles, 'model_year='])
  const beside = await typeBook(list, [...titles, 'model_year=#3'])

  expect([names(alone), names(beside)]).toEqual([['title_combined:1934'], []])
})

test.each([
  ['1905-07-04', sydney],
  ['04/07/1905', sydney],
  ['7/4/1905', dallas],
  ['7/4/1905', sydney],
  ['4-Jul-1905', sydney],
  // In a workbook that counts from 1904.
  ['1909-07-05', sydney],
] as const)('a year that was stored as a date, %s, is asked about', async (cell, options) => {
  const asked = await typeCells('model_year', ['2010', cell], options)
  const stored = await typeCells('model_year:numbers', ['2010', cell], options)
  const [year] = cell.match(/19\d\d/)!
  const meant = await typeCells(`model_year:${year}`, ['2010', cell], options)

  expect(names(asked)).toEqual(['model_year:numbers', `model_year:${year}`])
  expect(asked.questions[0]!.message).toContain('Excel shows the number 2012 so')
  expect(stored.rows.map(({ unit }) => unit?.model_year)).toEqual([2010, 2012])
  expect(meant.rows.map(({ unit }) => unit?.model_year)).toEqual([2010, Number(year)])
  expect([...stored.questions, ...meant.questions]).toEqual([])
})

test('an old car beside years that were stored as dates is asked about by itself', async () => {
  const cells = ['1905-07-04', '1936']

  const first = await typeCells('model_year:numbers', cells)
  const second = await typeCells('model_year:numbers+1936', cells)

  expect(names(first)).toEqual(['model_year:numbers+1936'])
  expect(second.rows.map(({ unit }) => unit?.model_year)).toEqual([2012, 1936])
  expect(second.questions).toEqual([])
})

/** Real dates as serial numbers, texts as they are. */
function datesBook(cells: readonly (number | string)[]): Buffer {
  const cell = (value: number | string) =>
    typeof value === 'number'
      ? `<c s="1"><v>${value}</v></c>`
      : `<c t="str"><v>${escapeXml(value)}</v></c>`
  const rows = cells.map((value, at) => `<row>${cell(`S${at}X`)}${cell(value)}${cell('Kia')}</row>`)
  const header = `<row>${['Stock No', 'Value', 'Make'].map(cell).join('')}</row>`
  return workbook({ sheets: [{ name: 'Stock', rows: header + rows.join('') }], formats: [14] })
}

const dateMaps = (field: string) => ['stock_number=#1', `${field}=#2`, 'make=#3']
const serial = (day: string) => Date.parse(day) / 86_400_000 + 25_569

test.each([
  ['day', ['13/04/2026', '25/04/2026']],
  ['month', ['04/13/2026', '04/25/2026']],
] as const)(
  'dates in which Excel exchanged day and month are asked about, beside texts with the %s first',
  async (_, texts) => {
    // 3 April and 5 June, as Excel made them.
    const book = datesBook([serial('2026-03-04'), ...texts, serial('2026-05-06')])

    const asked = await typeBook(book, dateMaps('received_date'))
    const swapped = await typeBook(book, dateMaps('received_date:swapped'))
    const unswapped = await typeBook(book, dateMaps('received_date:unswapped'))

    const days = (typed: typeof asked) => typed.rows.map(({ unit }) => unit?.acquired_on)
    expect(names(asked)).toEqual(['received_date:swapped', 'received_date:unswapped'])
    expect(asked.questions[0]!.message).toContain('"2026-03-04" is then 3 Apr 2026')
    expect(days(swapped)).toEqual(['2026-04-03', '2026-04-13', '2026-04-25', '2026-06-05'])
    expect(days(unswapped)).toEqual(['2026-03-04', '2026-04-13', '2026-04-25', '2026-05-06'])
    expect([...swapped.questions, ...unswapped.questions]).toEqual([])
    // Alone, and without a question.
    expect(swapped.cells.map(([, cell]) => cell)).toEqual([
      ...['3 Apr 2026', texts[0], texts[1], '5 Jun 2026'],
    ])
  },
)

test('dates that Excel did not exchange are not asked about', async () => {
  const lists = [
    [serial('2026-03-04'), '25/04/2026', serial('2026-05-13')],
    [serial('2026-03-03'), '25/04/2026'],
    [serial('2026-03-04'), serial('2026-05-06')],
    ['03/04/2026', '25/04/2026'],
  ]
  const found = await Promise.all(
    lists.map(async (cells) => names(await typeBook(datesBook(cells), dateMaps('received_date')))),
  )

  expect(found.flat()).toEqual([])
})

test('the answer swapped changes nothing in a later list that Excel left alone', async () => {
  const list = datesBook([serial('2026-03-04'), serial('2026-05-26'), '25/04/2026'])
  const { rows } = await typeBook(list, dateMaps('received_date:swapped'))

  expect(rows.map(({ unit }) => unit?.acquired_on)).toEqual([
    ...['2026-03-04', '2026-05-26', '2026-04-25'],
  ])
})

test('an argument that says how a column is read is the only one of its field', () => {
  const maps = [['price_asking=Adv'], ['price_asking:decimals=Adv'], ['cost=Invoice']]
  const questions = maps.map((own) => ({ code: 'TWO_READINGS' as const, message: '', maps: own }))

  expect(possibleAnswers(questions)).toEqual(['price_asking:decimals=Adv', 'cost=Invoice'])
})

test.each([
  ['25/02/10', sydney, '2025-02-10', '2010-02-25'],
  ['24.11.05', sydney, '2024-11-05', '2005-11-24'],
  ['25-08-24', dallas, '2025-08-24', '2024-08-25'],
] as const)(
  'dates such as %s, which fit with the year first too, are asked about',
  async (text, options, first, last) => {
    const [separator] = text.match(/\D/)!
    const cells = [text, ['25', '01', '31'].join(separator), ['24', '12', '09'].join(separator)]

    const asked = await typeCells('received_date', cells, options)
    const yearFirst = await typeCells('received_date:yearfirst', cells, options)
    const yearLast = await typeCells('received_date:yearlast', cells, options)

    const day = ({ rows }: typeof asked) => rows[0]!.unit?.acquired_on
    expect(names(asked)).toEqual(['received_date:yearfirst', 'received_date:yearlast'])
    expect(asked.questions[0]!.readings![0]!.meaning).toBe(`"${text}" is ${first}`)
    expect([day(yearFirst), day(yearLast)]).toEqual([first, last])
    expect(yearFirst.rows.map(({ unit }) => unit?.acquired_on)).toEqual([
      first,
      ...['2025-01-31', '2024-12-09'],
    ])
    expect([...yearFirst.questions, ...yearLast.questions]).toEqual([])
  },
)

test.each([
  ['a day that cannot be a year', ['25/08/24', '03/08/24', '24/07/25']],
  ['a last number that is not a day', ['25/08/24', '24/07/24', '23/06/00']],
  ['a year of four digits', ['25/08/2024', '24/07/2024', '23/06/2024']],
  ['too few dates', ['25/08/24', '24/07/24']],
  ['a year that is too long ago', ['15/08/24', '14/07/24', '13/06/24']],
])('%s proves that the year is last', async (_, cells) => {
  expect(names(await typeCells('received_date', cells))).toEqual([])
})

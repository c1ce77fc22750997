import { expect, test } from 'vitest'
import { SheetChoiceError } from '#src/stock/workbook/choose-sheet.ts'
import { textRows, workbook } from './make-workbook.ts'
import { readBook, refusalOf, rowsOf } from './read-book.ts'

const list = (make: string) =>
  textRows([
    ['Stock No', 'Make', 'Price'],
    ['S1', make, '5'],
  ])
const notes = textRows([['Ring the workshop'], ['before noon']])
const rates = textRows([
  ['day', 'rate'],
  ['1', '0.65'],
])

test('hidden sheets, notes and other tables are passed over', async () => {
  const book = workbook({
    sheets: [
      { name: 'Notes', rows: notes },
      { name: 'Old', state: 'hidden', rows: list('Ford') },
      { name: 'Rates', rows: rates },
      { name: 'Older', state: 'veryHidden', rows: list('Ford') },
      { name: 'Used', rows: list('Kia') },
    ],
  })

  expect((await readBook(book)).file.origin).toEqual({ sheet: 'Used', entry: null })
})

test('where no header is known, the only sheet with a table is read', async () => {
  const sheets = [
    { name: 'Notes', rows: notes },
    { name: 'Rates', rows: rates },
  ]

  expect((await readBook(workbook({ sheets }))).file.origin?.sheet).toBe('Rates')
})

test('where several sheets may be the list, the user chooses, also a hidden one', async () => {
  const book = workbook({
    sheets: [
      { name: 'Used', rows: list('Kia') },
      { name: 'New &amp; demo', rows: list('Ford') },
      { name: 'Sold', state: 'hidden', rows: list('Jeep') },
    ],
  })

  const refusal = await refusalOf(book)

  expect(refusal).toBeInstanceOf(SheetChoiceError)
  expect((refusal as SheetChoiceError).sheets).toEqual(['Used', 'New & demo', 'Used/New & demo'])
  expect(refusal.message).toContain('--sheet <name>: "Used", "New & demo"')
  expect((await rowsOf(book, { sheet: 'new & DEMO ' }))[1]).toEqual(['S1', 'Ford', '5'])
  expect((await rowsOf(book, { sheet: 'Sold' }))[1]).toEqual(['S1', 'Jeep', '5'])
  expect((await refusalOf(book, { sheet: 'Demo' })).message).toContain(
    'has no sheet "Demo". Choose one with --sheet <name>: "Used", "New & demo", "Sold"',
  )
})

test('a workbook whose sheets are all hidden, or empty', async () => {
  const hidden = workbook({ sheets: [{ name: 'Old', state: 'hidden', rows: list('Kia') }] })
  const empty = workbook({
    sheets: [{ name: 'Stock', rows: '<row r="1"><c r="A1" s="0"/></row>' }],
  })

  expect((await refusalOf(hidden)).message).toContain(
    'may have the list on a hidden sheet. Choose one with --sheet <name>: "Old"',
  )
  expect((await refusalOf(empty)).message).toContain('the sheet "Stock" of the workbook is empty')
})

test('options for the other kind of file are refused', async () => {
  const book = workbook({ sheets: [{ name: 'Used', rows: list('Kia') }] })

  expect((await refusalOf(Buffer.from('a,b\n1,2\n'), { sheet: 'Used' })).message).toContain(
    'a text file: leave it out',
  )
  expect((await refusalOf(book, { delimiter: ';' })).message).toContain(
    'this is a workbook: leave them out',
  )
})

const header = ['Stock No', 'Make', 'Model', 'Price']
const cars = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => [`S${from + at}`, 'Kia', 'Rio', `${10_000 + at}`])
const sheetOf = (name: string, rows: readonly (readonly string[])[], state?: 'hidden') => ({
  ...{ name, rows: textRows(rows) },
  ...(state === undefined ? {} : { state }),
})

test('sheets with vehicles that are not read are named with their rows, hidden ones and those without a header too', async () => {
  const book = workbook({
    sheets: [
      sheetOf('Stock', [header, ...cars(1, 3)]),
      sheetOf("The dealer's $", cars(11, 2)),
      sheetOf('Old', [header, ...cars(21, 5)], 'hidden'),
      sheetOf('Makes', [['Makes'], ['Kia'], ['Ford']], 'hidden'),
      sheetOf('Notes', [['Ring the workshop']]),
    ],
  })

  const { file, records } = await readBook(book)

  expect(records).toHaveLength(3)
  expect(file.warnings.map(({ code }) => code)).toEqual(['SHEET_NOT_READ', 'SHEET_NOT_READ'])
  expect(file.warnings[0]!.message).toContain(
    'the sheet "The dealer\'s $" has 2 rows of vehicles that were not',
  )
  expect(file.warnings[0]!.advice).toBe("--sheet 'The dealer'\\''s $' reads it")
  expect(file.warnings[1]!.message).toContain('the hidden sheet "Old" has 5 rows of vehicles')
})

test('a hidden sheet that has the list is named where the visible ones have none', async () => {
  const cover = [['Dealer'], ['Stock list'], ['of', 'November']]
  const book = workbook({
    sheets: [sheetOf('Cover', cover), sheetOf('Stock', [header, ...cars(1, 3)], 'hidden')],
  })

  expect((await refusalOf(book)).message).toContain(
    'a hidden sheet. Choose one with --sheet <name>: "Stock"',
  )
  expect((await readBook(book, { sheet: 'Stock' })).records).toHaveLength(3)
})

test('sheets with one header are read as one list, with their titles and headers in it', async () => {
  const book = workbook({
    sheets: [
      sheetOf('New', [header, ...cars(1, 3)]),
      sheetOf('Used', [
        ['Used cars'],
        header.map((name) => ` ${name.toUpperCase()}`),
        ...cars(11, 2),
      ]),
      sheetOf('Sold', [header, ...cars(21, 1)]),
      sheetOf('Other', [header.toReversed(), ...cars(31, 1)]),
    ],
  })

  const refusal = (await refusalOf(book)) as SheetChoiceError
  const { file, records } = await readBook(book, { sheet: 'New/Used' })

  expect(refusal.sheets).toEqual(['New', 'Used', 'Sold', 'Other', 'New/Used'])
  expect(file.origin?.sheet).toBe('New/Used')
  expect(records.map(({ line, cells, problem }) => `${line} ${problem?.code ?? cells[0]}`)).toEqual(
    [
      ...[
        '2 S1',
        '3 S2',
        '4 S3',
        '5 sheet Used',
        '6 Used cars',
        '7 repeated-header',
        '8 S11',
        '9 S12',
      ],
    ],
  )
  expect(file.warnings.map(({ message }) => message)).toContain(
    'the sheet "Used" follows in the same list: line 6 is its row 1',
  )
  expect((await refusalOf(book, { sheet: 'New/Other' })).message).toContain(
    'do not have the same header',
  )
})

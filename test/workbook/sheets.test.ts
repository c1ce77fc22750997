import { expect, test } from 'vitest'
import { SheetChoiceError } from '#src/workbook/choose-sheet.ts'
import { readBook, refusalOf, rowsOf } from './read-book.ts'
import { textRows, workbook } from './make-workbook.ts'

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
  expect((refusal as SheetChoiceError).sheets).toEqual(['Used', 'New & demo'])
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

  expect((await refusalOf(hidden)).message).toContain('all sheets of the workbook are hidden')
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

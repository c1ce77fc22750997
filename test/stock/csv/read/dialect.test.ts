import { expect, test } from 'vitest'
import { readAll } from './read-all.ts'

const rows = [
  ['Stock', 'Make', 'Price', 'Note'],
  ['A1', 'Kia', '12,5', 'one; two | three'],
  ['A2', 'Land Rover', '1.300,50', 'none'],
]

test.each([',', ';', '\t', '|', ', '])('columns separated by %j are found', async (delimiter) => {
  const text = rows
    .map((cells) => cells.map((cell) => (/[,;|]/.test(cell) ? `"${cell}"` : cell)).join(delimiter))
    .join('\n')

  const { file, records } = await readAll(text)

  expect(file.dialect.delimiter).toBe(delimiter)
  expect([file.header?.names, ...records.map(({ cells }) => cells)]).toEqual(rows)
})

test('columns separated by blanks are found, and a column of words is not split', async () => {
  const parted = await readAll('Stock Year Price\nA1 2019 900\nA2 2020 800\n')
  const words = await readAll('Name\nJohn Smith\nMary Jones\nBob Brown\n')

  expect(parted.file.dialect.delimiter).toBe(' ')
  expect(words.file.width).toBe(1)
  expect(words.records[0]?.cells).toEqual(['John Smith'])
})

test('decimal commas are not delimiters if semicolons are', async () => {
  const { file, records } = await readAll('a;b\n1,5;2,5\n3,5;4,5\n')

  expect(file.dialect.delimiter).toBe(';')
  expect(records[0]?.cells).toEqual(['1,5', '2,5'])
})

test.each([
  ['sep=;\n', ';'],
  ['"sep=;"\r\n', ';'],
  ['SEP=\t\n', '\t'],
] as const)('Excel’s hint %j is followed, and is not a row', async (hint, delimiter) => {
  const { file, records } = await readAll(
    `${hint}Stock${delimiter}Make,Model\nA1${delimiter}Kia,Rio\n`,
  )

  expect(file.dialect).toMatchObject({ sepLine: true, delimiter })
  expect(file.header).toMatchObject({ line: 2, names: ['Stock', 'Make,Model'] })
  expect(file.preamble).toEqual([])
  expect(records).toEqual([{ line: 3, cells: ['A1', 'Kia,Rio'], raw: `A1${delimiter}Kia,Rio` }])
})

test('apostrophes are quotes around cells, and text within words', async () => {
  const quoted = await readAll("'Stock','Note'\n'A1','Ranger, the King''s'\n'A2','x'\n")
  const text = await readAll("Stock,Note\nA1,King's\nA2,'tis new\n")

  expect(quoted.file.dialect.quote).toBe("'")
  expect(quoted.records[0]?.cells).toEqual(['A1', "Ranger, the King's"])
  expect(text.file.dialect.quote).toBe('"')
  expect(text.records.map(({ cells }) => cells[1])).toEqual(["King's", "'tis new"])
})

test('a backslash before a quote is an escape, and before anything else is text', async () => {
  const text =
    'Stock,Note\nA1,"18\\" rims, C:\\new"\nA2,"plain, \\\'text\\\'"\nA3,"6\\" screen, big"\n'

  const { file, records } = await readAll(text)

  expect(file.dialect.escape).toBe('\\')
  expect(records.map(({ cells }) => cells[1])).toEqual([
    '18" rims, C:\\new',
    "plain, \\'text\\'",
    '6" screen, big',
  ])
})

test.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const)('%s ends lines, and a quoted line break does not', async (lineEnd, end) => {
  const text = ['Stock,Note', 'A1,"two\nlines"', 'A2,x', ''].join(end)

  const { file, records } = await readAll(text)

  expect(file.dialect.lineEnd).toBe(lineEnd)
  expect(records.map(({ cells }) => cells)).toEqual([
    ['A1', 'two\nlines'],
    ['A2', 'x'],
  ])
  expect(records.map(({ raw }) => raw)).toEqual(['A1,"two\nlines"', 'A2,x'])
})

test('rows with another line end than most are rows too', async () => {
  const { records } = await readAll('Stock,Make\r\nA1,Kia\nA2,Ford\r\nA3,BMW\n')

  expect(records.map(({ cells }) => cells[1])).toEqual(['Kia', 'Ford', 'BMW'])
})

test("the user's delimiter overrides the detected one", async () => {
  const { file } = await readAll('a;b,c\n1;2,3\n', { delimiter: ';' })

  expect(file.header?.names).toEqual(['a', 'b,c'])
})

test('a blank between a closing quote and the delimiter is not part of the cell', async () => {
  const { records } = await readAll('Stock,Note,Price\nA1,"one, two" ,900\nA2,"x" ,800\n')

  expect(records.map(({ cells }) => cells)).toEqual([
    ['A1', 'one, two', '900'],
    ['A2', 'x', '800'],
  ])
})

import { expect, test } from 'vitest'
import { problemsOf, readAll } from './read-all.ts'

const head = 'Stock,Make,Price,Date In,Note\n'
const sound = Array.from(
  { length: 8 },
  (_, row) => `A${row},Kia,9${row}0,1${row}/05/2025,"ok, new"\n`,
)
const table = head + sound.join('')

async function lastOf(row: string) {
  const { records } = await readAll(`${table}${row}\n`)
  return records.at(-1)
}

test('a price with an unquoted comma is joined again, with an issue', async () => {
  const record = await lastOf('B1,Kia,12,990,11/05/2025,"ok, new"')

  expect(record).toMatchObject({
    line: 10,
    cells: ['B1', 'Kia', '12,990', '11/05/2025', 'ok, new'],
    raw: 'B1,Kia,12,990,11/05/2025,"ok, new"',
    problem: { code: 'extra-cell', repaired: true },
  })
})

test('an ambiguous row keeps its cells, and none is shifted', async () => {
  const record = await lastOf('B1,Kia,Rio,Sport,11/05/2025,"ok, new"')

  expect(record?.cells).toHaveLength(6)
  expect(record?.problem).toMatchObject({ code: 'extra-cell', repaired: false })
})

test('a missing delimiter is never added at the end of the row', async () => {
  const record = await lastOf('B1,Kia900,11/05/2025,"ok, new"')

  expect(record?.cells).toEqual(['B1', 'Kia900', '11/05/2025', 'ok, new'])
  expect(record?.problem).toMatchObject({ code: 'missing-cell', repaired: false })
})

test('a missing delimiter beside a quoted cell is added', async () => {
  const record = await lastOf('B1,Kia,900,11/05/2025"ok, new"')

  expect(record?.cells).toEqual(['B1', 'Kia', '900', '11/05/2025', 'ok, new'])
  expect(record?.problem).toMatchObject({ code: 'missing-cell', repaired: true })
})

test('a row with another delimiter is read with that one', async () => {
  const record = await lastOf('B1;Kia;900;11/05/2025;"ok, new"')

  expect(record?.cells).toEqual(['B1', 'Kia', '900', '11/05/2025', 'ok, new'])
  expect(record?.problem).toMatchObject({ repaired: true })
})

test('rows without their empty last cells are filled up if many are written that way', async () => {
  const short = [
    'A1,Kia,900,x,y',
    'A2,Kia,800',
    'A3,Ford,700,x',
    'A4,Kia,600',
    'A5,Kia,500',
    'A6,BMW,1',
  ]

  const outcome = await readAll(`Stock,Make,Price,Note,More\n${short.join('\n')}\n`)

  expect(outcome.records[1]?.cells).toEqual(['A2', 'Kia', '800', '', ''])
  expect(problemsOf(outcome)).toEqual(
    [3, 4, 5, 6, 7].map((line) => `${line} missing-cell, repaired`),
  )
})

test('an inch mark in an unquoted cell is text', async () => {
  const record = await lastOf('B1,Kia,900,11/05/2025,18" alloys')

  expect(record?.cells[4]).toBe('18" alloys')
  expect(record?.problem).toMatchObject({ code: 'stray-quote', repaired: true })
})

test('an unclosed quote damages its own row, not those below', async () => {
  const outcome = await readAll(`${head}B1,"Kia,900,11/05/2025,ok\n${sound.join('')}`)

  expect(outcome.records).toHaveLength(9)
  expect(outcome.records[0]?.cells).toEqual(['B1', '"Kia', '900', '11/05/2025', 'ok'])
  expect(outcome.records[8]).toMatchObject({
    line: 10,
    cells: ['A7', 'Kia', '970', '17/05/2025', 'ok, new'],
  })
  expect(problemsOf(outcome).map((problem) => problem.split(',')[0])).toEqual(['2 stray-quote'])
})

test('a quote that swallows megabytes is detected in constant memory', async () => {
  const rows = Array.from({ length: 60_000 }, (_, row) => `A${row},Kia,900\n`)

  const outcome = await readAll(
    `Stock,Make,Price\n${'A,Kia,900\n'.repeat(9)}B,"Big,900\n${rows.join('')}`,
    { maxCellBytes: 100_000 },
  )

  expect(outcome.records).toHaveLength(60_010)
  expect(outcome.records.at(-1)).toEqual({
    line: 60_011,
    cells: ['A59999', 'Kia', '900'],
    raw: 'A59999,Kia,900',
  })
  expect(problemsOf(outcome)).toHaveLength(1)
})

test.each(['A9,Ford,800,12/05/2025,"Long, unfin', 'A9,Ford,800,12/05/2025,"Long\nunfin'])(
  'a file that is cut within a quoted cell has an issue on its last record',
  async (cut) => {
    const outcome = await readAll(table + cut)

    expect(outcome.records).toHaveLength(9)
    expect(outcome.records.at(-1)?.raw).toBe(cut)
    expect(problemsOf(outcome)).toEqual(['10 truncated-value'])
    expect(outcome.file.warnings).toMatchObject([{ code: 'TRUNCATED_FILE', line: 10 }])
  },
)

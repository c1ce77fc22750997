import { expect, test } from 'vitest'
import { readAll } from './read-all.ts'

const header = 'Stock Number,VIN,Make,Price'
const row = (index: number) => `S${index},JTDBR32E03000000${index},Toyota,${20_000 + index}`

/** Ten records; the lines end with each of `ends` in rotation. */
function listWith(ends: readonly string[], rows = 10): string {
  const lines = [header, ...Array.from({ length: rows }, (_, index) => row(index))]
  return lines.map((line, index) => line + ends[index % ends.length]).join('')
}

test.for([
  [['\r\n', '\r']],
  [['\r', '\n']],
  [['\r\n', '\r\n', '\r\n', '\r']],
  [['\r', '\r', '\r', '\r\n']],
  [['\n', '\r\n', '\r']],
])('lines that end with %j in turn are records of their own', async ([ends]) => {
  const { file, records } = await readAll(listWith(ends!))

  expect(file.header?.names).toEqual(header.split(','))
  expect(records.map(({ cells }) => cells.join(','))).toEqual(
    Array.from({ length: 10 }, (_, index) => row(index)),
  )
  expect(records.filter(({ problem }) => problem)).toEqual([])
})

test('a long list of mixed line ends is read the same with any chunks', async () => {
  const list = listWith(['\r\n', '\r', '\n'], 9_000)

  const { records } = await readAll(list)

  expect(records).toHaveLength(9_000)
  expect(records.at(-1)!.cells[0]).toBe('S8999')
})

test('a CR within a cell does not end a record', async () => {
  const notes = Array.from({ length: 6 }, (_, index) => `S${index},one owner\rfull history,20000`)

  const { records } = await readAll(['Stock,Notes,Price', ...notes, ''].join('\r\n'))

  expect(records.map(({ cells }) => cells[1])).toEqual(Array(6).fill('one owner\rfull history'))
})

import { expect, test } from 'vitest'
import { isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { readAll } from './read-all.ts'

const header = 'Stock No,VIN,Make,Model,Year,Kms,Price,Notes'
const titles = [
  '=HYPERLINK("http://x","y"),,',
  'Cars,=HYPERLINK("http://x";"y")',
  '"Best" stock,,',
  '"Best stock',
  'Our 5" list,,',
]
const notes = ['x', '"x, y"', '"two\nlines"', '"a ""good"" one"']

test.for(titles.flatMap((title) => notes.map((note) => [title, note] as const)))(
  'the title %s above rows with the note %s swallows neither the header nor a row',
  async ([title, note]) => {
    const rows = Array.from(
      { length: 5 },
      (_, at) => `A${at},JTMDFREV70000000${at},Toyota,RAV4,2019,5000${at},2000${at},${note}`,
    )
    const text = ['My list', title, '', header, ...rows, ''].join('\r\n')

    const { file, records } = await readAll(text, { isKnownName: isKnownHeader })

    expect(file.header).toMatchObject({ line: 4, names: header.split(',') })
    expect(file.preamble).toEqual(['My list', title, ''])
    expect(records.map(({ cells, problem }) => [cells[0], cells.length, problem])).toEqual(
      rows.map((_, at) => [`A${at}`, 8, undefined]),
    )
    const height = note.split('\n').length
    expect(records.map(({ line }) => line)).toEqual(rows.map((_, at) => 5 + at * height))
  },
)

import { expect, test } from 'vitest'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { parseOverrides } from '#src/stock/csv/map/overrides.ts'
import { soldQuestions } from '#src/stock/csv/map/sold-questions.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import { isUnavailable } from '#src/stock/csv/map/typing/sold-words.ts'
import { stockNumbers, sydney } from './table.ts'

/** A list of twelve cars whose status is one of these; what is asked, and how its rows are typed. */
function listWith(header: string, statuses: readonly string[], maps: readonly string[] = []) {
  const names = ['Stock No', 'Make', 'Price', header]
  const rows = stockNumbers.map((number, at) => [
    ...[number, 'Kia', String(15_000 + at * 10)],
    statuses[at % statuses.length]!,
  ])
  const mapping = proposeMapping(names, rows, { overrides: parseOverrides(maps, names) })
  const records = rows.map((cells, at) => ({ line: at + 2, cells, raw: cells.join(',') }))
  const type = rowTyper(mapping, startStyles(mapping, sydney).styles())
  const typed = records.map(type)
  return {
    questions: soldQuestions(mapping, records),
    inStock: typed.filter(({ status }) => status === 'accepted').length,
  }
}

test.each([
  ['Availability', ['NOT_AVAILABLE', 'AVAILABLE', 'AVAILABLE']],
  ['Availability', ['out_of_stock', 'in_stock', 'in_stock']],
  ['Status', ['Withdrawn', 'In stock', 'Reserved']],
  ['Sale Status', ['Transferred', 'In stock', 'Under offer']],
  ['Stock Status', ['SLD', 'AVL', 'AVL']],
  ['Status', ['SND', 'AVL', 'AVL']],
  ['Status', ['S', 'A', 'R']],
  ['Status', ['Contracted', 'In stock', 'Under offer']],
  ['Status', ['Retail Sold', 'In stock', 'To be sold']],
  ['Status', ['Pre-sold', 'In stock', 'Unsold']],
  ['Active', ['N', 'Y', 'Y']],
] as const)(
  'a column %s with %j is asked about, and the answer takes those cars off the stock',
  (header, statuses) => {
    const asked = listWith(header, statuses)
    const [question] = asked.questions
    const accepted = listWith(header, statuses, [`available=${header}`])
    const declined = listWith(header, statuses, ['available='])

    expect(question?.maps).toEqual([`available=${header}`])
    expect(question?.message).toContain(`4 of 12 vehicles may be for sale no longer`)
    expect([accepted.inStock, accepted.questions]).toEqual([8, []])
    expect([declined.inStock, declined.questions]).toEqual([12, []])
  },
)

test.each([
  ['Status', ['In stock', 'Reserved', 'Workshop', 'In transit', 'Under offer', 'Loan car']],
  ['Status', ['Sold', 'In stock']],
  ['Active', ['Yes', 'Yes']],
  ['Reserved', ['No', 'Yes']],
] as const)('a column %s with %j is not asked about', (header, statuses) => {
  expect(listWith(header, statuses).questions).toEqual([])
})

test.each(['Del Date', 'Del. Date', "Del'd", 'Dlvd'])(
  'a column %s that few cars have is asked about',
  (header) => {
    const { questions } = listWith(header, ['05/03/2026', '', ''])

    expect(questions[0]?.maps).toEqual([`sold=${header}`])
  },
)

test('a column Sold Price that few cars have is asked about', () => {
  expect(listWith('Sold Price', ['14500', '', '']).questions[0]?.maps).toEqual(['sold=Sold Price'])
})

test('N in a status may mean New, and in a column called Active it is a no', () => {
  expect(['Stock Status', 'Active', 'In stock'].map((name) => isUnavailable('N', name))).toEqual([
    ...[false, true, true],
  ])
})

import { expect, test } from 'vitest'
import { proposeMapping } from '#src/stock/csv/map/mapping.ts'
import { withOtherHeaders } from '#src/stock/csv/map/other-headers.ts'
import { withSoldBlocks } from '#src/stock/csv/map/sold-blocks.ts'
import { startStyles } from '#src/stock/csv/map/typing/column-styles.ts'
import { rowTyper } from '#src/stock/csv/map/typing/row.ts'
import { readBook } from '../../workbook/read-book.ts'
import { sydney } from './table.ts'

const names = ['Stock No', 'Make', 'Model', 'Year', 'Odometer', 'Price']
const car = (at: number) => [
  ...[`U${1001 + at}`, 'Kia', 'Rio', '2019', String(45_000 + at), String(18_000 + at)],
]
const cars = [0, 1, 2, 3, 4].map(car)
const title = (text: string) => names.map((_, at) => (at === 0 ? text : ''))

/** Types a list with a second header and more rows; gives what is below the first table. */
async function below(header: readonly string[], rows: readonly (readonly string[])[]) {
  const lines = [names, ...cars, title('NEW CARS'), header, ...rows].map((cells) => cells.join(','))
  const { file, records } = await readBook(Buffer.from([...lines, ''].join('\r\n')))
  const batches = (async function* () {
    yield records
  })()
  const mapping = proposeMapping(names, cars)
  const type = rowTyper(mapping, startStyles(mapping, sydney).styles())
  const typed = []
  for await (const batch of withOtherHeaders({ ...file, batches }).batches)
    typed.push(...batch.map(type))
  return typed.slice(cars.length + 1)
}

test.each([
  ['price and odometer exchanged', ['Stock No', 'Make', 'Model', 'Year', 'Price', 'Kms']],
  ['another column in place of the odometer', ['Stock #', 'Make', 'Model', 'Yr', 'RRP', 'Price']],
  ['a column more', ['Stock No', 'VIN', 'Make', 'Model', 'Year', 'Price']],
])('rows below a header with %s are rejected, until the list goes on', async (_, header) => {
  const rows = [
    car(7),
    ['U1009', 'Kia', 'Rio', '2024', '31990', '12'],
    title('Notes'),
    names,
    car(9),
  ]

  const typed = await below(header, rows)

  expect(typed.map(({ status }) => status)).toEqual([
    ...['skipped', 'rejected', 'rejected', 'skipped', 'skipped', 'accepted'],
  ])
  expect(typed[0]!.issues[0]!.hint).toBe('a header with other columns')
  expect(typed[1]).toMatchObject({ key: { stockNo: 'U1008' }, issues: [{ code: 'OTHER_HEADER' }] })
  expect(typed[1]!.issues[0]!.hint).toContain('the header at line 8 has other columns')
})

test.each([
  ['the same names', names],
  ['other names of the same columns', ['Stock #', 'Make', 'Model', 'Yr', 'Kms', 'Our Price']],
  ['names of other cases', names.map((name) => ` ${name.toUpperCase()}`)],
  ['fewer names', ['Stock No', 'Make', 'Model', '', '', 'Price']],
  ['a name that is not known', ['Stock No', 'Make', 'Model', 'Year', 'Clock', 'Price']],
  ['another name over the model', ['Stock No', 'Make', 'Colour', 'Year', 'Odometer', 'Price']],
])('rows below a header with %s are vehicles', async (_, header) => {
  const typed = await below(header, [car(7), car(8)])

  expect(typed.map(({ status }) => status)).toEqual(['skipped', 'accepted', 'accepted'])
})

test('a car below a header with other columns is sold where a title says so', async () => {
  const header = ['Stock No', 'Make', 'Model', 'Year', 'Price', 'Date Sold']
  const { file, records } = await readBook(
    Buffer.from(
      [names, ...cars, title('SOLD'), header, car(7)].map((cells) => cells.join(',')).join('\r\n'),
    ),
  )
  const batches = (async function* () {
    yield records
  })()
  const mapping = proposeMapping(names, cars)
  const type = rowTyper(mapping, startStyles(mapping, sydney).styles())
  const typed = []
  for await (const batch of withOtherHeaders(withSoldBlocks({ ...file, batches })).batches)
    typed.push(...batch.map(type))

  expect(typed.at(-1)).toMatchObject({
    status: 'skipped',
    hasLeft: true,
    key: { stockNo: 'U1008' },
  })
})

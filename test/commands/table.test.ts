import { expect, test } from 'vitest'
import { table } from '#src/commands/table.ts'

test('columns are lined up by the width that a terminal shows', () => {
  const rows = [
    ['北京汽车', 12],
    ['سيارات', 3_000],
    ['Zoë 🚗', 7],
  ]

  expect(table(['rooftop', 'count'], rows)).toEqual([
    '  rooftop   count',
    '  北京汽车     12',
    '  سيارات    3,000',
    '  Zoë 🚗        7',
  ])
})

import { expect, test } from 'vitest'
import { table } from '#src/app/commands/table.ts'

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

test('on a terminal that is too narrow, each row is a block of lines that fit', () => {
  const headings = ['rooftop', 'stream', 'covered to (UTC)', 'error', 'missing']
  const rows = [
    ['Harbour City Sydney', 'evaluations', '2026-03-10 02:00', '', 1_200],
    ['北京汽车', 'users', '-', 'the key was refused: put a new one into the config', 0],
  ]

  expect(table(headings, rows, 120)).toHaveLength(3)
  expect(table(headings, rows, 50)).toEqual([
    '  rooftop: Harbour City Sydney',
    '    stream: evaluations',
    '    covered to (UTC): 2026-03-10 02:00',
    '    missing: 1,200',
    '  rooftop: 北京汽车',
    '    stream: users, error: the key was refused:',
    '      put a new one into the config, missing: 0',
  ])
  expect(table(headings, rows, 60).every((line) => line.length < 60)).toBe(true)
})

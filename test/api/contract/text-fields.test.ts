import { expect, test } from 'vitest'
import { z } from 'zod'
import { fromText, textKind } from '#src/api/contract/text-fields.ts'

const fields = z.strictObject({
  count: z.int().optional(),
  pin: z.int().nullable(),
  on: z.boolean().default(false),
  ids: z.union([z.array(z.int()), z.string()]),
  object: z.record(z.string(), z.string()).optional(),
  day: z.iso.date().optional(),
})

test('a kind is found through whatever a field is wrapped in', () => {
  const kinds = Object.entries(fields.shape).map(([name, field]) => [name, textKind(field)])

  expect(Object.fromEntries(kinds)).toEqual({
    count: 'number',
    pin: 'number',
    on: 'boolean',
    ids: 'list',
    object: 'object',
    day: 'text',
  })
})

test.each([
  [{ count: '12' }, { count: 12 }],
  [{ count: '-3.5' }, { count: -3.5 }],
  [{ count: '1e3' }, { count: '1e3' }],
  [{ count: '' }, { count: '' }],
  [{ pin: 'null' }, { pin: null }],
  [{ on: 'TRUE' }, { on: true }],
  [{ on: '0' }, { on: false }],
  [{ on: 'yes' }, { on: 'yes' }],
  [{ ids: '3, 1,2' }, { ids: [3, 1, 2] }],
  [{ ids: '[3,1]' }, { ids: [3, 1] }],
  [{ ids: 'a,b' }, { ids: ['a', 'b'] }],
  [{ object: '{"a":"b"}' }, { object: { a: 'b' } }],
  [{ object: '{' }, { object: '{' }],
  [{ day: '2026-01-02' }, { day: '2026-01-02' }],
  [
    { unknown: '7', constructor: '8' },
    { unknown: '7', constructor: '8' },
  ],
])('%j is read as %j', (texts, expected) => {
  expect(fromText(fields, texts)).toEqual(expected)
})

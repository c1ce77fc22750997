import { expect, test } from 'vitest'
import { valueAt } from '#src/values/json-path.ts'

test.each<[string, unknown, unknown]>([
  ['the first candidate that is present', { old: 1, new: 2 }, 1],
  ['null does not hide a later candidate', { old: null, new: 2 }, 2],
  ['0 and an empty text are present', { old: 0, new: 2 }, 0],
  ['null where no candidate has more', { old: null }, null],
  ['undefined where there is none', {}, undefined],
])('%s', (_, body, expected) => {
  expect(valueAt(body, ['old', 'new'])).toBe(expected)
})

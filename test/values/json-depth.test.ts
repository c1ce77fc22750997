import { expect, test } from 'vitest'
import { isTooDeep, maxJsonDepth, prunedJson } from '#src/values/json-depth.ts'

const nested = (depth: number): unknown =>
  JSON.parse('{"a":['.repeat(depth / 2) + '1' + ']}'.repeat(depth / 2))

test.each([
  [0, false],
  [2, false],
  [maxJsonDepth, false],
  [maxJsonDepth + 2, true],
  [400_000, true],
])('a value that is nested %d deep is too deep: %s', (depth, expected) => {
  expect(isTooDeep(nested(depth))).toBe(expected)
})

test('what is nested too deeply is left out, and nothing else', () => {
  const value = { shallow: [1, { b: null }], deep: nested(200_000) }

  const pruned = prunedJson(value) as typeof value

  expect(pruned.shallow).toEqual(value.shallow)
  expect(isTooDeep(pruned)).toBe(false)
  expect(JSON.stringify(pruned)).toContain('[nested too deeply]')
})

test('a value that fits stays the same object', () => {
  const value = nested(maxJsonDepth)

  expect(prunedJson(value)).toBe(value)
})

import { expect, test } from 'vitest'
import { BloomFilter } from '#src/stock/import/bloom-filter.ts'

test('a name that was there is never taken for a new one, and few new ones for one that was', () => {
  const before = new BloomFilter()
  const names = Array.from({ length: 200_000 }, (_, index) => `S${1_000_000 + index}`)

  const taken = names.filter((name) => before.testAndAdd(name)).length

  expect(taken).toBeLessThan(1000)
  expect(names.every((name) => before.testAndAdd(name))).toBe(true)
})

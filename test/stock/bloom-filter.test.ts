import { expect, test } from 'vitest'
import { BloomFilter } from '#src/stock/import/stage.ts'

test('an added name is always found, and new names are seldom false positives', () => {
  const filter = new BloomFilter()
  const names = Array.from({ length: 200_000 }, (_, index) => `S${1_000_000 + index}`)

  const falsePositives = names.filter((name) => filter.testAndAdd(name)).length

  expect(falsePositives).toBeLessThan(1000)
  expect(names.every((name) => filter.testAndAdd(name))).toBe(true)
})

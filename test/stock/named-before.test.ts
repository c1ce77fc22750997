import { expect, test } from 'vitest'
import { NamedBefore } from '#src/stock/import/named-before.ts'

test('a name that was there is never taken for a new one, and few new ones for one that was', () => {
  const before = new NamedBefore()
  const names = Array.from({ length: 200_000 }, (_, index) => `S${1_000_000 + index}`)

  const taken = names.filter((name) => before.mayHave(name)).length

  expect(taken).toBeLessThan(1000)
  expect(names.every((name) => before.mayHave(name))).toBe(true)
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs, faultBackoff, throttleBackoff } from '#src/api/sources/status-rules.ts'

const settings = { baseMs: 250, capMs: 30_000 }

test('every wait is a whole number between 0 and the doubled base, never above the cap', () => {
  const retry = fc.integer({ min: 1, max: 1000 })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(retry, random, (n, r) => {
      const wait = backoffMs(n, settings, () => r)

      expect(Number.isInteger(wait)).toBe(true)
      expect(wait).toBeGreaterThanOrEqual(0)
      expect(wait).toBeLessThanOrEqual(Math.min(30_000, 250 * 2 ** (n - 1)))
    }),
  )
})

test('the jitter is full: it reaches both ends', () => {
  expect(backoffMs(3, settings, () => 0)).toBe(0)
  expect(backoffMs(3, settings, () => 0.999_999)).toBe(1000)
  expect(backoffMs(50, settings, () => 0.999_999)).toBe(30_000)
})

test('six retries of a throttled call span about a minute in expectation, and a fault waits less', () => {
  const spanOf = (settings: typeof faultBackoff) =>
    [1, 2, 3, 4, 5, 6].reduce((sum, retry) => sum + backoffMs(retry, settings, () => 0.5), 0)

  expect(spanOf(throttleBackoff)).toBeGreaterThan(50_000)
  expect(spanOf(throttleBackoff)).toBeLessThan(70_000)
  expect(spanOf(faultBackoff)).toBeLessThan(10_000)
})

import { expect, test } from 'vitest'
import { nightShare } from '#src/sync/verify/verify-round.ts'

test.each([1, 27, 28, 29, 1000, 12_345])('%i records come round within 28 nights', (records) => {
  let compared = 0
  const shares: number[] = []
  for (let nights = 0; nights < 28; nights++) {
    const share = Math.min(records - compared, nightShare({ records, compared, nights }, 28))
    shares.push(share)
    compared += share
  }

  expect(compared).toBe(records)
  expect(Math.max(...shares)).toBeLessThanOrEqual(Math.ceil(records / 28))
})

test('nights that were missed are made good in the nights that are left', () => {
  expect(nightShare({ records: 280, compared: 10, nights: 18 }, 28)).toBe(27)
  expect(nightShare({ records: 280, compared: 10, nights: 27 }, 28)).toBe(Infinity)
  expect(nightShare({ records: 280, compared: 10, nights: 40 }, 28)).toBe(Infinity)
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  cutIntoWindows,
  dayNumber,
  daySeconds,
  halve,
  latestRotationStart,
} from '#src/values/window.ts'

const ranges = fc
  .uniqueArray(fc.nat({ max: 2_000_000 }), { minLength: 2, maxLength: 8 })
  .map((edges) => edges.toSorted((a, b) => a - b))
  .map((edges) =>
    edges
      .slice(0, edges.length - (edges.length % 2))
      .flatMap((from, index) => (index % 2 === 0 ? [{ from, until: edges[index + 1]! }] : []))
      .reverse(),
  )

test('windows cover their ranges exactly, newest first, none larger than allowed', () => {
  fc.assert(
    fc.property(ranges, fc.integer({ min: 3600, max: 259_200 }), (given, seconds) => {
      const windows = cutIntoWindows(given, seconds, null)

      const joined = windows.reduceRight<{ from: number; until: number }[]>(
        (all, { from, until }) => {
          const last = all.at(-1)
          if (last?.until === from) last.until = until
          else all.push({ from, until })
          return all
        },
        [],
      )
      expect(joined.reverse()).toEqual(given)
      expect(windows.every(({ from, until }) => until > from && until - from <= seconds)).toBe(true)
      expect(windows.map(({ from }) => from)).toEqual(
        windows.map(({ from }) => from).toSorted((a, b) => b - a),
      )
    }),
  )
})

test('inner bounds lie on the grid, so that tomorrow cuts the same windows', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 1_000_000 }),
      fc.integer({ min: 3600, max: 86_400 }),
      (from, seconds) => {
        const today = cutIntoWindows([{ from, until: from + 500_000 }], seconds, null)
        const tomorrow = cutIntoWindows([{ from, until: from + 586_400 }], seconds, null)

        const whole = today.slice(1).map(({ from: start }) => start)
        expect(tomorrow.map(({ from: start }) => start)).toEqual(expect.arrayContaining(whole))
        expect(whole.slice(0, -1).every((start) => start % seconds === 0)).toBe(true)
      },
    ),
  )
})

test('only the window that ends now stays open', () => {
  const windows = cutIntoWindows([{ from: 0, until: 250 }], 100, 250)

  expect(windows).toEqual([
    { from: 200, until: 250, open: true },
    { from: 100, until: 200, open: false },
    { from: 0, until: 100, open: false },
  ])
})

test('no more windows are cut than are asked for', () => {
  expect(cutIntoWindows([{ from: 0, until: 1_000_000_000 }], 3600, null, 5)).toHaveLength(5)
})

test('halves meet, lose nothing, and end at the single second', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.boolean(),
      (from, length, open) => {
        const halves = halve({ from, until: from + length, open })

        if (length === 1) expect(halves).toBeNull()
        else {
          const [left, right] = halves!
          expect([left.from, left.until, right.until]).toEqual([from, right.from, from + length])
          expect(left.until > left.from && right.until > right.from).toBe(true)
          expect([left.open, right.open]).toEqual([false, open])
        }
      },
    ),
  )
})

test('the latest rotation start is a midnight within the last nights, and every slot has its own', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 4_000_000_000 }),
      (slot, nights, now) => {
        const turn = latestRotationStart(slot, nights, now)

        expect(turn % daySeconds === 0).toBe(true)
        expect(turn).toBeLessThanOrEqual(now)
        expect(dayNumber(now) - dayNumber(turn)).toBeLessThan(nights)
        expect((((dayNumber(turn) - slot) % nights) + nights) % nights).toBe(0)
      },
    ),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DatabaseClock } from '#src/rate/database-clock.ts'
import { sharesOf } from '#src/rate/share.ts'
import { Pace } from '#src/sources/pace.ts'

const members = fc.uniqueArray(
  fc.record({ id: fc.string({ minLength: 1, maxLength: 4 }), demand: fc.nat(300) }),
  { minLength: 1, maxLength: 30, selector: ({ id }) => id },
)

test('the shares add up to the limit of the key, and each is at least one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), members, (cap, all) => {
      const shares = sharesOf(cap, all)

      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(Math.max(cap, all.length))
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(1)
    }),
  )
})

test('every process calculates the same shares, in any order of the others', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), members, fc.nat(29), (cap, all, turn) => {
      const at = turn % all.length
      const turned = [...all.slice(at), ...all.slice(0, at)]
      const shares = sharesOf(cap, all)

      expect(sharesOf(cap, turned)).toEqual([...shares.slice(at), ...shares.slice(0, at)])
    }),
  )
})

test('no process gets less than it wants while another gets more than it wants and more than it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), members, (cap, all) => {
      const shares = sharesOf(cap, all)
      const isShort = (at: number) => shares[at]! < Math.max(1, all[at]!.demand)

      for (const [one] of all.entries())
        for (const [other] of all.entries())
          if (isShort(one)) expect(shares[other]! - shares[one]!).toBeLessThanOrEqual(1)
    }),
  )
})

test('a single process gets all of it', () => {
  expect(sharesOf(8, [{ id: 'a', demand: 0 }])).toEqual([8])
})

test('send times are never closer together than the rate allows, and none is in the past', () => {
  const asks = fc.array(
    fc.record({
      wait: fc.double({ min: 0, max: 500, noNaN: true }),
      count: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 1, maxLength: 50 },
  )
  fc.assert(
    fc.property(fc.double({ min: 0.5, max: 500, noNaN: true }), asks, (perSecond, all) => {
      const pace = new Pace()
      let now = 0
      let free = 0
      for (const { wait, count } of all) {
        now += wait
        const at = pace.reserve(now, perSecond, count)

        expect(at).toBeGreaterThanOrEqual(now)
        expect(at).toBeGreaterThanOrEqual(free - 1e-6)
        free = at + (count * 1000) / perSecond
      }
    }),
  )
})

test('the database clock is never wrong by more than half of the time of the fastest answer', () => {
  const answers = fc.array(
    fc.record({
      wait: fc.nat(1000),
      there: fc.double({ min: 0, max: 300, noNaN: true }),
      back: fc.double({ min: 0, max: 300, noNaN: true }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), answers, (offset, all) => {
      const clock = new DatabaseClock()
      let now = 0
      let quickest = Infinity
      for (const { wait, there, back } of all) {
        now += wait
        clock.learn(now, now + there + back, now + there + offset)
        quickest = Math.min(quickest, there + back)
        now += there + back
      }
      fc.pre(now < 60_000)

      expect(Math.abs(clock.toLocal(now + offset) - now)).toBeLessThanOrEqual(quickest / 2 + 1e-3)
    }),
  )
})

test('a database clock that was set is used at once', () => {
  const clock = new DatabaseClock()
  clock.learn(0, 1, 1_000_000)
  clock.learn(1000, 1010, 91_001_005)

  expect(clock.toLocal(91_001_005)).toBeCloseTo(1005)
})

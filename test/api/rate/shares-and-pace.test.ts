import fc from 'fast-check'
import { expect, test } from 'vitest'
import { divideCap } from '#src/api/rate/rate-budgets.ts'
import { Pace } from '#src/api/sources/key-rate.ts'

const members = fc.uniqueArray(
  fc.record({ memberId: fc.string({ minLength: 1, maxLength: 4 }), demand: fc.nat(300) }),
  { minLength: 1, maxLength: 30, selector: ({ memberId }) => memberId },
)

test('the shares add up to the limit of the key, and each is at least one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), members, (cap, all) => {
      const shares = divideCap(cap, all)

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
      const shares = divideCap(cap, all)

      expect(divideCap(cap, turned)).toEqual([...shares.slice(at), ...shares.slice(0, at)])
    }),
  )
})

test('no process gets less than it wants while another gets more than it wants and more than it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), members, (cap, all) => {
      const shares = divideCap(cap, all)
      const isShort = (at: number) => shares[at]! < Math.max(1, all[at]!.demand)

      for (const [one] of all.entries())
        for (const [other] of all.entries())
          if (isShort(one)) expect(shares[other]! - shares[one]!).toBeLessThanOrEqual(1)
    }),
  )
})

test('a single process gets all of it', () => {
  expect(divideCap(8, [{ memberId: 'a', demand: 0 }])).toEqual([8])
})

test('send times are never closer together than the rate allows, and none is in the past', () => {
  const asks = fc.array(fc.double({ min: 0, max: 500, noNaN: true }), {
    minLength: 1,
    maxLength: 50,
  })
  fc.assert(
    fc.property(fc.double({ min: 0.5, max: 500, noNaN: true }), asks, (perSecond, all) => {
      const pace = new Pace()
      let now = 0
      let free = 0
      for (const wait of all) {
        now += wait
        const at = pace.reserve(now, perSecond)

        expect(at).toBeGreaterThanOrEqual(now)
        expect(at).toBeGreaterThanOrEqual(free - 1e-6)
        free = at + 1000 / perSecond
      }
    }),
  )
})

import { expect, test } from 'vitest'
import { someOf } from '../../support/cases.ts'
import { fixedWindow, randomRefusals, type Source, simulate, tokenBucket } from './simulated-key.ts'

const always: Source = () => true
const seeds = someOf([1, 2, 3], 1)

const kinds = [
  ['fixed windows', (perSecond: number, seed: number) => fixedWindow(perSecond, seed * 271)],
  ['a token bucket', (perSecond: number) => tokenBucket(perSecond)],
] as const

// At 10 calls a second one refusal is more than 2 % of the calls for long.
test.each(
  kinds.flatMap(([kind, source]) =>
    [1, 4].flatMap((processes) =>
      [10, 40, 200].map((perSecond) => ({ kind, source, processes, perSecond })),
    ),
  ),
)(
  '$kind of $perSecond calls a second for $processes processes: used, and few are refused',
  ({ source, processes, perSecond }) => {
    for (const seed of seeds)
      for (const latencyMs of perSecond === 200 ? [25] : [25, 100]) {
        const concurrency = perSecond === 200 ? 16 : 8
        const limits = { source: source(perSecond, seed), processes, seed, latencyMs, concurrency }
        const outcome = simulate({ ...limits, seconds: perSecond === 10 ? 240 : 120 })
        const message = JSON.stringify({ seed, latencyMs, ...outcome })

        expect(outcome.refusedShare, message).toBeLessThanOrEqual(0.02)
        expect(outcome.answeredPerSecond / perSecond, message).toBeGreaterThanOrEqual(0.85)
        expect(outcome.sentWithin, message).toBe(0)
      }
  },
)

test.each([
  [1, 0.01, 1.3],
  [4, 0.01, 1.3],
  [1, 0.05, 1.6],
  [4, 0.05, 1.6],
])(
  'with %i processes a share of %d of random 429s takes at most %d times as long',
  (processes, share, most) => {
    for (const seed of seeds)
      for (const latencyMs of [25, 100]) {
        const limits = { processes, seed, latencyMs, calls: 6000 }
        const without = simulate({ ...limits, source: always }).seconds
        const during = simulate({ ...limits, source: randomRefusals(share, seed) }).seconds
        const message = JSON.stringify({ seed, latencyMs, without, during })

        expect(during / without, message).toBeLessThanOrEqual(most)
      }
  },
)

test.each([1, 4])('with %i processes random 429s do not hide a limit', (processes) => {
  for (const seed of seeds)
    for (const [, limited] of kinds) {
      const limit = limited(40, seed)
      const random = randomRefusals(0.01, seed)
      const source: Source = (now, inFlight) => random(now, inFlight) && limit(now, inFlight)
      const outcome = simulate({ source, processes, seed, seconds: 300 })
      const message = JSON.stringify({ seed, ...outcome })

      expect(outcome.refusedShare, message).toBeLessThanOrEqual(0.08)
      expect(outcome.answeredPerSecond / 40, message).toBeGreaterThanOrEqual(0.85)
    }
})

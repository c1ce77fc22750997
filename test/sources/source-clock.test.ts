import { expect, test } from 'vitest'
import { SourceClock } from '#src/sources/source-clock.ts'

const local = new Date('2026-03-01T12:00:00.400Z')
const later = (ms: number) => new Date(local.getTime() + ms)

test('until it is measured the source has our time', () => {
  const clock = new SourceClock(() => local)

  expect(clock.now()).toEqual(local)
  expect(clock.offsetMs).toBe(0)
  expect(clock.measured).toBe(false)
})

test('three days of skew are known to a second', () => {
  const clock = new SourceClock(() => local)

  clock.measure('Wed, 04 Mar 2026 12:00:00 GMT', local, later(40))

  expect(clock.measured).toBe(true)
  expect(Math.abs(clock.offsetMs - 3 * 86_400_000)).toBeLessThan(1000)
  expect(clock.now().toISOString()).toMatch(/^2026-03-04T12:00:00/)
})

test('clocks that may be equal have no offset, whatever the fraction of the second', () => {
  for (const fraction of [0, 1, 400, 999]) {
    const at = new Date(Date.parse('2026-03-01T12:00:00Z') + fraction)
    const clock = new SourceClock(() => at)

    clock.measure('Sun, 01 Mar 2026 12:00:00 GMT', at, at)

    expect(clock.offsetMs).toBe(0)
  }
})

test('a header that is no date changes nothing', () => {
  const clock = new SourceClock(() => local)

  expect(clock.measure('soon', local, local)).toBe(false)
  expect(clock.measured).toBe(false)
})

test('the source clock moves with ours', () => {
  let at = local
  const clock = new SourceClock(() => at)
  clock.measure('Thu, 26 Feb 2026 12:00:00 GMT', local, local)
  const first = clock.now()

  at = later(5000)

  expect(clock.now().getTime() - first.getTime()).toBe(5000)
})

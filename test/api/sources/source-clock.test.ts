import { expect, test } from 'vitest'
import { SourceClock } from '#src/api/sources/source-clock.ts'
import { seededRandom } from '#src/sandbox/seeded-random.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'

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

test('a header that is not a date changes nothing', () => {
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

test('the earliest time of the source is never later than the time of its next list', () => {
  const start = Date.parse('2026-03-01T12:00:00Z')
  const random = seededRandom(26, 'clocks')
  for (const skewMs of [0, -1, -400, -999, -1_500, 900, 3 * 86_400_000, -3 * 86_400_000])
    for (let round = 0; round < 200; round++) {
      const requestedAt = start + Math.floor(random.next() * 2_000)
      const answeredAt = requestedAt + Math.floor(random.next() * 900)
      const receivedAt = answeredAt + Math.floor(random.next() * 900)
      const listedAt = receivedAt + Math.floor(random.next() * 900)
      const clock = new SourceClock(() => new Date(listedAt))
      const header = new Date(answeredAt + skewMs).toUTCString()

      clock.measure(header, new Date(requestedAt), new Date(receivedAt))

      const listed = Math.floor((listedAt + skewMs) / 1_000)
      expect(toUnixSeconds(clock.leastNow())).toBeLessThanOrEqual(listed)
    }
})

test('without a Date header the earliest time is ours', () => {
  expect(new SourceClock(() => local).leastNow()).toEqual(local)
})

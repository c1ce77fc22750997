import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { until } from '../../support/child.ts'
import { favour, openCallers } from './callers.ts'
import { type Arrival, busiestSecond, startLimitedSource } from './limited-source.ts'

const keys = ['north', 'south', 'west']
const names = ['a', 'b', 'c', 'd']

/** Arrivals for a key between two values of performance.now(), in ms. */
function between(arrivals: readonly Arrival[], key: string, from: number, until: number) {
  return arrivals.filter(
    (arrival) => arrival.key === `secret-${key}` && arrival.at >= from && arrival.at < until,
  )
}

// Without a free CPU, evenly spaced requests are sent in bursts; then the test measures again. Requests that arrive while the
// server itself is blocked are counted afterwards, so one second may have more of them.
test('four processes use what each of three keys allows, and no more in any second', {
  tags: 'ci',
  retry: 3,
}, async () => {
  using _ = favour(process.pid)
  await using source = await startLimitedSource({ perSecond: Infinity })
  const http = { requestsPerSecond: 50, concurrency: 16 }
  await using callers = await openCallers(source.baseUrl, keys, http)
  const started = await Promise.all(names.map((name) => callers.start(name)))
  await sleep(1000)

  const stalls = monitorEventLoopDelay({ resolution: 5 })
  stalls.enable()
  const from = performance.now()
  await sleep(15_000)
  const end = performance.now()
  stalls.disable()
  await Promise.all(started.map((caller) => caller.stop()))

  expect(started.map((caller) => caller.stderr())).toEqual(['', '', '', ''])
  const heapMs = Math.max(0, stalls.max / 1e6 - 10)
  for (const key of keys) {
    const settled = between(source.arrivals, key, from, end)
    const perSecond = settled.length / ((end - from) / 1000)
    const measured = { key, busiest: busiestSecond(settled), perSecond, heapMs }
    expect(measured.busiest, JSON.stringify(measured)).toBeLessThanOrEqual(
      52.5 + (50 * heapMs) / 1000,
    )
    expect(measured.perSecond, JSON.stringify(measured)).toBeGreaterThanOrEqual(45)
    expect(new Set(settled.map((arrival) => arrival.process)).size).toBe(4)
  }
})

test('a Retry-After of a key that is refused stops every process within a second', {
  tags: 'ci',
}, async () => {
  await using source = await startLimitedSource({ perSecond: Infinity, latencyMs: 20 })
  await using callers = await openCallers(source.baseUrl, ['north'], { concurrency: 4 })
  await Promise.all(names.slice(0, 3).map((name) => callers.start(name, 2)))
  await until(() => new Set(source.arrivals.map((arrival) => arrival.process)).size === 3)

  let refusedAt = Infinity
  source.refuseFor(5, () => {
    refusedAt = performance.now()
  })
  await until(() => performance.now() > refusedAt + 4900)

  expect(between(source.arrivals, 'north', refusedAt + 1000, refusedAt + 4900)).toEqual([])
  await until(() => (source.arrivals.at(-1)?.at ?? 0) > refusedAt + 5000)
})

test('the calls in flight of a process that is killed go to the others', async () => {
  await using source = await startLimitedSource({ perSecond: Infinity, latencyMs: 30 })
  await using callers = await openCallers(source.baseUrl, ['north'], { concurrency: 6 })
  const first = await callers.start('a')
  await callers.start('b')
  await until(() => new Set(source.arrivals.map((arrival) => arrival.process)).size === 2)
  await sleep(2000)
  source.resetInFlight()
  await sleep(2000)
  expect(source.mostInFlightOf('a')).toBe(3)
  expect(source.mostInFlightOf('b')).toBe(3)

  await first.kill()

  await until(() => source.mostInFlightOf('b') === 6)
})

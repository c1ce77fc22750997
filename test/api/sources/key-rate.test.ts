import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { SendSlots } from '#src/api/sources/key-rate.ts'
import { KeyLimiter, localBudgets } from '#src/api/sources/limiter.ts'

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

test('calls are sent at their send times, first come, first served', async () => {
  const began = performance.now()
  let next = began
  const slots = new SendSlots(async (count) => Array.from({ length: count }, () => (next += 30)))

  const sent = await Promise.all(
    [1, 2, 3].map(async () => ((await slots.wait([])) ? performance.now() - began : null)),
  )

  for (const [at, time] of sent.entries()) expect(time).toBeGreaterThanOrEqual(30 * at + 28)
  expect(sent).toEqual([...sent].sort((a, b) => a! - b!))
})

test('after a stall, one of the missed send times is used', async () => {
  const passed = performance.now() - 1000
  const later = performance.now() + 200
  const times = [[passed, passed + 1, passed + 2], [later], [later + 1]]
  const slots = new SendSlots(async () => times.shift() ?? [])
  const order: number[] = []
  const began = performance.now()

  await Promise.all([1, 2, 3].map(() => slots.wait([]).then(() => order.push(performance.now()))))

  expect(order.filter((at) => at - began < 190)).toHaveLength(1)
})

test('a cancelled call leaves its send time to the next, and clearing makes every call check again', async () => {
  const before = timers()
  let at = performance.now() + 40
  const slots = new SendSlots(async (count) => Array.from({ length: count }, () => at))
  const stop = new AbortController()
  const cancelled = slots.wait([stop.signal])
  const second = slots.wait([])
  stop.abort()

  expect(await cancelled).toBe(false)
  expect(await second).toBe(true)

  at = performance.now() + 60_000
  const waiting = [slots.wait([]), slots.wait([])]
  slots.clear()
  expect(await Promise.all(waiting)).toEqual([false, false])
  // A poll would count its own timer.
  const until = performance.now() + 30_000
  while (timers() > before && performance.now() < until) await setImmediate()
  expect(timers()).toBeLessThanOrEqual(before)
})

test('without a warehouse a rate limit paces the process alone', async () => {
  const budget = localBudgets(100)
  const limiter = new KeyLimiter({ max: 8, budget: (key) => budget('north', key) })
  const began = performance.now()

  await Promise.all(Array.from({ length: 20 }, () => limiter.run(async () => undefined)))

  expect(performance.now() - began).toBeGreaterThanOrEqual((19 * 1000) / 100)
})

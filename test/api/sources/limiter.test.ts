import { expect, test } from 'vitest'
import { KeyBlocked, KeyLimiter } from '#src/api/sources/limiter.ts'

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
const tick = () => new Promise((resolve) => setImmediate(resolve))

test('it starts at four, or at the maximum when that is less', () => {
  expect(new KeyLimiter({ max: 8 }).concurrency).toBe(4)
  expect(new KeyLimiter({ max: 2 }).concurrency).toBe(2)
  expect(new KeyLimiter({ max: 8, initial: 6 }).concurrency).toBe(6)
})

test('it rises by one per `concurrency` clean answers and stops at the maximum', () => {
  const limiter = new KeyLimiter({ max: 6 })
  const seen: number[] = []

  for (let answers = 0; answers < 30; answers += 1) {
    limiter.onSuccess()
    seen.push(limiter.concurrency)
  }

  expect(seen.indexOf(5)).toBe(3)
  expect(seen.indexOf(6)).toBe(3 + 5)
  expect(Math.max(...seen)).toBe(6)
})

test('it never runs more than `concurrency` at once', async () => {
  const limiter = new KeyLimiter({ max: 3 })
  let most = 0

  await Promise.all(
    Array.from({ length: 20 }, () =>
      limiter.run(async () => {
        most = Math.max(most, limiter.inFlight)
        await tick()
      }),
    ),
  )

  expect(most).toBe(3)
  expect(limiter.inFlight).toBe(0)
})

test('a burst of throttles in one generation halves once, the next generation halves again', async () => {
  const limiter = new KeyLimiter({ max: 8, initial: 8 })
  // All are sent before the first is refused, which rests the key.
  const burst = async () => {
    const calls = Array.from({ length: limiter.concurrency }, () =>
      limiter.run(async (generation) => generation),
    )
    for (const generation of await Promise.all(calls)) limiter.onThrottle(undefined, generation)
  }

  await burst()
  expect(limiter.concurrency).toBe(4)
  await burst()
  expect(limiter.concurrency).toBe(2)
  await burst()
  await burst()
  expect(limiter.concurrency).toBe(1)
})

test('faults halve the limit as throttles do, and earlier clean answers do not count', async () => {
  const limiter = new KeyLimiter({ max: 8 })
  const old = await limiter.run(async (generation) => generation)

  limiter.onFault(old)
  limiter.onFault(old)
  for (let answers = 0; answers < 10; answers += 1) limiter.onSuccess(old)

  expect(limiter.concurrency).toBe(2)
})

test('no call starts before the block of the key has passed', async () => {
  const limiter = new KeyLimiter({ max: 4 })
  const began = performance.now()
  for (let refusal = 0; refusal < 3; refusal += 1) limiter.onThrottle(120)

  const starts = await Promise.all(
    Array.from({ length: 3 }, () => limiter.run(async () => performance.now() - began)),
  )

  expect(Math.min(...starts)).toBeGreaterThanOrEqual(120)
  expect(limiter.blockedUntil).toBeNull()
})

test('a long block is reported once, and a short one is not', () => {
  const reported: Date[] = []
  const limiter = new KeyLimiter({ max: 1, onLongBlock: (until) => reported.push(until) })

  limiter.block(9_000)
  limiter.block(15_000)
  limiter.block(15_100)

  expect(reported).toHaveLength(1)
  expect(reported[0]!.getTime() - Date.now()).toBeGreaterThan(10_000)
})

test('a longer block wins over a later, shorter one', () => {
  const limiter = new KeyLimiter({ max: 4 })

  limiter.onThrottle(60_000)
  limiter.onThrottle(1000)

  expect(limiter.blockedUntil!.getTime() - Date.now()).toBeGreaterThan(55_000)
})

test('a block that is too long to wait for is reported at once', async () => {
  const limiter = new KeyLimiter({ max: 4 })
  limiter.onThrottle(86_400_000)

  await expect(limiter.run(async () => 1)).rejects.toBeInstanceOf(KeyBlocked)
})

test('an abort frees a call that waits for the block, and one that waits in the queue', async () => {
  const before = timers()
  const limiter = new KeyLimiter({ max: 1 })
  limiter.onThrottle(60_000)
  const controller = new AbortController()
  let ran = 0
  const waiting = [1, 2].map(() =>
    limiter.run(async () => {
      ran += 1
    }, controller.signal),
  )
  await tick()

  controller.abort(new Error('stop'))

  for (const outcome of await Promise.allSettled(waiting))
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'stop' } })
  await tick()
  expect({ ran, inFlight: limiter.inFlight }).toEqual({ ran: 0, inFlight: 0 })
  expect(timers()).toBeLessThanOrEqual(before)
})

test('a cancelled call in the queue gives its slot to the next', async () => {
  const limiter = new KeyLimiter({ max: 1 })
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const controller = new AbortController()
  const first = limiter.run(() => gate)
  const second = limiter.run(async () => 'second', controller.signal)
  const third = limiter.run(async () => 'third')

  controller.abort(new Error('stop'))
  await expect(second).rejects.toThrow('stop')
  open()

  await first
  expect(await third).toBe('third')
})

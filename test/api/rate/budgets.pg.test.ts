import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { RateBudgets } from '#src/api/rate/rate-budgets.ts'
import { KeyLimiter } from '#src/api/sources/limiter.ts'
import { openLog } from '#src/log.ts'
import { until } from '../../support/child.ts'
import { createTestDatabase } from '../../support/postgres.ts'

/** A process that uses key `north`: its limiter and its share of the budget. */
function host(pool: pg.Pool, { perSecond = null, max = 8 }: HostOptions = {}) {
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  const log = openLog({ level: 'info', human: false, secrets: [], write })
  const budgets = new RateBudgets(pool, log, perSecond)
  const limiter = new KeyLimiter({ max, budget: (key) => budgets.open('north', key) })
  const close = () => budgets[Symbol.asyncDispose]()
  return { budgets, limiter, lines, [Symbol.asyncDispose]: close }
}

interface HostOptions {
  readonly perSecond?: number | null
  readonly max?: number
}

interface Row {
  readonly rate: number | null
  readonly generation: number | null
  readonly blocked: boolean | null
}

async function rowOf(pool: pg.Pool): Promise<Row> {
  const { rows } = await pool.query<Row>(
    `select rate, (state -> 'generation')::int as generation, blocked_until > clock_timestamp() as blocked
     from ops.rate_budget where key_name = 'appraisal/north'`,
  )
  return rows[0]!
}

/** Moves the last cut and its rest into the past. */
async function pass(pool: pg.Pool, seconds: number): Promise<void> {
  await pool.query(
    `update ops.rate_budget set blocked_until = null, state = state ||
       jsonb_build_object('cutAt', extract(epoch from clock_timestamp() - $1 * interval '1 second') * 1000)`,
    [seconds],
  )
}

/** Requests per second of this process after it has refreshed from the warehouse. */
async function allowed({ budgets, limiter }: ReturnType<typeof host>): Promise<number | null> {
  await limiter.run(async () => undefined)
  await budgets.refresh()
  return budgets.readings()[0]!.perSecond
}

/** The source refuses some calls at once. */
async function refuse({ limiter }: ReturnType<typeof host>, retryAfterMs?: number): Promise<void> {
  await Promise.all(
    [1, 2, 3].map(() =>
      limiter.run(async (generation) => limiter.onThrottle(retryAfterMs, generation)),
    ),
  )
}

/** Records clean answers, all at once. */
async function answer({ limiter }: ReturnType<typeof host>, calls: number): Promise<void> {
  const call = () => limiter.run(async (generation) => limiter.onSuccess(generation))
  await Promise.all(Array.from({ length: calls }, call))
}

test('a burst of 429s on two hosts lowers the rate once, and the next burst again', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool, { perSecond: 100 })
  await using two = host(pool, { perSecond: 100 })
  const burst = async () => {
    await Promise.all([answer(one, 30), answer(two, 30)])
    const hosts = [one, one, one, two, two, two].map(({ limiter }) => limiter)
    const sent = await Promise.all(hosts.map((limiter) => limiter.run(async (at) => at)))
    for (const [at, limiter] of hosts.entries()) limiter.onThrottle(500, sent[at]!)
  }
  const cuts = async () => (await rowOf(pool))?.generation

  await burst()
  await until(async () => (await cuts()) === 1)
  await Promise.all([allowed(one), allowed(two)])
  // Both were answered 30 calls in that second, so the rate is not that of one of them.
  const { state } = (await pool.query('select state from ops.rate_budget')).rows[0]
  expect(Math.round(state.answered)).toBeGreaterThan(40)
  expect(await cuts()).toBe(1)

  await burst()
  await until(async () => (await cuts()) === 2)
})

test('a Retry-After of one host stops the other at once, for calls that wait too', async () => {
  await using database = await createTestDatabase()
  await using one = host(database.pool)
  await using two = host(database.pool)
  const sent: number[] = []
  const began = performance.now()
  const stop = new AbortController()
  const caller = (async () => {
    while (!stop.signal.aborted)
      await two.limiter.run(async () => {
        sent.push(performance.now() - began)
        await sleep(5)
      }, stop.signal)
  })().catch(() => undefined)
  await until(() => sent.length > 0)
  await refuse(one, 4000)
  const throttledAt = performance.now() - began

  await sleep(3000)
  await until(() => (sent.at(-1) ?? 0) > throttledAt + 3900)
  stop.abort()
  await caller

  const silence = sent.filter((at) => at > throttledAt + 250 && at < throttledAt + 3900)
  expect(sent.some((at) => at < throttledAt)).toBe(true)
  expect(silence).toEqual([])
})

test('a block applies to a process that starts later, and one too long to wait for is reported at once', async () => {
  await using database = await createTestDatabase()
  {
    await using gone = host(database.pool)
    await gone.limiter.run(async (generation) => gone.limiter.onThrottle(3_600_000, generation))
  }
  await using later = host(database.pool)

  await expect(later.limiter.run(async () => 'sent')).rejects.toThrow('asked to wait until')
  expect(later.budgets.readings()[0]!.blockedUntil!.getTime()).toBeGreaterThan(
    Date.now() + 3_500_000,
  )
})

test('a Retry-After of years blocks the others for a day at most', async () => {
  await using database = await createTestDatabase()
  await using one = host(database.pool)
  await one.limiter.run(async (generation) => one.limiter.onThrottle(1e15, generation))
  await one[Symbol.asyncDispose]()

  const { rows } = await database.pool.query(
    `select blocked_until < clock_timestamp() + interval '25 hours' as bounded from ops.rate_budget`,
  )
  expect(rows).toEqual([{ bounded: true }])
})

test('a 429 without Retry-After rests every host, longer with each rest until a call is answered', {
  tags: 'ci',
}, async () => {
  await using database = await createTestDatabase()
  await using one = host(database.pool)
  const restMs = async () => {
    await one.limiter.run(async (generation) => {
      for (let call = 0; call < 3; call += 1) one.limiter.onThrottle(undefined, generation)
    })
    const left = one.limiter.blockedUntil!.getTime() - Date.now()
    await until(() => one.limiter.blockedUntil === null)
    // An answer takes a moment.
    await sleep(100)
    return left
  }

  expect(await restMs()).toBeLessThanOrEqual(1000)
  expect(await restMs()).toBeGreaterThan(1000)
  expect(await restMs()).toBeGreaterThan(2000)
  // Without an answer there is no rate to lower.
  expect(await rowOf(database.pool)).toMatchObject({ rate: null })
  await answer(one, 1)
  expect(await restMs()).toBeLessThanOrEqual(1000)
})

test('a lowered rate is back in seconds, then grows up to the ceiling or until no limit applies', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool, { perSecond: 200 })
  await using free = host(pool)
  await answer(one, 60)
  await refuse(one, 100)
  await until(async () => ((await rowOf(pool))?.rate ?? null) !== null)
  const { rate } = await rowOf(pool)
  const known = rate! / 0.7

  await pass(pool, 0)
  expect(Math.abs((await allowed(one))! - rate!)).toBeLessThan(known / 10)
  await pass(pool, 10)
  expect(Math.abs((await allowed(one))! - known)).toBeLessThan(known / 10)
  await pass(pool, 23)
  expect(await allowed(free)).toBeGreaterThan(2 * known)
  await pass(pool, 60)
  expect(await allowed(one)).toBe(190)
  expect(await allowed(free)).toBeNull()
})

test('random 429s lead to no limit, and then delay only their calls', { tags: 'ci' }, async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool)
  await using two = host(pool)
  const call = async ({ limiter }: ReturnType<typeof host>, at: number) =>
    await limiter.run(async (generation) => {
      if (at % 20 === 0) limiter.onThrottle(200, generation)
      else limiter.onSuccess(generation)
    })
  const randomUntil = async () =>
    (await pool.query("select (state -> 'randomUntil')::float8 as until from ops.rate_budget"))
      .rows[0]?.until
  for (let at = 1; !(await randomUntil()); at += 1) {
    await call(one, at)
    await call(two, at + 10)
  }
  await Promise.all([allowed(one), allowed(two)])
  await until(() => one.limiter.blockedUntil === null && two.limiter.blockedUntil === null)

  for (let at = 1; at <= 100; at += 1) {
    await call(one, at)
    await call(two, at)
  }
  expect([one.limiter.blockedUntil, two.limiter.blockedUntil]).toEqual([null, null])
  expect(await allowed(one)).toBeNull()
  expect(await allowed(two)).toBeNull()
})

test('hosts share the calls in flight, and a host that leaves frees its share', {
  tags: 'ci',
}, async () => {
  await using database = await createTestDatabase()
  await using one = host(database.pool, { max: 8 })
  const stop = new AbortController()
  const keepBusy = ({ limiter }: ReturnType<typeof host>) =>
    Array.from({ length: 20 }, async () => {
      while (!stop.signal.aborted) {
        await limiter.run(() => sleep(5))
        limiter.onSuccess()
      }
    })
  const busy = keepBusy(one)
  const reading = () => one.budgets.readings()[0]!
  {
    await using two = host(database.pool, { max: 8 })
    const task = Array.from({ length: 20 }, () => two.limiter.run(() => sleep(1500)))
    await until(() => reading().share === 4 && reading().processes === 2)
    expect(reading().concurrency).toBe(4)
    await Promise.all(task)
  }

  await until(() => reading().share === 8 && reading().processes === 1)
  await until(() => reading().concurrency === 8)
  stop.abort()
  await Promise.all(busy)
})

test('without Postgres, calls continue at the last known rate, and this is logged once', async () => {
  await using database = await createTestDatabase()
  await using one = host(database.pool, { perSecond: 100 })
  await one.limiter.run(async () => undefined)
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  await database.pool.end()

  const began = performance.now()
  await Promise.all(Array.from({ length: 20 }, () => one.limiter.run(async () => undefined)))
  const took = performance.now() - began
  await refuse(one, 10)
  await one.limiter.run(async () => undefined)

  expect(took).toBeGreaterThanOrEqual(150)
  expect(one.lines.filter((line) => line.includes('rate budgets unavailable'))).toHaveLength(1)
})

test('closing ends every wait and every timer', async () => {
  await using database = await createTestDatabase()
  const one = host(database.pool, { perSecond: 0.5 })
  const stop = new AbortController()
  const waiting = Array.from({ length: 4 }, () =>
    one.limiter.run(async () => undefined, stop.signal),
  )
  const ended = Promise.allSettled(waiting)
  await waiting[0]
  stop.abort(new Error('closed'))
  await one[Symbol.asyncDispose]()

  const ends = await ended
  expect(ends.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'rejected',
  ])
  expect(one.budgets.readings()[0]!.inFlight).toBe(0)
  const { rows } = await database.pool.query('select * from ops.rate_member')
  expect(rows).toEqual([])
})

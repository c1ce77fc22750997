import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type pg from 'pg'
import { openLog } from '#src/log.ts'
import { RateBudgets } from '#src/rate/rate-budgets.ts'
import { KeyLimiter } from '#src/sources/limiter.ts'
import { until } from '../support/child.ts'
import { createTestDatabase } from '../support/postgres.ts'

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
  readonly generation: number
  readonly strikes: number
  readonly blocked: boolean | null
}

async function rowOf(pool: pg.Pool): Promise<Row> {
  const { rows } = await pool.query<Row>(
    `select rate, generation, strikes, blocked_until > clock_timestamp() as blocked
     from ops.rate_budget where key_name = 'appraisal/north'`,
  )
  return rows[0]!
}

/** Moves the last throttle and its block into the past. */
async function pass(pool: pg.Pool, seconds: number): Promise<void> {
  await pool.query(
    `update ops.rate_budget set throttled_at = clock_timestamp() - $1 * interval '1 second', blocked_until = null`,
    [seconds],
  )
}

/** Requests per second of this process after it has refreshed from the warehouse. */
async function allowed({ budgets, limiter }: ReturnType<typeof host>): Promise<number | null> {
  await limiter.run(async () => undefined)
  await budgets.refresh()
  return budgets.readings()[0]!.perSecond
}

/** The source throttles a key: enough calls in a row that it is not a random answer. */
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

test('a burst of throttles on two hosts lowers the rate once, and the next burst again', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool, { perSecond: 100 })
  await using two = host(pool, { perSecond: 100 })
  const burst = async () => {
    const hosts = [one, one, one, two, two, two].map(({ limiter }) => limiter)
    const sent = await Promise.all(hosts.map((limiter) => limiter.run(async (at) => at)))
    for (const [at, limiter] of hosts.entries()) limiter.onThrottle(0, sent[at]!)
  }
  const generation = async () => (await rowOf(pool))?.generation

  await burst()
  await until(async () => (await generation()) === 1)
  // There were no clean answers, so the rate is lowered by the most that one throttle may.
  expect(await rowOf(pool)).toMatchObject({ rate: 66.5, generation: 1 })

  await Promise.all([allowed(one), allowed(two)])
  await burst()
  await until(async () => (await generation()) === 2)
  expect((await rowOf(pool)).generation).toBe(2)
})

test('a Retry-After of one host stops the other within a second, for calls that wait too', async () => {
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
  await refuse(one, 4000)
  const throttledAt = performance.now() - began

  await sleep(3000)
  await until(() => (sent.at(-1) ?? 0) > throttledAt + 3900)
  stop.abort()
  await caller

  const silence = sent.filter((at) => at > throttledAt + 1000 && at < throttledAt + 3900)
  expect(sent.some((at) => at < throttledAt + 1000)).toBe(true)
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

test('a throttle without Retry-After blocks every host for a random time, longer with every strike', async () => {
  await using database = await createTestDatabase()
  await using one = host(database.pool, { perSecond: 100 })
  for (let strike = 1; strike <= 3; strike += 1) {
    await refuse(one)
    await until(async () => (await rowOf(database.pool)).strikes === strike)
    await database.pool.query('update ops.rate_budget set blocked_until = null')
  }

  expect(await rowOf(database.pool)).toMatchObject({ strikes: 3 })
})

test('a lowered rate recovers within seconds, and then grows up to the ceiling', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool, { perSecond: 200 })
  await answer(one, 60)
  await refuse(one, 0)
  await until(async () => (await rowOf(pool))?.rate !== null && (await rowOf(pool)) !== undefined)
  const { rate } = await rowOf(pool)
  const { rows } = await pool.query<{ known: number }>(
    'select learnt_from as known from ops.rate_budget',
  )
  const { known } = rows[0]!

  // The rate is set a little below the rate of answers, but at most three tenths lower than before.
  expect(rate).toBeGreaterThanOrEqual(0.7 * 190)
  expect(known).toBeGreaterThanOrEqual(rate!)
  const flatAfter = Math.cbrt((known - rate!) / 0.4)
  await pass(pool, flatAfter)
  expect(Math.abs((await allowed(one))! - known)).toBeLessThan(1 + known / 20)
  await pass(pool, flatAfter + 4)
  expect(await allowed(one)).toBeGreaterThanOrEqual(Math.min(190, known + 0.4 * 4 ** 3))
  await pass(pool, 60)
  expect(await allowed(one)).toBe(190)
})

test('without a ceiling a rate is learned from throttles, and no longer applies after a minute', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool)
  await answer(one, 40)
  await refuse(one, 0)
  await until(async () => (await rowOf(pool))?.generation === 1)

  const { rate } = await rowOf(pool)
  expect(rate).toBeGreaterThan(0)
  expect(rate).toBeLessThanOrEqual(38)
  await pass(pool, 60)
  expect(await allowed(one)).toBeNull()
})

test('a rate learned an hour ago delays nothing', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  {
    await using gone = host(pool)
    await refuse(gone, 0)
    await until(async () => (await rowOf(pool))?.rate === 0.5)
  }
  await pass(pool, 3600)
  await using later = host(pool)

  expect(await allowed(later)).toBeNull()
})

test('occasional throttles lead to no rate and block no host', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using one = host(pool)
  for (let call = 1; call <= 200; call += 1)
    await one.limiter.run(async (generation) => {
      if (call % 25 === 0) one.limiter.onThrottle(1000, generation)
      else one.limiter.onSuccess(generation)
    })

  expect(await allowed(one)).toBeNull()
  expect(await rowOf(pool)).toMatchObject({ generation: 0, rate: null, blocked: null })
})

test('hosts share the calls in flight, and a host that leaves frees its share', async () => {
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

import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { someOf } from '../../support/cases.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')
const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** Rooftops of one key, each with one evaluation of yesterday. */
async function fixture(count: number, maxRetries = 6): Promise<Fixture> {
  const rooftops = Array.from({ length: count }, (_, at) =>
    aRooftop({ uid: `rooftop-${at}`, name: `Rooftop ${at}`, dealerId: 100 + at }),
  )
  const evaluations = rooftops.map(({ uid }, at) =>
    anEvaluation({
      evalId: 1000 + at,
      rooftopUid: uid,
      createdAt: new Date(now.getTime() - 86_400_000),
    }),
  )
  const world = worldOf({ rooftops, evaluations })
  return await openFixture({ sandbox: { world, now }, http: { maxRetries, timeoutSeconds: 10 } })
}

/** A read with the key of rooftop 0. */
async function read(context: Fixture['context']): Promise<void> {
  const { uid, dealerId, key } = context.config.rooftops[0]!
  await context.appraisal.listUsers({ uid, dealerId, keyName: key }, { includeInactive: false })
}

test.each(
  someOf(
    [
      ['in seconds', 2],
      ['as a date', new Date(now.getTime() + 2000)],
    ],
    1,
  ),
)('a 429 with Retry-After %s makes every host wait until then', async (_, retryAfter) => {
  await using one = await fixture(1)
  await using other = await openContext(one.config, silent)
  await read(other)
  one.sandbox.faults.add({ times: 3, fault: { kind: 'tooMany', retryAfter } })
  const began = performance.now()

  const first = Promise.all([1, 2, 3].map(() => read(one.context)))
  while (one.context.rates().every(({ blockedUntil }) => blockedUntil === null))
    await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setTimeout(resolve, 900))
  await Promise.all([first, read(other)])

  expect(performance.now() - began).toBeGreaterThanOrEqual(1990)
  expect(one.context.appraisal.counters.requests + other.appraisal.counters.requests).toBe(8)
})

test('many 429s on two hosts cause few repeats, and lower the rate a few times at most', {
  tags: 'ci',
}, async () => {
  await using one = await fixture(1)
  await using other = await openContext(one.config, silent)
  await Promise.all([read(one.context), read(other)])
  const fault = { kind: 'tooMany', retryAfter: 1 } as const
  const storm = one.sandbox.faults.add({ times: 8, fault })

  const calls = Array.from({ length: 8 }, () => [read(one.context), read(other)]).flat()
  await Promise.all(calls)

  expect(storm.hits).toBe(8)
  const sent = one.context.appraisal.counters.requests + other.appraisal.counters.requests
  expect(sent).toBe(2 + 16 + 8)
  const { rows } = await one.database.pool.query(
    "select (state -> 'generation')::int as cuts from ops.rate_budget",
  )
  expect(rows[0].cuts).toBeLessThanOrEqual(4)
})

test('every host waits after a 429 without Retry-After, and the night is loaded', async () => {
  await using one = await fixture(2)
  one.sandbox.faults.add({ times: 3, fault: { kind: 'tooMany' } })

  expect(await one.night()).toMatchObject({ status: 'ok' })
  const { rows } = await one.database.pool.query('select blocked_until from ops.rate_budget')
  expect(rows[0].blocked_until).not.toBeNull()
})

test('a withdrawn key is not tried with every rooftop, and works again after a restart', {
  tags: 'ci',
}, async () => {
  await using one = await fixture(24)
  await one.night()
  one.sandbox.requests.reset()
  const fault = one.sandbox.faults.add({ fault: { kind: 'status', status: 403 } })

  const report = await one.night()

  // Ten of one operation, plus slices that were in progress by then.
  for (const path of ['/getuserlist', '/getevallist', '/geteval']) {
    const asked = one.sandbox.requests.entries(path).map(({ rooftopUid }) => rooftopUid)
    expect(new Set(asked).size, path).toBeLessThanOrEqual(10 + 4)
  }
  expect(report.status).toBe('failed')
  expect(report.rooftops['rooftop-23']).toMatchObject({ status: 'failed' })
  expect(report.rooftops['rooftop-23']!.error).toMatch(
    /not used for \d+ min\. Check the value of key/,
  )

  fault.remove()
  await using restarted = await openContext(one.config, silent)
  expect(await one.night(restarted)).toMatchObject({ status: 'ok' })
})

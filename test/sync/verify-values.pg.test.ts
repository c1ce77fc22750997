import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runJobWork } from '#src/app/scheduler/job-work.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { allStreams } from '#src/streams/all.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { compareShare } from '#src/sync/verify/verify-round.ts'
import { readValueStatus, valueComparisons } from '#src/sync/verify/verify-values.ts'
import { someOf } from '../support/cases.ts'
import type { Fixture } from '../support/fixture.ts'
import { loaded, uids } from './rows-fixture.ts'

vi.setConfig({ testTimeout: 180_000 })

const withinNights = 3

/** The night's job `verify` with a short cycle; the next night is a day later. */
async function verifyNight({ context }: Fixture) {
  const config = { ...context.config, verify: { withinNights, minutes: 10 } }
  const job = (await loadJobs(config)).find(({ name }) => name === 'verify')!
  const result = await runJobWork({ ...context, config }, job)
  await context.pool.query(
    "update ops.value_check set round_started_at = round_started_at - interval '1 day'",
  )
  return result
}

async function faults({ context }: Fixture): Promise<string[]> {
  const { rows } = await context.pool.query<{ place: string }>(
    `select stream || ' ' || rooftop_uid as place from ops.verification join core.rooftop using (rooftop_id)
     where fault like '%the values of 1 record differ from the payloads%' order by 1`,
  )
  return rows.map(({ place }) => place)
}

/** A value changed in the main table of each stream, in one record of each rooftop of `$1`. */
const changes: Readonly<Record<string, string>> = {
  users: `update core.app_user set display_name = 'changed' where display_name in (
    select rooftop_uid from core.rooftop where rooftop_id = any($1))`,
  evaluations: `update core.evaluation set final_price = 1 where (rooftop_id, eval_id) in (
    select rooftop_id, max(eval_id) from core.evaluation where rooftop_id = any($1) group by 1)`,
  pricing: `update core.price_observation set retail = 1 where (rooftop_id, eval_id) in (
    select rooftop_id, max(eval_id) from core.price_observation where rooftop_id = any($1) group by 1)`,
  'vehicle-checks': `update core.vehicle_check set searched_at = searched_at - interval '1 day' where rooftop_id = any($1)`,
  'stock-prices': `update core.stock_price_observation set wholesale = 1 where (rooftop_id, stock_no) in (
    select rooftop_id, max(stock_no) from core.stock_price_observation where rooftop_id = any($1) group by 1)`,
}

const shapes = {
  'one rooftop': [uids[1]!],
  'the rooftops of a group': uids.slice(0, 2),
  'the rooftops of two groups': uids,
}

/** Each test leaves the rows as the payloads have them. */
let fixture: Fixture

beforeAll(async () => {
  fixture = await loaded()
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const streamNames = Object.keys(changes)

/** A change in every stream, each in another shape of rooftops than in the next turn. */
test.each(someOf([0, 1, 2], 1))(
  'the job verify finds a changed value of every stream within its nights, also after the sums were built again (shapes %i)',
  async (turn) => {
    const { pool, config } = fixture.context
    const before = await verifyNight(fixture)
    expect(before).toMatchObject({ status: 'ok' })
    const planted = streamNames.map((stream, at) => {
      const all = Object.values(shapes)
      return { stream, at: all[(at + turn) % all.length]! }
    })
    for (const { stream, at } of planted) {
      const { rows } = await pool.query<{ id: number }>(
        'select rooftop_id as id from core.rooftop where rooftop_uid = any($1)',
        [at],
      )
      await pool.query(changes[stream]!, [rows.map(({ id }) => id)])
    }
    await pool.query('select core.agg_rebuild(rooftop_id) from core.rooftop')

    const nights = []
    for (let night = 0; night < withinNights; night++) nights.push(await verifyNight(fixture))
    const found = await faults(fixture)
    const rooftops = await findRooftops(fixture.context.db, config.rooftops)
    const health = await readStatus(fixture.context.db, allStreams, rooftops, config)
    const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
    const streams = allStreams.filter(({ name }) => name in changes)
    await runStreams(fixture.context, { plan, streams, rooftops: config.rooftops })
    const after = await verifyNight(fixture)

    const expected = planted.flatMap(({ stream, at }) => {
      // A user belongs to the group: each of its rooftops has the list that names the user.
      const places = stream === 'users' && at.length === 1 ? uids.slice(0, 2) : at
      return places.map((uid) => `${stream} ${uid}`)
    })
    expect(found).toEqual(expected.sort())
    expect(nights.at(-1)).toMatchObject({ status: 'partial' })
    for (const { stream, at } of planted)
      for (const uid of at)
        expect(health.rooftops[uid]!.streams[stream]!.error, stream).toContain(
          'the last verification found: the values of 1 record differ from the payloads (see "forecourt verify")',
        )
    expect([after.status, await faults(fixture)]).toEqual(['ok', []])
  },
)

test('a round that is stopped goes on where it was, and says how far it is', {
  tags: 'ci',
}, async () => {
  const { context } = fixture
  await context.pool.query('delete from ops.value_check')
  const config = { ...context.config, verify: { withinNights, minutes: 10 } }
  const rooftops = await findRooftops(context.db, config.rooftops)
  const share = async (signal = new AbortController().signal) =>
    await compareShare({ ...context, config }, valueComparisons(allStreams), rooftops, signal)
  const status = async () => await readValueStatus(context.db, allStreams, rooftops, withinNights)

  const never = await status()
  const stopped = await share(AbortSignal.abort())
  const nights = []
  for (let night = 0; night < withinNights; night++) {
    nights.push((await share()).records.values)
    await context.pool.query(
      "update ops.value_check set round_started_at = round_started_at - interval '1 day'",
    )
    if (night === 0) expect(await status()).toMatchObject({ restBy: expect.any(Date) })
  }

  expect(never).toEqual({ compared: 0, since: null, restBy: expect.any(Date), differences: [] })
  expect(stopped).toMatchObject({ records: { values: 0 }, isDone: false })
  // 36 records in all; those with one record in a stream of a rooftop are compared each night.
  expect(nights[0]).toBeLessThan(36)
  expect(nights.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(36)
  expect(await status()).toMatchObject({ compared: 1, restBy: null, differences: [] })
})

import { expect, test, vi } from 'vitest'
import { runJobWork } from '#src/app/scheduler/job-work.ts'
import { loadJobs } from '#src/app/scheduler/load-jobs.ts'
import { allStreams } from '#src/streams/all.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { compareShare } from '#src/sync/verify/verify-round.ts'
import { windowComparisons } from '#src/sync/verify/verify-windows.ts'
import type { Fixture } from '../support/fixture.ts'
import { loaded } from './rows-fixture.ts'

vi.setConfig({ testTimeout: 180_000 })

async function verifyNight({ context }: Fixture) {
  const job = (await loadJobs(context.config)).find(({ name }) => name === 'verify')!
  return await runJobWork(context, job)
}

async function ofRooftop({ database }: Fixture, sql: string): Promise<number> {
  const { rows } = await database.pool.query<{ value: number }>(
    `select (${sql})::int as value from core.rooftop where rooftop_uid = 'one-north'`,
  )
  return rows[0]!.value
}

const windows = `select count(*) from ops.window_certificate where rooftop_id = rooftop.rooftop_id`

test('the job verify compares the windows that were listed since, a share of the others, and again what differed', async () => {
  await using fixture = await loaded()
  const { pool } = fixture.database
  const { rows } = await pool.query('select count(*)::int as all from ops.window_certificate')
  const uid = 'one-north'
  const found = async () =>
    (
      await pool.query<{ uid: string }>(
        `select rooftop_uid as uid from ops.verification join core.rooftop using (rooftop_id) where fault ~ '^the stored rows of 1 window differ'`,
      )
    ).rows.map((row) => row.uid)

  const first = await verifyNight(fixture)
  // The others were listed a long time ago.
  await pool.query(`update ops.window_certificate set listed_at = listed_at - interval '10 days'`)
  await pool.query(`update ops.value_check set listed_through = listed_through - interval '9 days'`)
  await pool.query('delete from core.evaluation where eval_id = 1001')
  const second = await verifyNight(fixture)
  const unseen = await found()
  await pool.query(
    `update ops.window_certificate as listed set listed_at = listed_at + interval '10 days'
     from ops.certified_ids as own where own.ids @> '{1001}' and (own.rooftop_id, own.stream, own.window_from)
       = (listed.rooftop_id, listed.stream, listed.window_from)`,
  )
  await verifyNight(fixture)
  const seen = await found()
  await pool.query(`update ops.window_certificate set listed_at = listed_at - interval '10 days'`)
  const again = await verifyNight(fixture)

  expect(first).toMatchObject({ status: 'ok', counts: { windows: rows[0].all } })
  expect(second.counts!['windows']).toBe(3)
  expect([unseen, seen]).toEqual([[], [uid]])
  expect([again.status, again.counts!['windows'], await found()]).toEqual(['partial', 4, [uid]])
})

test('a round of windows that is stopped goes on where it was', async () => {
  await using fixture = await loaded()
  const { context } = fixture
  const config = { ...context.config, verify: { withinNights: 3, minutes: 10 } }
  const rooftops = await findRooftops(context.db, config.rooftops.slice(0, 1))
  const share = async (signal = new AbortController().signal) =>
    await compareShare({ ...context, config }, windowComparisons(allStreams), rooftops, signal)
  const total = await ofRooftop(fixture, windows)
  await share()
  await context.pool.query(`update ops.window_certificate set listed_at = '-infinity'`)
  await context.pool.query(`update ops.value_check set full_since = null`)

  const stopped = await share(AbortSignal.abort())
  const nights = []
  for (let night = 0; night < 3; night++) {
    nights.push((await share()).records.ids)
    await context.pool.query(
      "update ops.value_check set round_started_at = round_started_at - interval '1 day'",
    )
  }

  expect(stopped).toMatchObject({ records: { ids: 0 }, isDone: false })
  expect(Math.max(...nights)).toBeLessThan(total)
  expect(nights.reduce((sum, count) => sum + count)).toBe(total)
  const isWhole = `select count(*) from ops.value_check where rooftop_id = rooftop.rooftop_id and full_since is not null`
  expect(await ofRooftop(fixture, isWhole)).toBe(1)
})

test('the job verify compares the sums of a share of the months, and again those that differed', {
  tags: 'ci',
}, async () => {
  await using fixture = await loaded()
  const { context } = fixture
  const { pool } = context
  const config = { ...context.config, verify: { withinNights: 3, minutes: 10 } }
  const night = async () => {
    const result = await verifyNight({ ...fixture, context: { ...context, config } })
    await pool.query(
      "update ops.value_check set round_started_at = round_started_at - interval '1 day'",
    )
    return [result.status, await ofRooftop(fixture, differing)]
  }
  const differing = `select count(*) from ops.value_difference where kind = 'sums' and rooftop_id = rooftop.rooftop_id`

  const first = await night()
  // Sums of twelve months without evaluations, at one rooftop.
  await pool.query(
    `insert into core.agg_evaluation_day
     select day.* from core.agg_evaluation_day as own join core.rooftop using (rooftop_id) cross join generate_series(1, 12) as ago
     cross join lateral jsonb_populate_record(own, jsonb_build_object(
       'completed_date_local', (own.completed_date_local - make_interval(months => ago))::date)) as day
     where rooftop_uid = 'one-north'`,
  )
  const nights = [await night(), await night(), await night()]
  const { rows: faults } = await pool.query(
    `select rooftop_uid as uid, fault from ops.verification join core.rooftop using (rooftop_id) where fault is not null`,
  )
  await pool.query(`delete from core.agg_evaluation_day where completed_date_local < '2026-03-01'`)

  expect(first).toEqual(['ok', 0])
  expect(nights.map(([status]) => status)).toEqual(['partial', 'partial', 'partial'])
  expect(nights[0]![1]).toBeLessThan(nights[1]![1] as number)
  expect(nights[2]![1]).toBe(12)
  expect(faults).toEqual([
    {
      uid: 'one-north',
      fault: 'sums of the reports differ from their facts (see "forecourt verify")',
    },
  ])
  expect(await night()).toEqual(['ok', 0])
})

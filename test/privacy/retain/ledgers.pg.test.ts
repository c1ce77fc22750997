import { expect, test } from 'vitest'
import { applyRetention } from '#src/privacy/retain/apply-retention.ts'
import { allStreams } from '#src/streams/all.ts'
import { stockPrices } from '#src/streams/stock-prices/stock-prices.ts'
import { listRuns, readKnownRooftops, showRun } from '#src/sync/explain/run-history.ts'
import { readStatus } from '#src/sync/explain/status.ts'
import { readBackfills } from '#src/sync/run/backfills.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import { stockFixture, unitsOf } from '../../streams/stock-prices/stocked.ts'
import { someOf } from '../../support/cases.ts'
import { type Fixture, openFixture } from '../../support/fixture.ts'

const now = new Date('2026-03-10T06:30:00Z')

/** Moves the ends of all runs but the newest `young` ones back. */
async function ageRuns({ database }: Fixture, days: number, young: number): Promise<void> {
  await database.pool.query(
    `update ops.run set started_at = started_at - make_interval(days => $1), finished_at = finished_at - make_interval(days => $1)
     where run_id <= (select max(run_id) - $2 from ops.run)`,
    [days, young],
  )
}

async function partsOf({ database }: Fixture): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    'select run_id as run, count(*)::int as parts from ops.run_stream group by 1 order by 1',
  )
  return rows
}

test.for(someOf([3, 1], 1))(
  'an old run keeps its sums and not what it did for each of %i rooftops, and no state changes',
  async (rooftops) => {
    await using fixture = await openFixture({
      sandbox: { now, evaluations: 12, rooftops },
      streams: allStreams,
    })
    const { config, context } = fixture
    const { db } = context
    for (let night = 0; night < 4; night++)
      await (night === 0 ? fixture.night() : fixture.nightAfter(1))
    await fixture.database.pool.query(`update ops.run set lane = 'background' where run_id = 1`)
    await ageRuns(fixture, 91, 2)
    const facts = async () => ({
      runs: (await listRuns(db, {}, 10)).runs.map(({ isSummary: _, ...run }) => run),
      shown: (await showRun(db, 1, await readKnownRooftops(db)))!.streams,
      backfills: await readBackfills(db, config.sync),
      status: (await readStatus(db, allStreams, await findRooftops(db, config.rooftops), config))
        .rooftops,
    })
    const before = await facts()

    const first = await applyRetention(context)
    const again = await applyRetention(context)

    expect([first.runs, again.runs]).toEqual([2, 0])
    expect(await partsOf(fixture)).toEqual([3, 4].map((run) => ({ run, parts: 5 * rooftops })))
    expect(await facts()).toEqual(before)
    expect(before.shown['evaluations']!.inserted).toBeGreaterThan(0)
    expect((await listRuns(db, {}, 10)).runs.map(({ isSummary }) => isSummary)).toEqual([
      false,
      false,
      true,
      true,
    ])
  },
)

test('the last good run of a stream that fails since stays whole, as one that somebody may resume', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({ sandbox: { now, evaluations: 3 }, streams: allStreams })
  for (let night = 0; night < 4; night++)
    await (night === 0 ? fixture.night() : fixture.nightAfter(1))
  const { pool } = fixture.database
  await pool.query(
    `update ops.run_stream set status = 'failed' where stream = 'pricing' and run_id > 2`,
  )
  await pool.query(
    `update ops.run_stream set status = 'waiting' where stream = 'users' and run_id = 1`,
  )
  await ageRuns(fixture, 91, 1)

  const { runs } = await applyRetention(fixture.context)

  expect(runs).toBe(1)
  expect((await partsOf(fixture)).map((row) => (row as { run: number }).run)).toEqual([1, 2, 4])
})

test('price batches end with their payloads; the prices stay, verify, and are confirmed by the next night', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(unitsOf(3))
  const { context, config, database } = fixture
  const { pool } = database
  await fixture.night()
  await pool.query(`update ops.price_batch set finished_at = finished_at - interval '401 days'`)
  const counts = async () =>
    (
      await pool.query(
        `select (select count(*)::int from ops.price_batch) as batches, (select count(*)::int from ops.price_batch_unit) as units,
           (select count(*)::int from raw.payload) as payloads, (select count(*)::int from core.stock_price_observation) as prices`,
      )
    ).rows[0]
  expect(await counts()).toEqual({ batches: 1, units: 3, payloads: 1, prices: 3 })

  const first = await applyRetention(context)
  const left = await counts()
  const report = await fixture.nightAfter(1)

  expect([first.priceBatches, left]).toEqual([1, { batches: 0, units: 0, payloads: 0, prices: 3 }])
  expect(report.status).toBe('ok')
  expect((await applyRetention(context)).priceBatches).toBe(0)
  const rooftops = await findRooftops(context.db, config.rooftops)
  const { rows } = await verifyRows(context, [stockPrices], rooftops, null, context.signal)
  expect(rows).toEqual([])
})

test('runs of jobs and actions in the console end, but not the newest run of a job', async () => {
  await using fixture = await openFixture({ sandbox: { now, evaluations: 1 } })
  const { pool } = fixture.database
  await pool.query(
    `insert into ops.job_fire (job_name, cause, slot_at, status, host, process_id, claimed_at, finished_at)
     select name, 'schedule', at, 'ok', 'h', 1, at, at
     from (values ('verify', 402), ('verify', 401), ('verify', 399), ('lake', 500), ('stock-inbox', 15), ('stock-inbox', 13)) as run (name, days),
       lateral (select now() - make_interval(days => days) as at) as made`,
  )
  await pool.query(
    `insert into ops.console_action (email, role, action, at)
     select 'a@example.com', 'viewer', 'export', now() - make_interval(days => days) from unnest(array[401, 399]) as days`,
  )

  const report = await applyRetention(fixture.context)

  expect([report.jobRuns, report.consoleActions]).toEqual([3, 1])
  const { rows } = await pool.query(
    `select job_name as job, extract(day from now() - claimed_at)::int as days from ops.job_fire order by 1, 2`,
  )
  expect(rows).toEqual([
    { job: 'lake', days: 500 },
    { job: 'stock-inbox', days: 13 },
    { job: 'verify', days: 399 },
  ])
})

test('webhooks end once their day is counted: the mart shows the same, and later days are counted on', async () => {
  await using fixture = await openFixture({
    sandbox: { now, evaluations: 80, days: 60, rooftops: 3 },
    sync: { start: '2026-01-01T00:00:00Z' },
  })
  await fixture.night()
  const { pool } = fixture.database
  await pool.query(
    `insert into ops.webhook_subscription (rooftop_id, event, subscription_id, url, header_hash, since)
     select rooftop_id, 'ON_COMPLETE', 1, 'https://a', decode(repeat('00', 32), 'hex'), '2020-01-01' from core.rooftop`,
  )
  // Up to 8 hours late, some at a sibling, some never, some twice.
  await pool.query(
    `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_event_at, source_received_at, received_at,
       duplicates, outcome, processed_at)
     select 'ON_COMPLETE', sibling, eval_id, sha256(eval_id::text::bytea), case when is_loaded then 'processed' else 'waiting' end,
       completed_at, completed_at + late, completed_at + late, eval_id % 2,
       case when is_loaded then 'updated' end, case when is_loaded then completed_at + late * 2 end
     from core.evaluation as e, lateral (
       select eval_id % 5 > 0 as is_loaded, make_interval(hours => (eval_id % 9)::int) as late, case when eval_id % 7 = 0
         then (select max(rooftop_id) from core.rooftop as s where s.group_id = e.group_id) else rooftop_id end as sibling
     ) as made
     where completed_at is not null and eval_id % 4 > 0`,
  )
  // One that names no rooftop is in no row of the mart.
  await pool.query(
    `insert into ops.webhook_delivery (event, body_hash, state, source_received_at, received_at)
     values ('not told', sha256('x'), 'unusable', '2026-01-02', '2026-01-02')`,
  )
  const mart = async () =>
    (await pool.query('select * from mart.webhook_latency order by webhook_date, rooftop_id')).rows
  const read = async <T>(sql: string) => (await pool.query<{ value: T }>(sql)).rows[0]!.value
  const count = () => read<number>('select count(*)::int as value from ops.webhook_delivery')
  const retain = async (day: string) => {
    const { config, context } = fixture
    const ledgerDays = (Date.now() - Date.parse(day)) / 86_400_000
    const retention = { ...config.retention, ledgerDays }
    return (await applyRetention({ ...context, config: { ...config, retention } })).webhooks
  }
  const before = await mart()
  const days = before.map((row) => row.webhook_date as string)
  const total = (name: string) => before.reduce((sum, row) => sum + row[name], 0)
  expect(total('missed')).toBe(
    await read<number>(
      'select count(*)::int as value from core.evaluation where completed_at is not null and (eval_id % 4 = 0 or eval_id % 9 >= 6)',
    ),
  )
  expect(total('expected')).toBeGreaterThan(total('missed'))
  let left = await count()
  expect(left).toBe(total('deliveries') + 1)

  for (const share of [0, 0.3, 0.6, 0.6]) {
    const day = days[Math.floor(days.length * share)]!
    // Two hosts at the same time.
    const deleted = (await Promise.all([retain(day), retain(day)])).reduce((a, b) => a + b)

    expect(await mart()).toEqual(before)
    const last = left
    left = await count()
    expect(left).toBe(last - deleted)
  }

  const lastDay = await read<string>('select last_date::text as value from ops.webhook_settled')
  const old = `select count(*)::int as value from ops.webhook_delivery where received_at < '${lastDay}'::date - 2`
  expect(await read<number>(old)).toBe(0)
  expect(left).toBeLessThan(total('deliveries') * 0.6)
  await pool.query(`update ops.webhook_delivery set duplicates = duplicates + 1`)
  const changed = (await mart()).filter((row, index) => row.duplicates !== before[index].duplicates)
  expect(changed.length).toBeGreaterThan(0)
  for (const row of changed) expect(row.webhook_date > lastDay).toBe(true)
})

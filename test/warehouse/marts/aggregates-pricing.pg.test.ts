import type pg from 'pg'
import { expect, test } from 'vitest'
import { buildMarts } from '#src/warehouse/db/marts.ts'
import { applyChange } from '../../support/aggregates-apply.ts'
import { countPricing, storedRows } from '../../support/aggregates-counted.ts'
import {
  changeAll,
  differences,
  inSession,
  sampleEvaluation,
  writeFacts,
} from '../../support/aggregates-fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'

test('a price that is added, confirmed, replaced or deleted is counted at each step', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation], [])
  const price = { rooftop: 1, id: 1, outcome: 'price', day: 1 } as const
  const steps = [
    (client: pg.PoolClient) => applyChange(client, { does: 'ask', asking: price }),
    (client: pg.PoolClient) => applyChange(client, { does: 'ask', asking: price }),
    (client: pg.PoolClient) => client.query('update core.price_observation set is_current = false'),
    (client: pg.PoolClient) => applyChange(client, { does: 'ask', asking: { ...price, day: 2 } }),
    (client: pg.PoolClient) => client.query('delete from core.price_observation'),
    (client: pg.PoolClient) => client.query("update ops.enrichment_state set outcome = 'skipped'"),
    (client: pg.PoolClient) => client.query('delete from ops.enrichment_state'),
  ]

  const found: unknown[] = []
  for (const step of steps) {
    await changeAll(database.pool, step)
    expect(await storedRows(database.pool, 'agg_pricing_day')).toEqual(
      await countPricing(database.pool),
    )
    found.push((await storedRows(database.pool, 'agg_pricing_day'))[0]?.slice(13))
  }

  expect(found).toEqual([
    ...['1 1 0 0', '1 1 0 0', '1 0 0 0', '1 1 0 0', '1 0 0 0', '1 0 1 0', undefined],
  ])
})

test('the age of prices is counted by the calendar of the rooftop, also after it moved to another zone', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation], [])
  await database.pool.query(
    `insert into core.rooftop_group (group_code) values ('g');
     insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
     values ('u', 1, 'North', 'AU', 'Australia/Sydney', 'AUD', 'km')`,
  )
  await inSession(database.pool, (client) =>
    applyChange(client, { does: 'ask', asking: { rooftop: 1, id: 1, outcome: 'price', day: 1 } }),
  )
  await buildMarts(database.pool)
  const confirmed = async () =>
    (
      await database.pool.query<Record<string, unknown>>(
        `select month_start::text, priced, oldest_confirmed_at::text as oldest,
           ((now() at time zone time_zone)::date - average_age_days::int)::text as day
         from mart.rpt_08_pricing_coverage join core.rooftop using (rooftop_id)`,
      )
    ).rows
  const inSydney = await confirmed()

  await changeAll(database.pool, (client) =>
    client.query(
      `update core.rooftop set time_zone = 'America/Chicago';
       update core.evaluation set completed_date_local = (completed_at at time zone 'America/Chicago')::date`,
    ),
  )

  // Confirmed at midnight UTC of 21 January: still the 20th in Chicago.
  const row = { month_start: '2026-01-01', priced: 1, oldest: '2026-01-21 00:00:00+00' }
  expect(inSydney).toEqual([{ ...row, day: '2026-01-21' }])
  expect(await confirmed()).toEqual([{ ...row, day: '2026-01-20' }])
  // The day of completion is calculated again from its instant, too.
  expect(await storedRows(database.pool, 'agg_pricing_day')).toEqual(['1 2026-01-19 1 1 0 0'])
  expect(await differences(database.pool)).toEqual([])
})

test('a falsified sum of prices is reported, and repaired by a rebuild', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation], [])
  await inSession(database.pool, (client) =>
    applyChange(client, { does: 'ask', asking: { rooftop: 1, id: 1, outcome: 'price', day: 1 } }),
  )
  await database.pool.query("update core.agg_appraisal set price_outcome = 'failed'")
  await database.pool.query('update core.agg_pricing_day set priced = 0')

  const named = await differences(database.pool)
  await database.pool.query('select core.agg_rebuild(1)')

  const day = { rooftop_id: 1, completed_date_local: '2026-01-31' }
  expect(named).toEqual([
    { aggregate: 'agg_appraisal', ...day },
    { aggregate: 'agg_pricing_day', ...day },
  ])
  expect(await differences(database.pool)).toEqual([])
  expect(await storedRows(database.pool, 'agg_pricing_day')).toEqual(
    await countPricing(database.pool),
  )
})

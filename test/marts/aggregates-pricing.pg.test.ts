import type pg from 'pg'
import { expect, test } from 'vitest'
import { countPricing, storedRows } from '../support/aggregates-counted.ts'
import {
  changeAll,
  differences,
  inSession,
  sampleEvaluation,
  writeFacts,
} from '../support/aggregates-fixture.ts'
import { applyChange } from '../support/aggregates-apply.ts'
import { createTestDatabase } from '../support/postgres.ts'

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
    found.push((await storedRows(database.pool, 'agg_pricing_day'))[0]?.slice(13, 25))
  }

  expect(found).toEqual([
    ...['1 1 0 0 9517', '1 1 0 0 9518', '1 0 0 0 0 ', '1 1 0 0 9518'],
    ...['1 0 0 0 0 ', '1 0 1 0 0 ', undefined],
  ])
})

test('prices are counted by the calendar of the rooftop, also after it moved to another zone', async () => {
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
  const inSydney = await storedRows(database.pool, 'agg_pricing_day')

  await changeAll(database.pool, (client) =>
    client.query(
      `update core.rooftop set time_zone = 'America/Chicago';
       update core.evaluation set completed_date_local = (completed_at at time zone 'America/Chicago')::date`,
    ),
  )

  // Confirmed at midnight UTC of 21 January 2026, day 9517: still the 20th in Chicago.
  expect(inSydney[0]).toMatch(/^1 2026-01-31 1 1 0 0 9517 2026-01-21/)
  // The day of completion is calculated again from its instant, too.
  expect((await storedRows(database.pool, 'agg_pricing_day'))[0]).toMatch(
    /^1 2026-01-19 1 1 0 0 9516 /,
  )
  expect(await differences(database.pool)).toEqual([])
})

test('a falsified sum of prices is reported, and repaired by a rebuild', async () => {
  await using database = await createTestDatabase()
  await writeFacts(database, [sampleEvaluation], [])
  await inSession(database.pool, (client) =>
    applyChange(client, { does: 'ask', asking: { rooftop: 1, id: 1, outcome: 'price', day: 1 } }),
  )
  await database.pool.query("update core.agg_appraisal set price_outcome = 'failed'")
  await database.pool.query('update core.agg_pricing_day set oldest_confirmed_at = null')

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

import type pg from 'pg'
import { expect, test } from 'vitest'
import { applyChange } from '../../support/aggregates-apply.ts'
import { storedRows } from '../../support/aggregates-counted.ts'
import {
  allCounted,
  allStored,
  changeAll,
  sampleEvaluation,
} from '../../support/aggregates-fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const australian = { ...sampleEvaluation, currency: 'AUD', price: '18000.5', recon: '100' }
const asked = { rooftop: 1, id: 1, outcome: 'price' } as const

test('an appraisal is compared with its first and its current price, in any order of loading', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const steps = [
    (client: pg.PoolClient) => applyChange(client, { does: 'ask', asking: { ...asked, day: 1 } }),
    (client: pg.PoolClient) =>
      applyChange(client, { does: 'insert', evaluation: australian, lines: [] }),
    (client: pg.PoolClient) => applyChange(client, { does: 'ask', asking: { ...asked, day: 2 } }),
    (client: pg.PoolClient) => client.query('update core.evaluation set recon_total = null'),
    (client: pg.PoolClient) =>
      client.query('delete from core.price_observation where not is_current'),
    (client: pg.PoolClient) => client.query("update core.price_observation set wholesale = '10'"),
    (client: pg.PoolClient) => client.query("update core.evaluation set currency_code = 'KWD'"),
    (client: pg.PoolClient) => client.query('update core.evaluation set final_price = null'),
  ]

  const found: unknown[] = []
  for (const step of steps) {
    await changeAll(pool, step)
    expect(await allStored(pool)).toEqual(await allCounted(pool))
    found.push((await storedRows(pool, 'agg_appraisal'))[0])
  }

  const key = '1 1 2026-01-31 AUD 18000.500'
  const first = '16000.500 20000.000'
  expect(found).toEqual([
    undefined,
    `${key} 100.000 ${first} ${first} 2000.000 0.1250 1899.500 1899.500`,
    `${key} 100.000 ${first} 0.000 20000.000 2000.000 0.1250 1899.500 1899.500`,
    `${key} 50.000 ${first} 0.000 20000.000 2000.000 0.1250 1949.500 1949.500`,
    `${key} 50.000 0.000 20000.000 0.000 20000.000 18000.500  1949.500 1949.500`,
    `${key} 50.000 10.000 20000.000 10.000 20000.000 17990.500 999.9999 1949.500 1949.500`,
    '1 1 2026-01-31 KWD 18000.500 50.000        ',
    undefined,
  ])
})

import { sql } from 'kysely'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { lockSql } from '#src/warehouse/db/locks.ts'
import { refreshSums } from '#src/warehouse/db/sums.ts'
import { dbOn } from '#src/warehouse/db/transaction.ts'
import type { SmallEvaluation } from '../../support/aggregates.ts'
import { applyChange } from '../../support/aggregates-apply.ts'
import { storedRows } from '../../support/aggregates-counted.ts'
import {
  allCounted,
  allStored,
  changeAll,
  inSession,
  repeatDifferences,
  sampleEvaluation,
  writeFacts,
} from '../../support/aggregates-fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'

const again: SmallEvaluation = {
  ...sampleEvaluation,
  ...{ rooftop: 2, id: 2, day: '2026-03-01', price: '12000', vin: 'jtmdfrev90d123456' },
}

async function repeats(pool: pg.Pool): Promise<readonly string[]> {
  return await storedRows(pool, 'agg_repeat_vehicle')
}

/** How many sessions wait for a lock. */
async function waiting(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0].n
}

test('a vehicle is counted from its second evaluation on, in any letter case, while it has two', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await writeFacts(
    database,
    [
      sampleEvaluation,
      { ...sampleEvaluation, id: 3, vin: null },
      { ...sampleEvaluation, id: 4, vin: 'short' },
    ],
    [],
  )
  const first = await repeats(pool)
  const steps = [
    () => writeFacts(database, [again], []),
    () =>
      changeAll(pool, (client) =>
        client.query('update core.evaluation set final_price = null where eval_id = 1'),
      ),
    () =>
      changeAll(pool, (client) =>
        client.query('update core.evaluation set rooftop_id = 1 where eval_id = 2'),
      ),
    () =>
      changeAll(pool, (client) =>
        client.query("update core.evaluation set currency_code = 'AUD' where eval_id = 2"),
      ),
    () =>
      changeAll(pool, (client) =>
        client.query("update core.evaluation set currency_code = 'KWD' where eval_id = 2"),
      ),
    () =>
      changeAll(pool, (client) =>
        client.query('update core.evaluation set group_id = 2 where eval_id = 2'),
      ),
    () => changeAll(pool, (client) => client.query('update core.evaluation set group_id = 2')),
    () =>
      changeAll(pool, (client) =>
        client.query('update core.evaluation set gone_at = now() where eval_id = 1'),
      ),
    () => changeAll(pool, (client) => client.query('update core.evaluation set gone_at = null')),
    () =>
      changeAll(pool, (client) =>
        client.query("update core.evaluation set vin = null where vin like 'j%'"),
      ),
    () =>
      changeAll(pool, (client) =>
        client.query("update core.evaluation set vin = 'JTMDFREV90D123456' where eval_id = 3"),
      ),
    () =>
      changeAll(pool, (client) => client.query('delete from core.evaluation where eval_id = 3')),
  ]

  const found: string[] = []
  for (const step of steps) {
    await step()
    expect(await allStored(pool)).toEqual(await allCounted(pool))
    found.push((await repeats(pool)).join() || 'none')
  }

  const vehicle = 'JTMDFREV90D123456 KWD 2'
  expect(first).toEqual([])
  expect(found).toEqual([
    `1 ${vehicle} 2 2026-01-31 2026-03-01 10.125 12000.000`,
    `1 ${vehicle} 2 2026-01-31 2026-03-01 12000.000 12000.000`,
    `1 ${vehicle} 1 2026-01-31 2026-03-01 12000.000 12000.000`,
    ...['none', `1 ${vehicle} 1 2026-01-31 2026-03-01 12000.000 12000.000`, 'none'],
    `2 ${vehicle} 1 2026-01-31 2026-03-01 12000.000 12000.000`,
    ...['none', `2 ${vehicle} 1 2026-01-31 2026-03-01 12000.000 12000.000`, 'none'],
    ...[`2 ${vehicle} 1 2026-01-31 2026-01-31 10.125 10.125`, 'none'],
  ])
})

test('two rooftops that appraise a vehicle at once make a repeat of it', async () => {
  await using database = await createTestDatabase()
  const clients = await Promise.all([0, 1, 2].map(() => database.pool.connect()))
  const [first, second, third] = clients as [pg.PoolClient, pg.PoolClient, pg.PoolClient]
  await first.query('begin')
  await second.query('begin')
  await applyChange(first, { does: 'insert', evaluation: sampleEvaluation, lines: [] })
  await applyChange(second, { does: 'insert', evaluation: again, lines: [] })
  await sql`
    select ${lockSql.waitSession('vehicles', sql`place`)}
    from generate_series(256, 511) as place`.execute(dbOn(third))
  const commits = [first, second].map(async (client) => await client.query('commit'))
  await expect.poll(async () => await waiting(database.pool), { timeout: 5000 }).toBe(2)

  await third.query('select pg_advisory_unlock_all()')
  await Promise.all(commits)

  expect(await repeats(database.pool)).toEqual([
    '1 JTMDFREV90D123456 KWD 2 2 2026-01-31 2026-03-01 10.125 12000.000',
  ])
  expect(await repeatDifferences(database.pool)).toEqual([])
  for (const client of clients) client.release()
})

test('rooftops of different groups do not wait for each other', async () => {
  await using database = await createTestDatabase()
  await writeFacts(
    database,
    [sampleEvaluation, { ...sampleEvaluation, id: 2, rooftop: 2, vin: null }],
    [],
  )
  await changeAll(database.pool, (client) =>
    client.query('update core.evaluation set group_id = 2 where rooftop_id = 2'),
  )
  const first = await database.pool.connect()
  await first.query('begin')
  await first.query('update core.evaluation set final_price = 1 where rooftop_id = 1')
  await refreshSums(dbOn(first), [1], [1])

  await inSession(database.pool, async (client) => {
    await client.query("set lock_timeout = '5s'")
    await client.query('update core.evaluation set final_price = 1 where rooftop_id = 2')
    await refreshSums(dbOn(client), [2], [2])
  })

  await first.query('commit')
  first.release()
})

test('the differences name the falsified vehicles of the given group until they are rebuilt', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await writeFacts(
    database,
    [sampleEvaluation, again, { ...sampleEvaluation, id: 5 }, { ...again, id: 6 }],
    [],
  )
  await changeAll(pool, (client) =>
    client.query('update core.evaluation set group_id = 2 where eval_id > 2'),
  )

  await pool.query('update core.agg_repeat_vehicle set lowest_price = 0 where group_id = 1')
  await pool.query('delete from core.agg_repeat_vehicle where group_id = 2')
  await pool.query(
    `insert into core.agg_repeat_vehicle values (2, 'WBA00000000000000', 'AUD', 2, 1, '2026-01-01', '2026-01-01', null, null)`,
  )
  await pool.query('delete from core.vehicle where group_id = 1')
  await pool.query(
    `insert into core.vehicle (group_id, vin, vehicle_key, evaluations, is_in_stock) values (2, 'WBA00000000000000', '2-WBA00000000000000', 1, false)`,
  )
  const all = await repeatDifferences(pool)
  const second = await repeatDifferences(pool, 2)
  await pool.query('select core.vehicle_rebuild(group_id) from generate_series(1, 2) as group_id')

  const difference = (aggregate: string, group_id: number, vin = 'JTMDFREV90D123456') => ({
    ...{ aggregate, group_id, vin },
  })
  expect(all).toEqual([
    difference('agg_repeat_vehicle', 1),
    difference('agg_repeat_vehicle', 2),
    difference('agg_repeat_vehicle', 2, 'WBA00000000000000'),
    difference('vehicle', 1),
    difference('vehicle', 2, 'WBA00000000000000'),
  ])
  expect(second).toEqual(all.filter((row) => (row as { group_id: number }).group_id === 2))
  expect(await repeatDifferences(pool)).toEqual([])
  expect(await allStored(pool)).toEqual(await allCounted(pool))
})

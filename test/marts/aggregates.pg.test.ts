import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { migrate } from '#src/db/migrate.ts'
import { migrationsFolder } from '#src/db/migration-files.ts'
import { type Deed, deeds, type SmallEvaluation, type SmallLine } from '../support/aggregates.ts'
import { perform } from '../support/aggregates-perform.ts'
import {
  countEvaluations,
  countPricing,
  countRecon,
  keptRows,
} from '../support/aggregates-counted.ts'
import { openHouse } from '../support/nights.ts'
import { createTestDatabase, emptyTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const numRuns = Number(process.env['FORECOURT_WORLDS'] ?? 100)
const seed = process.env['FORECOURT_SEED']

const one: SmallEvaluation = {
  ...{ rooftop: 1, id: 1, day: '2026-01-31', user: 7, currency: 'KWD', price: '10.125' },
  ...{ photos: 8, hero: 'manual', source: 'CreatedAt', seconds: 300, gone: false },
}
const paint: SmallLine = {
  ...{ rooftop: 1, id: 1, first: 1, line: 1, last: null, type: 'paint', cost: '99.995' },
}

test('a row counts what the document of the table says, bounds of the buckets included', async () => {
  await using database = await createTestDatabase()
  const evaluations = [
    one,
    { ...one, id: 2, seconds: 301, hero: null, price: '0' },
    { ...one, id: 3, seconds: 86_400, photos: 7, hero: 'default', price: null },
    { ...one, id: 4, seconds: 86_401, photos: 0, hero: null },
    { ...one, id: 5, seconds: -1 },
    { ...one, id: 6, source: 'EntryDate' as const },
    { ...one, id: 7, gone: true },
  ]

  await write(database, evaluations, [
    paint,
    { ...paint, line: 2, first: 2 },
    { ...paint, line: 3, last: 1 },
  ])

  expect(await keptRows(database.pool, 'agg_evaluation_day')).toEqual([
    '1 2026-01-31 7 KWD 6 5 40.500 39 1 1 1 1 3 4 1 1 0 0 0 0 0 0 1 1 0 0',
  ])
  expect(await keptRows(database.pool, 'agg_recon_day')).toEqual([
    '1 2026-01-31 paint KWD 199.990 199.990 1',
  ])
})

test('all sums follow whatever is done to the facts, by two at once', async () => {
  const transactions = fc.array(
    fc.record({
      deeds: fc.array(deeds, { minLength: 1, maxLength: 5 }),
      ends: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
    }),
    { maxLength: 4 },
  )
  await using database = await createTestDatabase()

  await fc.assert(
    fc.asyncProperty(transactions, transactions, async (ours, theirs) => {
      await database.pool.query(
        'truncate core.evaluation, core.reconditioning_item, core.price_observation, ops.enrichment_state',
      )

      await Promise.all([ours, theirs].map((chain) => performAll(database.pool, chain)))

      expect(await keptRows(database.pool, 'agg_evaluation_day')).toEqual(
        await countEvaluations(database.pool),
      )
      expect(await keptRows(database.pool, 'agg_recon_day')).toEqual(
        await countRecon(database.pool),
      )
      expect(await keptRows(database.pool, 'agg_pricing_day')).toEqual(
        await countPricing(database.pool),
      )
      expect(await differences(database.pool)).toEqual([])
    }),
    { numRuns, endOnFailure: true, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  )
}, 240_000)

test('who writes lines waits for whoever is writing their evaluation', async () => {
  await using database = await createTestDatabase()
  const first = await database.pool.connect()
  const second = await database.pool.connect()
  await first.query('begin')
  await second.query('begin')
  await perform(first, { does: 'insert', evaluation: one, lines: [] })
  const lines = perform(second, { does: 'lines', lines: [paint] })
  while ((await advisoryLocks(database.pool, 'not granted')) === 0) await sleep(5)

  await first.query('commit')
  await lines
  await second.query('commit')

  expect(await keptRows(database.pool, 'agg_recon_day')).toEqual([
    '1 2026-01-31 paint KWD 99.995 99.995 1',
  ])
  first.release()
  second.release()
})

test('a transaction that does not see what others commit is refused', async () => {
  await using database = await createTestDatabase()

  const refused = inSession(database.pool, async (client) => {
    await client.query('begin isolation level repeatable read')
    await perform(client, { does: 'insert', evaluation: one, lines: [] })
  })

  await expect(refused).rejects.toThrow('written under read committed alone')
})

test('columns that are not counted change without a write or a lock', async () => {
  await using database = await createTestDatabase()
  await write(database, [one], [paint])
  const before = await places(database.pool)
  let locks: number | undefined

  await inSession(database.pool, async (client) => {
    await client.query('begin')
    await client.query(
      "update core.evaluation set entry_at = now(), colour = 'red', source_updated_at = now()",
    )
    locks = await advisoryLocks(client, 'granted')
    await client.query('commit')
  })

  expect(locks).toBe(0)
  expect(await places(database.pool)).toEqual(before)
})

test('an evaluation that is replaced by itself leaves the other days as they stand', async () => {
  await using database = await createTestDatabase()
  const other = { ...one, id: 2, day: '2026-02-01' }
  await write(database, [one, other], [paint, { ...paint, id: 2 }])
  const before = await places(database.pool, "where completed_date_local = '2026-02-01'")

  await inSession(database.pool, (client) =>
    perform(client, { does: 'reload', evaluation: one, lines: [paint] }),
  )

  expect(await places(database.pool, "where completed_date_local = '2026-02-01'")).toEqual(before)
  expect(await differences(database.pool)).toEqual([])
})

test('the differences name the days that somebody falsified, of the rooftop that is asked for', async () => {
  await using database = await createTestDatabase()
  await write(database, [one, { ...one, id: 2, rooftop: 2 }], [paint])

  await database.pool.query('update core.agg_evaluation_day set value_sum = value_sum + 0.001')
  await database.pool.query('delete from core.agg_recon_day')

  const day = { completed_date_local: '2026-01-31' }
  expect(await differences(database.pool)).toEqual([
    { aggregate: 'agg_evaluation_day', rooftop_id: 1, ...day },
    { aggregate: 'agg_evaluation_day', rooftop_id: 2, ...day },
    { aggregate: 'agg_recon_day', rooftop_id: 1, ...day },
  ])
  expect(await differences(database.pool, 2)).toEqual([
    { aggregate: 'agg_evaluation_day', rooftop_id: 2, ...day },
  ])
})

test('a price that comes, is confirmed, falls away or is deleted is counted at each step', async () => {
  await using database = await createTestDatabase()
  await write(database, [one], [])
  const price = { rooftop: 1, id: 1, outcome: 'price', day: 1 } as const
  const steps = [
    (client: pg.PoolClient) => perform(client, { does: 'ask', asking: price }),
    (client: pg.PoolClient) => perform(client, { does: 'ask', asking: price }),
    (client: pg.PoolClient) => client.query('update core.price_observation set is_current = false'),
    (client: pg.PoolClient) => perform(client, { does: 'ask', asking: { ...price, day: 2 } }),
    (client: pg.PoolClient) => client.query('delete from core.price_observation'),
    (client: pg.PoolClient) => client.query("update ops.enrichment_state set outcome = 'skipped'"),
    (client: pg.PoolClient) => client.query('delete from ops.enrichment_state'),
  ]

  const found: unknown[] = []
  for (const step of steps) {
    await inSession(database.pool, async (client) => void (await step(client)))
    expect(await keptRows(database.pool, 'agg_pricing_day')).toEqual(
      await countPricing(database.pool),
    )
    found.push((await keptRows(database.pool, 'agg_pricing_day'))[0]?.slice(13, 25))
  }

  expect(found).toEqual([
    ...['1 1 0 0 9517', '1 1 0 0 9518', '1 0 0 0 0 ', '1 1 0 0 9518'],
    ...['1 0 0 0 0 ', '1 0 1 0 0 ', undefined],
  ])
})

test('prices are counted by the calendar of the rooftop, also after it moved to another zone', async () => {
  await using database = await createTestDatabase()
  await write(database, [one], [])
  await database.pool.query(
    `insert into core.rooftop_group (group_code) values ('g');
     insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
     values ('u', 1, 'North', 'AU', 'Australia/Sydney', 'AUD', 'km')`,
  )
  await inSession(database.pool, (client) =>
    perform(client, { does: 'ask', asking: { rooftop: 1, id: 1, outcome: 'price', day: 1 } }),
  )
  const inSydney = await keptRows(database.pool, 'agg_pricing_day')

  await database.pool.query("update core.rooftop set time_zone = 'America/Chicago'")

  // Confirmed at midnight UTC of 21 January 2026, day 9517: still the 20th in Chicago.
  expect(inSydney[0]).toMatch(/^1 2026-01-31 1 1 0 0 9517 2026-01-21/)
  expect((await keptRows(database.pool, 'agg_pricing_day'))[0]).toMatch(
    /^1 2026-01-31 1 1 0 0 9516 /,
  )
  expect(await differences(database.pool)).toEqual([])
})

test('a truncate empties the days', async () => {
  await using database = await createTestDatabase()
  await write(database, [one], [paint])

  await database.pool.query('truncate core.evaluation')

  expect(await keptRows(database.pool, 'agg_evaluation_day')).toEqual([])
  expect(await keptRows(database.pool, 'agg_recon_day')).toEqual([])
})

test('a warehouse that was loaded before has its days after the migration', async () => {
  await using database = await emptyTestDatabase()
  await using older = await temporaryFolder()
  await cp(migrationsFolder(), older.path, { recursive: true })
  for (const name of await readdir(older.path)) if (name >= '0081') await rm(join(older.path, name))
  await migrate(database.pool, older.path)
  await write(database, [one, { ...one, id: 2, user: null }], [paint])

  await migrate(database.pool)

  expect(await keptRows(database.pool, 'agg_evaluation_day')).toEqual(
    await countEvaluations(database.pool),
  )
  expect(await keptRows(database.pool, 'agg_evaluation_day')).toHaveLength(2)
  expect(await keptRows(database.pool, 'agg_recon_day')).toEqual(await countRecon(database.pool))
  expect(await differences(database.pool)).toEqual([])
})

test('nights with late edits, moves and vanished evaluations leave the days exact', async () => {
  const world = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 6, evaluations: 400, days: 9 }
  await using house = await openHouse({ sandbox: world, dealerIds: false })
  await house.night()
  await house.nightAfter(2)
  await house.nightAfter(5)

  const { pool } = house.database
  const kept = await keptRows(pool, 'agg_evaluation_day')
  expect(kept.length).toBeGreaterThan(20)
  expect(kept).toEqual(await countEvaluations(pool))
  expect(await keptRows(pool, 'agg_recon_day')).toEqual(await countRecon(pool))
})

test('percentiles lie inside their bucket', async () => {
  await using database = await createTestDatabase()
  const percentiles = async (counts: readonly number[]) => {
    const { rows } = await database.pool.query<{ median: string | null; ninth: string | null }>(
      'select core.bucket_percentile($1, 0.5) as median, core.bucket_percentile($1, 0.9) as ninth',
      [Array.from({ length: 12 }, (_, index) => counts[index] ?? 0)],
    )
    return [rows[0]!.median, rows[0]!.ninth]
  }

  expect(await percentiles([])).toEqual([null, null])
  expect(await percentiles([1])).toEqual(['2.50', '4.50'])
  expect(await percentiles([0, 0, 0, 10])).toEqual(['22.50', '28.50'])
  expect(await percentiles([2, 2])).toEqual(['5.00', '9.00'])
  expect(await percentiles([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])).toEqual(['5.00', '36576.00'])
})

/** Lines first: they are counted when their evaluation comes. */
async function write(
  { pool }: TestDatabase,
  evaluations: readonly SmallEvaluation[],
  lines: readonly SmallLine[],
): Promise<void> {
  await inSession(pool, async (client) => {
    await perform(client, { does: 'lines', lines })
    for (const evaluation of evaluations)
      await perform(client, { does: 'insert', evaluation, lines: [] })
  })
}

async function inSession(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await pool.connect()
  let broken = true
  try {
    await work(client)
    broken = false
  } finally {
    client.release(broken)
  }
}

interface Transaction {
  readonly deeds: readonly Deed[]
  readonly ends: string
}

// A deadlock, and a key that the other one has taken: the transaction has done nothing.
const refusals = new Set(['40P01', '23505'])

async function performAll(pool: pg.Pool, chain: readonly Transaction[]): Promise<void> {
  await inSession(pool, async (client) => {
    await client.query("set deadlock_timeout = '20ms'")
    for (const { deeds, ends } of chain) {
      await client.query('begin')
      try {
        for (const deed of deeds) await perform(client, deed)
        await client.query(ends)
      } catch (error) {
        await client.query('rollback')
        if (!refusals.has((error as { code?: string }).code ?? '')) throw error
      }
    }
    await client.query('reset deadlock_timeout')
  })
}

async function differences(pool: pg.Pool, rooftop: number | null = null): Promise<unknown[]> {
  const { rows } = await pool.query('select * from core.agg_differences($1) order by 1, 2, 3', [
    rooftop,
  ])
  return rows
}

async function advisoryLocks(
  client: pg.Pool | pg.PoolClient,
  which: 'granted' | 'not granted',
): Promise<number> {
  const { rows } = await client.query(
    `select from pg_locks where locktype = 'advisory' and ${which}
       and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows.length
}

async function places(pool: pg.Pool, where = ''): Promise<unknown[]> {
  const { rows } = await pool.query(
    `select ctid::text, xmin::text from core.agg_evaluation_day ${where}
     union all select ctid::text, xmin::text from core.agg_recon_day ${where}`,
  )
  return rows
}

import type pg from 'pg'
import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { someOf } from '../support/cases.ts'
import { type Fixture, openFixture, runNight } from '../support/fixture.ts'

const world = { now: new Date('2026-03-20T02:15:00Z'), rooftops: 6, evaluations: 300, days: 9 }
const schemas = ['core', 'pii', 'raw']

test.each(
  someOf(
    [
      ['list items that carry an update time', true],
      ['list items that carry none', false],
    ],
    1,
  ),
)('an immediate second run rewrites nothing, with %s', async (_, listCarriesUpdatedAt) => {
  await using fixture = await openFixture({ sandbox: { ...world, listCarriesUpdatedAt } })
  const first = await fixture.night()
  const before = await snapshot(fixture)

  const { wal, report } = await measured(fixture, () => fixture.night())

  const after = await snapshot(fixture)
  expect(after).toEqual(before)
  expect(report.streams['evaluations']).toMatchObject({ inserted: 0, updated: 0 })
  expect(report.streams['users']).toMatchObject({ inserted: 0, updated: 0 })
  const listed = first.streams['evaluations']!.listed
  console.log(
    `second run: ${wal} bytes of WAL, ${(wal / listed).toFixed(1)} for each of ${listed} evaluations`,
  )
})

test('a second night on which nothing has happened rewrites nothing', { tags: 'ci' }, async () => {
  await using fixture = await openFixture({ sandbox: world })
  // Long after the history, so that no edit or late completion occurs between the nights.
  await fixture.nightAfter(90)
  const before = await snapshot(fixture)

  const { wal } = await measured(fixture, () => fixture.nightAfter(1))

  expect(await snapshot(fixture)).toEqual(before)
  console.log(`a second night: ${wal} bytes of WAL`)
})

test('a second sync a minute later, of every stream, writes no row, in Australia, the US and the GCC', async () => {
  await using fixture = await openFixture({ sandbox: world, streams: allStreams })
  const regions = new Set(fixture.config.rooftops.map(({ region }) => region))
  const first = await fixture.night()
  const before = await snapshot(fixture)

  const second = await fixture.nightAfter(1 / 1440)

  expect([...regions].sort()).toEqual(['AU', 'GCC', 'US'])
  expect(first.streams['vehicle-checks']!.inserted).toBeGreaterThan(0)
  expect(second.streams['vehicle-checks']).toMatchObject({ requests: 0 })
  expect(await snapshot(fixture)).toEqual(before)
})

test('a night that confirms prices and checks writes when they were confirmed, and no sum, version or child row', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({ sandbox: world, streams: allStreams })
  const { pool } = fixture.database
  const confirming = allStreams.filter(({ enrichment }) => enrichment !== undefined)
  // In the same month, because the sandbox changes its prices each month.
  await fixture.nightAfter(75)
  const before = await snapshot(fixture)
  const facts = `select to_jsonb(price) - 'last_confirmed_at' as price from core.price_observation as price order by eval_id, observed_at`
  const factsBefore = (await pool.query(facts)).rows

  fixture.sandbox.clock.advance(7 * 86_400_000)
  const { wal, report } = await measured(fixture, () => runNight(fixture.context, confirming))

  const after = await snapshot(fixture)
  const written = Object.keys(after).filter(
    (table) =>
      table !== 'counters' && JSON.stringify(after[table]) !== JSON.stringify(before[table]),
  )
  const { pricing, 'vehicle-checks': checks } = report.streams
  console.log(`confirmed ${pricing!.unchanged} prices: ${wal} bytes of WAL`)
  expect(pricing!.unchanged).toBeGreaterThan(100)
  expect(pricing).toMatchObject({ inserted: 0, updated: 0 })
  expect(checks).toMatchObject({ inserted: 0, updated: 0 })
  expect(checks!.unchanged).toBeGreaterThan(0)
  expect((await pool.query(facts)).rows).toEqual(factsBefore)
  // The links of a check come freshly signed with each answer.
  expect(written).toEqual(['core.price_observation', 'pii.signed_link'])
})

/** The position and writer of every row, and the counters of its table; rewriting a row changes all of them. */
async function snapshot({ context, database }: Fixture): Promise<Record<string, unknown>> {
  const { pool } = database
  await flushSessions(context.pool)
  const tables = await pool.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema = any($1) and table_type = 'BASE TABLE' order by 1`,
    [schemas],
  )
  const found: Record<string, unknown> = {}
  for (const { name } of tables.rows) {
    const { rows } = await pool.query<{ place: string }>(
      `select ctid::text || ' ' || xmin::text as place from ${name} order by ctid`,
    )
    found[name] = rows.map(({ place }) => place)
  }
  return { ...found, counters: await counters(pool) }
}

async function counters(pool: pg.Pool): Promise<unknown> {
  const client = await pool.connect()
  try {
    await client.query('select pg_stat_force_next_flush()')
    await client.query('select pg_stat_clear_snapshot()')
    const { rows } = await client.query(
      `select schemaname, relname, n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd
       from pg_stat_user_tables where schemaname = any($1) order by 1, 2`,
      [schemas],
    )
    return rows
  } finally {
    client.release()
  }
}

/** Runs a night and measures the WAL that the server wrote for it. */
async function measured<T>(
  fixture: Fixture,
  work: () => Promise<T>,
): Promise<{ wal: number; report: T }> {
  const { pool } = fixture.database
  const lsn = async () =>
    (await pool.query<{ lsn: string }>('select pg_current_wal_insert_lsn()::text as lsn')).rows[0]!
      .lsn
  const start = await lsn()
  const report = await work()
  const end = await lsn()
  const { rows } = await pool.query<{ bytes: number }>(
    'select pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::int as bytes',
    [end, start],
  )
  return { wal: rows[0]!.bytes, report }
}

/** Makes every session of the pool report its counters. */
async function flushSessions(pool: pg.Pool): Promise<void> {
  const clients = await Promise.all(Array.from({ length: 16 }, () => pool.connect()))
  for (const client of clients) await client.query('select pg_stat_force_next_flush()')
  for (const client of clients) await client.query('select 1')
  for (const client of clients) client.release()
}

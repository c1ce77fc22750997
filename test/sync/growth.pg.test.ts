import type pg from 'pg'
import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { type Fixture, openFixture, openSecondContext, runNight } from '../support/fixture.ts'
import { plantHistory } from '../support/planted-history.ts'

/** Rows that the scans of each table have read, in whole and by index. */
interface Reads {
  readonly name: string
  readonly live: number
  readonly scanned: number
  readonly byIndex: number
}

async function readCounters(pool: pg.Pool): Promise<Reads[]> {
  const { rows } = await pool.query<Reads>(`
    select t.relname as name, c.reltuples::int as live, coalesce(t.seq_tup_read, 0)::int as scanned,
      coalesce((select sum(i.idx_tup_read) from pg_stat_user_indexes as i where i.relid = t.relid), 0)::int as "byIndex"
    from pg_stat_user_tables as t join pg_class as c on c.oid = t.relid order by 1`)
  return rows
}

const applicationName = 'a night'
const backends = `select from pg_stat_activity where datname = current_database() and application_name = '${applicationName}'`

/** What the next night reads. A process of its own runs it: Postgres counts the reads of a connection for certain once it has ended. */
async function readsOfNight(fixture: Fixture): Promise<Reads[]> {
  const { pool } = fixture.database
  fixture.sandbox.clock.advance(86_400_000)
  await pool.query('vacuum analyze')
  await pool.query('select pg_stat_reset()')
  {
    await using context = await openSecondContext(fixture, { applicationName })
    expect((await runNight(context, allStreams)).status).toBe('ok')
  }
  await expect.poll(async () => (await pool.query(backends)).rows.length).toBe(0)
  return await readCounters(pool)
}

test('a night without news reads no more of a history of 22,500 evaluations than of 75', async () => {
  const now = new Date('2026-11-20T02:00:00Z')
  await using fixture = await openFixture({
    sandbox: { seed: 7, rooftops: 6, evaluations: 90, days: 20, now },
    sync: { start: new Date(now.getTime() - 21 * 86_400_000).toISOString() },
    streams: allStreams,
  })
  await fixture.night()
  await fixture.nightAfter(1)
  await fixture.nightAfter(1)
  const young = new Map((await readsOfNight(fixture)).map((reads) => [reads.name, reads]))

  // As many days as windows were listed: history has no gaps.
  await plantHistory(fixture.database.pool, { copies: 300, days: 24 })
  const old = await readsOfNight(fixture)

  const planted = old.filter(({ name, live }) => live > 10 * young.get(name)!.live)
  expect(planted.filter(({ live }) => live > 10_000).length).toBeGreaterThan(10)
  const more = planted.filter(({ name, scanned, byIndex }) => {
    const before = young.get(name)!
    return scanned + byIndex > 2 * (before.scanned + before.byIndex) + 1_000
  })
  expect(more).toEqual([])
})

import { expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import { plantHistory } from '../support/planted-history.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { evaluations, rooftops } from './fill/step.ts'

/** What a night without news takes. */
interface Night {
  readonly seconds: number
  readonly statements: number
  /** In Postgres. */
  readonly statementSeconds: number
  readonly walRecords: number
  readonly walMegabytes: number
}

const figures = ['seconds', 'statements', 'statementSeconds', 'walRecords', 'walMegabytes'] as const

/** The medians of three nights. */
async function measureNights({ database, sandbox, night }: Fixture): Promise<Night> {
  const { pool } = database
  const nights: Night[] = []
  await pool.query('vacuum analyze')
  for (let turn = 0; turn < 3; turn++) {
    sandbox.clock.advance(dayMs)
    await pool.query('select pg_stat_statements_reset()')
    const startedAt = performance.now()
    expect((await night()).status).toBe('ok')
    const seconds = (performance.now() - startedAt) / 1000
    const { rows } = await pool.query<Omit<Night, 'seconds'>>(
      `select sum(calls)::int as statements, sum(total_exec_time) / 1000 as "statementSeconds",
         sum(wal_records)::float8 as "walRecords", sum(wal_bytes)::float8 / 1e6 as "walMegabytes"
       from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`,
    )
    nights.push({ seconds, ...rows[0]! })
  }
  const medians = figures.map((name) => [name, median(nights.map((one) => one[name]))])
  return Object.fromEntries(medians) as Night
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!

const recent = 12_000

/** The fourth to the sixth night of rooftops with 12,000 evaluations of 20 days, behind older ones: `count` in all. */
async function nightsBehind(count: number): Promise<Night> {
  const now = new Date(Math.floor(Date.now() / dayMs) * dayMs)
  await using fixture = await openFixture({
    sandbox: { seed: 7, rooftops, evaluations: recent, days: 20, now },
    sync: { start: new Date(now.getTime() - 21 * dayMs).toISOString() },
    streams: allStreams,
  })
  const { pool } = fixture.database
  await pool.query('create extension pg_stat_statements')
  await fixture.night()
  await fixture.nightAfter(1)
  await fixture.nightAfter(1)
  if (count > recent) {
    const startedAt = performance.now()
    await plantHistory(pool, { copies: Math.round(count / recent) - 1, days: 40 })
    console.log(`Planted in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  }
  return await measureNights(fixture)
}

test('a night without news takes as long behind a long history as behind none', async ({
  skip,
}) => {
  {
    await using database = await createTestDatabase()
    const { rows } = await database.pool.query<{ libraries: string }>(
      `select current_setting('shared_preload_libraries') as libraries`,
    )
    if (!rows[0]!.libraries.includes('pg_stat_statements'))
      return skip('the server of TEST_DATABASE_URL must load pg_stat_statements')
  }
  const alone = await nightsBehind(recent)
  const behind = await nightsBehind(evaluations)

  const lines = figures.map((name) => {
    const [here, there] = [behind[name], alone[name]]
    return `\n  ${name}: ${here.toFixed(1)}, ${there.toFixed(1)}: ${(here / there).toFixed(2)}`
  })
  console.log(
    `A night without news of ${rooftops} rooftops behind ${evaluations} evaluations, and behind ${recent}:${lines.join('')}`,
  )
  expect(behind.statements).toBeLessThan(1.1 * alone.statements)
  expect(behind.walRecords).toBeLessThan(1.2 * alone.walRecords)
})

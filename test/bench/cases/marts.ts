import type pg from 'pg'
import { openPool } from '#src/warehouse/db/connect.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { startServer } from '../../support/postgres-server.ts'
import { databaseUrl } from '../../support/postgres-url.ts'
import type { BenchCase } from '../bench-case.ts'
import { type MartQuery, martQueries, timeQuery } from './marts-queries.ts'
import { martsTable, type TimedQuery } from './marts-table.ts'
import { fillMartsWorld } from './marts-world.ts'

/** BENCH_MARTS_EVALUATIONS=200000 takes a fifth of the disk and the time. */
const evaluations = Number(process.env['BENCH_MARTS_EVALUATIONS'] ?? 1_000_000)
const quickEvaluations = 20_000

/** The slowest report query relative to its time limit; prints all queries in a table first. */
export const marts: BenchCase = {
  name: 'marts',
  unit: 'of the time allowed',
  what: `every view of the marts over ${evaluations.toLocaleString('en')} evaluations, the report that is nearest to its limit`,
  referenceWhat: 'the photos of a year counted without the aggregates, allowed 2 s',
  target: { of: 'figure', most: 1 },
  thorough: true,
  async prepare({ quick }) {
    await using started = new AsyncDisposableStack()
    const server = await startServer()
    started.defer(() => server.stop())
    const name = `forecourt_bench_${process.pid}`
    const admin = started.adopt(
      await openPool(server.url, { applicationName: 'bench', max: 1 }),
      (pool) => pool.end(),
    )
    await admin.query(`create database ${name} template template0 encoding 'UTF8'`)
    started.defer(async () => {
      await admin.query(`drop database if exists ${name} with (force)`)
    })
    const pool = started.adopt(
      await openPool(databaseUrl(server.url, name), { applicationName: 'bench', max: 4 }),
      (opened) => opened.end(),
    )
    await prepareWarehouse(pool)
    await fillMartsWorld(pool, { evaluations: quick ? quickEvaluations : evaluations })
    const queries = await martQueries(pool)
    const fastest = new Map<MartQuery, number>()
    started.defer(async () => {
      console.log(martsTable([...fastest].map(([query, ms]): TimedQuery => ({ ...query, ms }))))
    })
    const all = started.move()
    return {
      measure: () => measureAll(pool, queries, fastest),
      reference: () => measureScan(pool),
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  },
}

/** Runs every query once; returns the largest share of a time limit. */
async function measureAll(
  pool: pg.Pool,
  queries: readonly MartQuery[],
  fastest: Map<MartQuery, number>,
): Promise<number> {
  const client = await pool.connect()
  try {
    let worst = 0
    for (const query of queries) {
      const ms = await timeQuery(client, query)
      fastest.set(query, Math.min(ms, fastest.get(query) ?? Infinity))
      if (query.mostMs !== null) worst = Math.max(worst, ms / query.mostMs)
    }
    return worst
  } finally {
    client.release()
  }
}

async function measureScan(pool: pg.Pool): Promise<number> {
  const startedAt = performance.now()
  await pool.query(
    `select e.rooftop_id, date_trunc('month', e.completed_date_local::timestamp), count(p.photo_id)
     from core.evaluation as e left join core.photo as p using (rooftop_id, eval_id)
     where e.gone_at is null and e.completed_date_local >= now() - interval '1 year' group by 1, 2`,
  )
  return (performance.now() - startedAt) / 2000
}

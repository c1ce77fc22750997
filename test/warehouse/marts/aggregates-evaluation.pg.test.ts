import type pg from 'pg'
import { expect, test } from 'vitest'
import { applyChange } from '../../support/aggregates-apply.ts'
import { storedRows } from '../../support/aggregates-counted.ts'
import {
  inSession,
  sampleEvaluation,
  sampleLine,
  writeFacts,
} from '../../support/aggregates-fixture.ts'
import { createTestDatabase } from '../../support/postgres.ts'

test('a row counts what the document of the table says, bounds of the buckets included', async () => {
  await using database = await createTestDatabase()
  const evaluations = [
    sampleEvaluation,
    { ...sampleEvaluation, id: 2, seconds: 301, hero: null, price: '0' },
    { ...sampleEvaluation, id: 3, seconds: 86_400, photos: 7, hero: 'default', price: null },
    { ...sampleEvaluation, id: 4, seconds: 86_401, photos: 0, hero: null },
    { ...sampleEvaluation, id: 5, seconds: -1 },
    { ...sampleEvaluation, id: 6, source: 'EntryDate' as const },
    { ...sampleEvaluation, id: 7, gone: true },
  ]

  await writeFacts(database, evaluations, [
    sampleLine,
    { ...sampleLine, line: 2, first: 2 },
    { ...sampleLine, line: 3, last: 1 },
  ])

  expect(await storedRows(database.pool, 'agg_evaluation_day')).toEqual([
    '1 2026-01-31 7 KWD 6 5 40.500 39 1 1 1 1 3 4 1 1 0 0 0 0 0 0 1 1 0 0',
  ])
  expect(await storedRows(database.pool, 'agg_recon_day')).toEqual([
    '1 2026-01-31 paint KWD 199.990 199.990 1 1',
  ])
})

test('a load reads no more rows where its day holds many already', async () => {
  const rowsRead: number[] = []
  // Not fewer: of small tables Postgres takes any index.
  for (const stored of [300, 900]) {
    await using database = await createTestDatabase()
    const before = Array.from({ length: stored }, (_, index) => ({
      ...{ ...sampleEvaluation, id: 100 + index, vin: `KNADB12345678${1000 + index}` },
    }))
    const lines = before.map(({ id }) => ({ ...sampleLine, id }))
    await writeFacts(database, before, lines)
    const ask = (id: number) => ({ rooftop: 1, id, day: 1, outcome: 'price' }) as const
    await inSession(database.pool, async (client) => {
      for (const { id } of before) await applyChange(client, { does: 'ask', asking: ask(id) })
    })
    await database.pool.query('analyze')
    await inSession(database.pool, async (client) => {
      await client.query('begin')
      // Small tables are read whole.
      await client.query('set local enable_seqscan = off')
      const already = await rowsReadBy(client)
      await applyChange(client, { does: 'insert', evaluation: sampleEvaluation, lines: [] })
      await applyChange(client, { does: 'lines', lines: [sampleLine] })
      await applyChange(client, { does: 'ask', asking: ask(sampleEvaluation.id) })
      rowsRead.push((await rowsReadBy(client)) - already)
      await client.query('commit')
    })
  }

  expect(rowsRead[1]).toBe(rowsRead[0])
})

async function rowsReadBy(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: number }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables
     where relname in ('evaluation', 'reconditioning_item', 'price_observation', 'agg_appraisal', 'agg_evaluation_day', 'agg_recon_day')`,
  )
  return rows[0]!.read
}

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

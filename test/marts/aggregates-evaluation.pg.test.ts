import { expect, test } from 'vitest'
import { keptRows } from '../support/aggregates-counted.ts'
import { one, paint, write } from '../support/aggregates-house.ts'
import { createTestDatabase } from '../support/postgres.ts'

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

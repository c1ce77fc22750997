import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeFiles } from '#src/warehouse/lake/table-writer.ts'
import { lakeTable } from '#src/warehouse/lake/tables.ts'
import { Tasks } from '#src/warehouse/lake/tasks.ts'
import { FolderStore } from '#src/warehouse/store/folder-store.ts'
import { emptyTestDatabase } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openDuckDb } from './duckdb.ts'

test('a month above the limit has several files: every row once, statistics of each file its own', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await temporaryFolder()
  await using duck = await openDuckDb()
  await database.pool.query('create schema mart')
  await database.pool.query(
    `create view mart.fact as
     select 1 as rooftop_id, no as eval_id, date '2026-01-01' + (no / 70000)::int as completed_date, (no % 977)::numeric(12,2) as price
     from generate_series(1, 140000) as no
     union all select 1, 140001, date '2026-04-01', null`,
  )
  const number = { precision: null, scale: null }
  const table = lakeTable('fact', [
    { name: 'rooftop_id', type: 'integer', ...number },
    { name: 'eval_id', type: 'integer', ...number },
    { name: 'completed_date', type: 'date', ...number },
    { name: 'price', type: 'numeric', precision: 12, scale: 2 },
  ])
  const target = new FolderStore(join(folder.path, 'lake'))
  const scratch = await target.prepare()
  const uploads = new Tasks(2)
  const client = await database.pool.connect()

  const { added: files } = await writeFiles(
    {
      ...{ client, target, scratch, uploads, signal: new AbortController().signal },
      ...{ crashPoint: () => undefined, martVersion: '1', at: 0, maxBytes: 1 },
    },
    table,
    null,
    new Map(),
  ).finally(() => client.release())
  await uploads.end()

  const [first, second, third, april] = files
  expect(files).toHaveLength(4)
  expect(files.map((file) => file.partitionValues['lake_month'])).toEqual([
    ...['2026-01', '2026-01', '2026-01', '2026-04'],
  ])
  expect(files.map((file) => file.tags?.['parts'])).toEqual(['3', '3', '3', '1'])
  expect(new Set([first, second, third].map((file) => file!.tags!['digest'])).size).toBe(1)
  expect(april!.tags!['digest']).not.toBe(first!.tags!['digest'])
  const lake = join(folder.path, 'lake')
  for (const { path, stats, size } of files) {
    const [found] = await duck.rows(
      `select count(*)::int as rows, min(eval_id) as least, max(eval_id) as most, min(completed_date)::varchar as first,
         max(completed_date)::varchar as last, min(price)::double as low, max(price)::double as high, count(*) - count(price) as empty
       from read_parquet('${join(lake, 'fact', path)}', hive_partitioning = false)`,
    )
    const { numRecords, minValues, maxValues, nullCount } = JSON.parse(stats!)
    expect(found).toEqual({
      ...{ rows: numRecords, least: minValues.eval_id, most: maxValues.eval_id },
      ...{ first: minValues.completed_date, last: maxValues.completed_date },
      ...{ low: minValues.price ?? null, high: maxValues.price ?? null },
      empty: String(nullCount.price),
    })
    expect(size).toBeGreaterThan(0)
  }
  const [all] = await duck.rows(
    `select count(*)::int as rows, count(distinct eval_id)::int as evaluations, sum(eval_id)::varchar as sum
     from read_parquet('${lake}/fact/**/*.parquet', hive_partitioning = false)`,
  )
  expect(all).toEqual({ rows: 140_001, evaluations: 140_001, sum: String(140_001 * 70_001) })
  expect(await readdir(scratch)).toEqual([])
})

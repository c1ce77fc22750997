import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { exportLake } from '#src/warehouse/lake/export-lake.ts'
import { FolderStore } from '#src/warehouse/store/folder-store.ts'
import { openMartWarehouse } from '../../support/marts-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { differences } from './compare.ts'
import { readLake, rowsOf } from './delta.ts'
import { openDuckDb } from './duckdb.ts'

const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

test('DuckDB reads every fact, dimension and report as the marts have it, and no customer', async () => {
  await using database = await openMartWarehouse()
  await using home = await temporaryFolder()
  await using duck = await openDuckDb()
  const { pool } = database
  const folder = join(home.path, 'lake')
  const { signal } = new AbortController()
  const services = { pool, log, signal, crashPoint: () => {}, keepHours: 1 }

  const report = await exportLake(services, new FolderStore(folder))

  const { export: record, ...tables } = await readLake(duck, folder)
  const views = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'mart'::regnamespace and relkind = 'v' order by 1`,
  )
  const expected = views.rows.map(({ name }) => name).filter((name) => !name.includes('customer'))
  expect(Object.keys(tables)).toEqual(expected)
  expect(expected.length).toBeGreaterThan(35)
  expect(record!.rows).toBe(expected.length)
  expect(Object.values(tables).reduce((sum, { rows }) => sum + rows, 0)).toBe(report.rows)
  expect(report.rows).toBeGreaterThan(1000)
  expect(await differences(pool, duck, folder)).toEqual([])
  const columns = Object.values(tables).flatMap((table) => table.columns)
  expect(
    columns.filter(({ name }) => /customer|phone|email|address|postcode|suburb/.test(name)),
  ).toEqual([])

  // What a reader sees of types: exact decimals, instants in UTC, dates.
  const facts = tables['fact_evaluation']!
  const source = rowsOf(folder, facts)
  const types = await duck.rows(
    `select column_name, column_type from (describe select * from ${source})`,
  )
  const typeOf = new Map(types.map((row) => [row['column_name'], row['column_type']]))
  expect(typeOf.get('final_price')).toBe('DECIMAL(15,3)')
  expect(typeOf.get('completed_at')).toBe('TIMESTAMP WITH TIME ZONE')
  expect(typeOf.get('completed_date')).toBe('DATE')
  const ours = new Map(facts.columns.map(({ name, type }) => [name, type]))
  expect(ours.get('final_price')).toBe('decimal(15,3)')
  expect([ours.get('completed_at'), ours.get('completed_date')]).toEqual(['timestamp', 'date'])

  // The statistics of each file are those of its rows: engines answer count, min and max from them.
  for (const { path, month, stats } of facts.files) {
    const [row] = await duck.rows(
      `select count(*)::int as rows, count(*) filter (final_price is null)::int as nulls, min(eval_id)::int as least,
         max(final_price)::varchar as price, max(completed_date)::varchar as day, epoch_us(max(completed_at))::varchar as at,
         count(*) filter (strftime(completed_date, '%Y-%m') is distinct from ${month === null ? 'null' : `'${month}'`})::int as misplaced
       from read_parquet('${join(folder, path)}')`,
    )
    const { at: micros, price, ...values } = row!
    const at = stats.maxValues['completed_at']
    expect({
      ...{ rows: stats.numRecords, nulls: stats.nullCount['final_price'], misplaced: 0 },
      ...{ least: stats.minValues['eval_id'], day: stats.maxValues['completed_date'] ?? null },
      price: Number(stats.maxValues['final_price'] ?? 0),
    }).toEqual({ ...values, price: Number(price ?? 0) })
    // Milliseconds, rounded up.
    if (at !== undefined) expect(Date.parse(String(at))).toBe(Math.ceil(Number(micros) / 1000))
  }
}, 300_000)

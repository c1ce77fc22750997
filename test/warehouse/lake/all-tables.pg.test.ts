import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { exportLake } from '#src/warehouse/lake/export-lake.ts'
import { FolderTarget } from '#src/warehouse/lake/folder-target.ts'
import type { Manifest } from '#src/warehouse/lake/manifest.ts'
import { openMartFixture } from '../../support/marts-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { differences } from './compare.ts'
import { filesOf, openDuckDb } from './duckdb.ts'

const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

test('DuckDB reads every fact, dimension and report as the marts have it, and no customer', async () => {
  await using fixture = await openMartFixture(1)
  await using home = await temporaryFolder()
  await using duck = await openDuckDb()
  const { pool } = fixture.database
  const folder = join(home.path, 'lake')
  const { signal } = new AbortController()
  const services = { pool, log, signal, crashPoint: () => {}, keepHours: 1 }

  const report = await exportLake(services, new FolderTarget(folder))

  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest
  const views = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'mart'::regnamespace and relkind = 'v' order by 1`,
  )
  const expected = views.rows.map(({ name }) => name).filter((name) => !name.includes('customer'))
  expect(Object.keys(manifest.tables)).toEqual(expected)
  expect(expected.length).toBeGreaterThan(35)
  expect(manifest.rows).toBe(report.rows)
  expect(manifest.rows).toBeGreaterThan(1000)
  expect(await differences(pool, duck, folder, manifest)).toEqual([])
  const columns = Object.values(manifest.tables).flatMap((table) => table.columns)
  expect(
    columns.filter(({ name }) => /customer|phone|email|address|postcode|suburb/.test(name)),
  ).toEqual([])

  // The statements of the README, as they are written there.
  const page = await readFile(
    new URL('../../../src/warehouse/lake/README.md', import.meta.url),
    'utf8',
  )
  const statements = /```sql\n(.*?)```/s
    .exec(page)![1]!
    .replaceAll('/srv/lake', folder)
    .split(';\n')
  await duck.rows(statements[0]!)
  const sums = await duck.rows(statements[1]!)
  const { rows: expectedSums } = await pool.query(
    `select rooftop_id, currency_code, sum(final_price)::text as total from mart.fact_evaluation group by 1, 2 order by 1, 2`,
  )
  expect(sums).toEqual(expectedSums)

  // What a reader sees of types: exact decimals, instants in UTC, dates.
  const { files } = manifest.tables['fact_evaluation']!
  const source = filesOf(
    folder,
    files.map(({ path }) => path),
  )
  const types = await duck.rows(
    `select column_name, column_type from (describe select * from ${source})`,
  )
  const typeOf = new Map(types.map((row) => [row['column_name'], row['column_type']]))
  expect(typeOf.get('final_price')).toBe('DECIMAL(15,3)')
  expect(typeOf.get('completed_at')).toBe('TIMESTAMP WITH TIME ZONE')
  expect(typeOf.get('completed_date')).toBe('DATE')

  // The layout alone is enough to leave files out: every row is in the folder of its rooftop and month.
  const misplaced = await duck.rows(
    `select count(*)::int as rows from read_parquet('${folder}/fact_evaluation/*/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)
     where rooftop::int <> rooftop_id or month is distinct from strftime(completed_date, '%Y-%m')`,
  )
  expect(misplaced).toEqual([{ rows: 0 }])
}, 300_000)

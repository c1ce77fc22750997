import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byEmail, eraseIn, openJanesFixture } from '../../privacy/erase/erase-fixture.ts'
import { runInProcess } from '../../support/cli.ts'
import { deltaNames, lastExport, readDelta, readLake, rowsOf } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { openLakeFixture, pathsOf } from './lake-fixture.ts'

/** Reports about today: their rows change without a change of the warehouse. */
const dailyTables =
  /^(export|data_freshness|rpt_15_data_freshness|rpt_08_pricing_coverage|watch_expiry)\//

test('every table is committed once, with the sizes of its files, and the table "export" names its version', async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()

  const { stdout } = await lake.run()

  const { export: record, ...tables } = await readLake(duck, lake.lake)
  const named = pathsOf(tables)
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0)
  const [what, files, state] = stdout.split('\n')
  expect(what).toContain(`${lake.lake}: ${Object.keys(tables).length} tables, ${rows} rows, `)
  expect(files).toBe(`Files: ${named.length} written, 0 unchanged, 0 removed.`)
  expect(await lake.dataFiles()).toEqual([...named, ...pathsOf({ record: record! })].sort())
  for (const { path, size } of Object.values(tables).flatMap((table) => table.files))
    expect((await stat(join(lake.lake, path))).size).toBe(size)
  const exported = await lastExport(duck, lake.lake)
  expect(exported.map((row) => [row.table_name, row.table_version, row.row_count])).toEqual(
    Object.entries(tables).map(([name, table]) => [name, '0', String(table.rows)]),
  )
  const { rows: expected } = await lake.fixture.database.pool.query(
    `select (select version from mart.mart_version where is_current) as version,
       (select min(covered_to) from mart.data_freshness where stream = 'evaluations') as covered`,
  )
  const { version, covered } = expected[0]
  expect(state).toBe(`Export 1: marts ${version}, covered to ${covered.toISOString()}.`)
  expect(exported[0]).toMatchObject({ export_number: '1', mart_version: version })
  expect(new Date(Number(exported[0]!.covered_to))).toEqual(covered)
})

test('a rooftop that left the config does not hold back how far the data reach', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await pool.query(
    `update ops.coverage set covered = covered * tstzmultirange(tstzrange(null, upper(covered) - interval '2 days')) where rooftop_id = 1`,
  )
  await pool.query('delete from ops.window_certificate where rooftop_id = 1 and not settled')
  const before = await lake.export()
  await pool.query('update core.rooftop set left_config_at = now() where rooftop_id = 1')

  const { coveredTo } = await lake.export()

  const { rows } = await pool.query(
    "select min(covered_to) as covered from mart.data_freshness where stream = 'evaluations' and rooftop_id > 1",
  )
  expect(coveredTo).toBe(rows[0].covered.toISOString())
  expect(Date.parse(before.coveredTo!)).toBeLessThan(Date.parse(coveredTo!))
})

test('a second export commits only what depends on the time', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  await lake.export()
  const lasting = (files: readonly string[]) => files.filter((file) => !dailyTables.test(file))
  const before = lasting(await lake.files())

  const { files, number } = await lake.export()

  expect(lasting(await lake.files())).toEqual(before)
  expect(files.written).toBeLessThanOrEqual(4)
  expect(files.unchanged).toBeGreaterThan(30)
  expect(number).toBe(2)
  const exported = await lastExport(duck, lake.lake)
  expect(exported.find((row) => row.table_name === 'fact_evaluation')!.table_version).toBe('0')
})

test('an edit writes its month again, and no other of the facts; the version before it stays readable', async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await lake.export()
  const before = await readLake(duck, lake.lake)
  const sum = async (version: number) => {
    const table = await readDelta(duck, lake.lake, 'fact_evaluation', version)
    const [row] = await duck.rows(
      `select sum(final_price)::varchar as sum from ${rowsOf(lake.lake, table)}`,
    )
    return row!['sum']
  }
  const { rows: sums } = await pool.query(
    'select sum(final_price)::text as sum from mart.fact_evaluation',
  )
  const { rows } = await pool.query(
    `update core.evaluation set final_price = final_price + 1
     where (rooftop_id, eval_id) = (select rooftop_id, eval_id from core.evaluation where final_price is not null and completed_at is not null limit 1)
     returning to_char(completed_date_local, 'YYYY-MM') as month`,
  )

  await lake.export()

  const after = await readLake(duck, lake.lake)
  const changed = (table: string) => {
    const old = new Set(before[table]!.files.map(({ path }) => path))
    return after[table]!.files.filter(({ path }) => !old.has(path))
  }
  for (const table of ['fact_evaluation', 'evaluation_wide'])
    expect(changed(table)).toMatchObject([{ month: rows[0].month }])
  for (const table of ['fact_photo', 'fact_reconditioning', 'dim_rooftop', 'dim_date'])
    expect([table, after[table]!.version, changed(table)]).toEqual([table, 0, []])
  expect(await sum(0)).toBe(sums[0].sum)
  expect(Number(await sum(1))).toBe(Number(sums[0].sum) + 1)
})

test('sums of one day write that month of the reports again, and no other one', async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  await lake.export()
  const before = await readLake(duck, lake.lake)
  const { rows } = await lake.fixture.database.pool.query(
    `update core.agg_evaluation_day set photos = photos + 1
     where completed_date_local = (select max(completed_date_local) from core.agg_evaluation_day)
     returning to_char(completed_date_local, 'YYYY-MM') as month`,
  )

  await lake.export()

  const after = await readLake(duck, lake.lake)
  for (const table of ['rpt_07_photo_completeness', 'rpt_14_link_capture_funnel']) {
    const old = new Set(before[table]!.files.map(({ path }) => path))
    expect(old.size).toBeGreaterThan(1)
    expect(after[table]!.files.filter(({ path }) => !old.has(path))).toMatchObject([
      { month: rows[0].month },
    ])
  }
  expect(after['rpt_10_appraisal_volume']!.version).toBe(0)
})

test('two rows that exchange their prices are a change', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await lake.export()
  const version = async () => (await readDelta(duck, lake.lake, 'fact_evaluation')).version
  const before = await version()
  const { rowCount } = await pool.query(
    `with pair as (
       select a.eval_id as one, b.eval_id as two, a.final_price as first, b.final_price as second, a.rooftop_id
       from core.evaluation as a join core.evaluation as b using (rooftop_id)
       where date_trunc('month', a.completed_date_local) = date_trunc('month', b.completed_date_local)
         and a.final_price < b.final_price limit 1)
     update core.evaluation as e set final_price = case when e.eval_id = one then second else first end
     from pair where e.rooftop_id = pair.rooftop_id and e.eval_id in (one, two)`,
  )

  await lake.export()

  expect(rowCount).toBe(2)
  expect(await version()).toBe(before + 1)
})

test('an erased customer is in no file and no version after the next export', async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 }, await janesWarehouse())
  await using duck = await openDuckDb()
  const texts = async () => {
    const table = await readDelta(duck, lake.lake, 'fact_reconditioning')
    return await duck.rows(
      `select value_text from ${rowsOf(lake.lake, table)} where value_text ilike '%citizen%'`,
    )
  }
  await lake.export()
  await lake.fixture.database.pool.query('update core.reconditioning_item set cost = cost + 1')
  await lake.export()
  const before = await texts()
  const old = (await lake.files()).filter((file) =>
    /^fact_reconditioning\/.*(part-|json)/.test(file),
  )

  await eraseIn(lake.fixture, byEmail)
  const report = await lake.export()

  expect(before).toHaveLength(1)
  expect(report.isHistoryRemoved).toBe(true)
  expect(await texts()).toEqual([])
  const left = await lake.files()
  expect(left.filter((file) => old.includes(file))).toEqual([])
  // The last version is there, from a checkpoint; no table has an older one, nor a file of one.
  const tables = await readLake(duck, lake.lake)
  expect(await lake.dataFiles()).toEqual(pathsOf(tables))
  for (const name of (await deltaNames(lake.lake)).filter((one) => one !== 'export'))
    expect(left.filter((file) => file.startsWith(`${name}/_delta_log/0`)).sort()).toEqual([
      expect.stringMatching(/checkpoint\.parquet$/),
      expect.stringMatching(/\.json$/),
    ])
  const exported = await lastExport(duck, lake.lake)
  for (const { table_name: name, table_version: version } of exported)
    expect([name, String(tables[name]!.version)]).toEqual([name, version])
})

test('the receipt of an erasure names each lake, which has the texts until its next export', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake/' }, await janesWarehouse())
  const other = join(lake.folder, 'other')
  const erase = async (...args: readonly string[]) => {
    const config = join(lake.folder, 'forecourt.yaml')
    return await runInProcess(
      ['--config', config, 'erase', '--email', 'jane@example.org', '--dry-run', ...args],
      {
        cwd: lake.folder,
      },
    )
  }

  const before = await erase('--json')
  await lake.export()
  await lake.run('--to', other)
  const { stdout, stderr } = await erase()
  const { stdout: json } = await erase('--json')

  expect(JSON.parse(before.stdout)).toMatchObject({ untilNextExport: [lake.lake] })
  expect(stderr).toBe('')
  for (const [name, command] of [
    [lake.lake, 'lake export'],
    [other, `lake export --to ${other}`],
  ])
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      `The lake ${name} may name the customer until its next export, which deletes its earlier versions: run "forecourt ${command}".`,
    )
  expect(JSON.parse(json)).toMatchObject({ untilNextExport: [lake.lake, other] })
})

async function janesWarehouse() {
  const fixture = await openJanesFixture()
  await fixture.night()
  return fixture
}

test('a file that someone has removed or cut is written again, and a file of others stays', async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  await lake.export()
  const files = async () => (await readDelta(duck, lake.lake, 'fact_evaluation')).files
  const [first, second] = await files()
  await rm(join(lake.lake, first!.path))
  await writeFile(join(lake.lake, second!.path), 'cut')
  await writeFile(join(lake.lake, 'notes.txt'), 'mine')

  await lake.export()

  for (const { path, size } of await files())
    expect((await stat(join(lake.lake, path))).size).toBe(size)
  expect(await lake.files()).toContain('notes.txt')
})

test('a new target gets everything, whatever another one has', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  const first = await lake.export()

  const { files } = await lake.export('--to', join(lake.folder, 'other'))

  expect(files).toEqual({ written: first.files.written, unchanged: 0, removed: 0 })
})

test('a mart that is gone leaves the lake', async () => {
  await using lake = await openLakeFixture()
  await lake.fixture.database.pool.query('create view mart.old_report as select 1 as value')
  await lake.export()
  const before = await deltaNames(lake.lake)
  await lake.fixture.database.pool.query('drop view mart.old_report')

  await lake.export()

  expect(before).toContain('old_report')
  expect((await lake.files()).filter((file) => file.startsWith('old_report/'))).toEqual([])
})

test('a mart that is gone stays as long as an earlier export names it', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await pool.query('create view mart.old_report as select 1 as value')
  await lake.export()
  await pool.query('drop view mart.old_report')

  await lake.export()

  expect((await readDelta(duck, lake.lake, 'old_report', 0)).rows).toBe(1)
  const last = await lastExport(duck, lake.lake)
  expect(last.map((row) => row.table_name)).not.toContain('old_report')
})

test('every change of a value that is written as text is noticed, and a type without a hash is exported', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  const pairs = [
    ...[
      [`'{"a": 1.0}'::jsonb`, `'{"a": 1.00}'::jsonb`],
      ['array[1.0]', 'array[1.00]'],
    ],
    ...[
      ["interval '1 month'", "interval '30 days'"],
      [`'{"a":1}'::json`, `'{"a":2}'::json`],
    ],
  ] as const
  const write = async (at: 0 | 1) => {
    const columns = pairs.map((pair, no) => `${pair[at]} as c${no}`)
    for (const [no, column] of columns.entries())
      await pool.query(`create or replace view mart.plan_${no} as select 1 as plan_id, ${column}`)
    await lake.export()
  }

  await write(0)
  await write(1)

  for (const no of pairs.keys())
    expect([no, (await readDelta(duck, lake.lake, `plan_${no}`)).version]).toEqual([no, 1])
})

test('a date out of the calendar has no statistic and no month, and other rows have theirs', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  await lake.fixture.database.pool.query(
    `create view mart.plan as select 1 as rooftop_id, n as eval_id, day as completed_date
     from (values (1, date '5874897-01-01'), (2, '0044-03-15 BC'), (3, 'infinity'), (4, '2026-02-03'), (5, null)) as t (n, day)`,
  )

  await lake.export()

  const { files } = await readDelta(duck, lake.lake, 'plan')
  const found = files.map(({ month, stats }) => [month, stats.numRecords, stats.minValues])
  expect(found).toEqual([
    ['2026-02', 1, { rooftop_id: 1, eval_id: 4, completed_date: '2026-02-03' }],
    [null, 4, { rooftop_id: 1, eval_id: 1 }],
  ])
})

test('a mart that engines cannot read is refused with its name', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  const refused = async (columns: string) => {
    await pool.query('drop view if exists mart.plan')
    await pool.query(`create view mart.plan as select ${columns}`)
    const { code, stderr } = await lake.run()
    expect(code).toBeGreaterThan(0)
    return stderr
  }

  expect(await refused('1 as a, 2 as "A"')).toContain('The mart plan cannot be exported')
  expect(await refused('1 as "Order By"')).toContain('its column Order By')
  expect(await refused("'2026-01' as lake_month")).toContain('not lake_month')
  expect(await refused('10::numeric ^ 40 as great')).toMatch(
    /The mart plan cannot be exported: the column great has a number of more than 38 digits/,
  )
})

import { expect, test } from 'vitest'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { differences } from './compare.ts'
import { readLake, rowsOf } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { type LakeFixture, openLakeFixture, pathsOf } from './lake-fixture.ts'

/** The lake equals the marts, and has no file beside those of its tables. */
async function expectExact(lake: LakeFixture) {
  await using duck = await openDuckDb()
  expect(await differences(lake.fixture.database.pool, duck, lake.lake)).toEqual([])
  const tables = await readLake(duck, lake.lake)
  expect(await lake.dataFiles()).toEqual(pathsOf(tables))
  return tables
}

test('a month whose rows were moved to another one has no file any more', async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await lake.export()
  const { month } = (await expectExact(lake))['fact_evaluation']!.files[0]!

  await pool.query(
    `update core.evaluation set completed_date_local = completed_date_local + 400
     where to_char(completed_date_local, 'YYYY-MM') is not distinct from $1`,
    [month],
  )
  await lake.export()

  const { files } = (await expectExact(lake))['fact_evaluation']!
  expect(files.filter((file) => file.month === month)).toEqual([])
})

test('a table that has lost its rows has no file but its columns, until it has rows again', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await lake.export()
  const filled = (await expectExact(lake))['fact_reconditioning']!

  await pool.query('create table lines as select * from core.reconditioning_item')
  await pool.query('delete from core.reconditioning_item')
  await lake.export()
  const empty = (await expectExact(lake))['fact_reconditioning']!
  await pool.query('insert into core.reconditioning_item select * from lines')
  await lake.export()

  expect(filled.files.length).toBeGreaterThan(2)
  expect(empty).toMatchObject({ rows: 0, files: [], columns: filled.columns })
  expect((await expectExact(lake))['fact_reconditioning']!.rows).toBe(filled.rows)
})

test('rows without a date are in a partition without a month', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  const { rows } = await pool.query(
    `update core.evaluation set completed_date_local = null, completed_at = null
     where eval_id in (select eval_id from core.evaluation order by 1 limit 3) returning eval_id`,
  )

  await lake.export()

  const { files } = (await expectExact(lake))['fact_evaluation']!
  const [own] = files.filter(({ month }) => month === null)
  expect(own!.stats.numRecords).toBeGreaterThanOrEqual(rows.length)
  expect(own!.path).toContain('lake_month=__HIVE_DEFAULT_PARTITION__/')
  expect(own!.stats.maxValues['completed_date']).toBeUndefined()
})

test('a rooftop that joins another dealer group is in the files with its new group', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const { context, config } = lake.fixture
  await lake.export()

  const [first, ...others] = config.rooftops
  await registerRooftops(context.db, [{ ...first!, group: 'acquired' }, ...others])
  await lake.export()

  const table = (await expectExact(lake))['evaluation_wide']!
  const groups = await duck.rows(
    `select distinct group_name from ${rowsOf(lake.lake, table)} where group_name = 'acquired'`,
  )
  expect(groups).toHaveLength(1)
})

test('a new version of the marts with a column more and a wider type writes every file again', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await pool.query("create view mart.plan as select 1 as plan_id, 2::integer as units, 'a' as note")
  await lake.export()
  await pool.query('drop view mart.plan')
  await pool.query(
    "create view mart.plan as select 1 as plan_id, 3000000000::bigint as units, date '2026-03-01' as due",
  )
  await pool.query(
    `insert into ops.mart_version (version, checksum, built_at) values ('99.0', 'none', now() + interval '1 s')`,
  )

  const { files } = await lake.export()

  expect(files.unchanged).toBe(0)
  expect(await differences(pool, duck, lake.lake)).toEqual([])
  const tables = await readLake(duck, lake.lake)
  expect(tables['plan']!.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
    ...['plan_id integer', 'units long', 'due date'],
  ])
  for (const table of Object.values(tables))
    expect(table.configuration['forecourt.martVersion']).toBe('99.0')
})

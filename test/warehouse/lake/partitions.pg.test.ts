import { expect, test } from 'vitest'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { differences } from './compare.ts'
import { filesOf, openDuckDb } from './duckdb.ts'
import { type LakeFixture, namedFiles, openLakeFixture } from './lake-fixture.ts'

/** The lake equals the marts, and has no file beside those of the manifest. */
async function expectExact(lake: LakeFixture) {
  await using duck = await openDuckDb()
  const manifest = await lake.manifest()
  expect(await differences(lake.fixture.database.pool, duck, lake.lake, manifest)).toEqual([])
  expect(await lake.files()).toEqual([...namedFiles(manifest), 'manifest.json'].sort())
  return manifest
}

test('a month whose rows were moved to another one has no file any more', async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await lake.export()
  const [first] = (await lake.manifest()).tables['fact_evaluation']!.files
  const { rooftop, month } = first!

  await pool.query(
    `update core.evaluation set completed_date_local = completed_date_local + 400
     where rooftop_id = $1 and to_char(completed_date_local, 'YYYY-MM') is not distinct from $2`,
    [rooftop, month],
  )
  await lake.export()

  const { tables } = await expectExact(lake)
  const { files } = tables['fact_evaluation']!
  expect(files.filter((file) => file.rooftop === rooftop && file.month === month)).toEqual([])
})

test('a table that has lost its rows is one file with its columns, until it has rows again', async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await lake.export()
  const filled = (await lake.manifest()).tables['fact_reconditioning']!

  await pool.query('create table lines as select * from core.reconditioning_item')
  await pool.query('delete from core.reconditioning_item')
  await lake.export()
  const empty = (await expectExact(lake)).tables['fact_reconditioning']!
  const [file] = empty.files
  const read = filesOf(lake.lake, [file!.path])
  const columns = await duck.rows(`select column_name from (describe select * from ${read})`)
  await pool.query('insert into core.reconditioning_item select * from lines')
  await lake.export()

  expect(filled.files.length).toBeGreaterThan(2)
  expect(empty).toMatchObject({ rows: 0, files: [{ rooftop: null, month: null, rows: 0 }] })
  expect(columns.map((row) => row['column_name'])).toEqual(empty.columns.map(({ name }) => name))
  expect((await expectExact(lake)).tables['fact_reconditioning']!.rows).toBe(filled.rows)
})

test('a rooftop that joins another dealer group is in the files with its new group', async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const { context, config } = lake.fixture
  await lake.export()

  const [first, ...others] = config.rooftops
  await registerRooftops(context.db, [{ ...first!, group: 'acquired' }, ...others])
  await lake.export()

  const { tables } = await expectExact(lake)
  const paths = tables['evaluation_wide']!.files.map(({ path }) => path)
  const groups = await duck.rows(
    `select distinct group_name from ${filesOf(lake.lake, paths)} where group_name = 'acquired'`,
  )
  expect(groups).toHaveLength(1)
})

test('a new version of the marts writes every file again', async () => {
  await using lake = await openLakeFixture()
  await lake.export()
  const { pool } = lake.fixture.database
  await pool.query(
    `insert into ops.mart_version (version, checksum, built_at) values ('99.0', 'none', now() + interval '1 s')`,
  )

  const { files } = await lake.export()

  expect(files.unchanged).toBe(0)
  expect((await expectExact(lake)).martVersion).toBe('99.0')
})

import { expect, test } from 'vitest'
import { tableDifferences } from './compare.ts'
import { lastExport, readDelta, readLake, rowsOf } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { type LakeFixture, openLakeFixture, pathsOf } from './lake-fixture.ts'

const raisePrices = async ({ fixture }: LakeFixture) =>
  await fixture.database.pool.query('update core.evaluation set final_price = final_price + 1')

test('versions of ten nights stay readable, through checkpoints, until they are older than lake.keepHours', async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  const nights = 12
  for (let night = 0; night < nights; night++) {
    if (night > 0) await raisePrices(lake)
    if (night === 7) await pool.query('delete from core.reconditioning_item')
    if (night === 9)
      await pool.query(
        'update core.evaluation set completed_date_local = completed_date_local - 31 where rooftop_id = 2',
      )
    await lake.export()
    await pool.query(`create schema night_${night}`)
    for (const name of ['fact_evaluation', 'fact_reconditioning', 'rpt_01_appraisal_gap'])
      await pool.query(`create table night_${night}.${name} as select * from mart.${name}`)
  }

  const record = rowsOf(lake.lake, await readDelta(duck, lake.lake, 'export'))
  const rows = await duck.rows(`select * from ${record}`)
  expect(new Set(rows.map((row) => row['export_number'])).size).toBe(nights)
  for (const { export_number: number, table_name: name, table_version: version } of rows) {
    const relation = `night_${Number(number) - 1}.${name}`
    const { rows: known } = await pool.query('select to_regclass($1) as name', [relation])
    if (known[0].name === null) continue
    const table = await readDelta(duck, lake.lake, String(name), Number(version))
    expect(await tableDifferences(pool, duck, lake.lake, table, relation)).toEqual([])
  }
  const log = (await lake.files()).filter((file) => file.startsWith('fact_evaluation/_delta_log/'))
  expect(
    log.filter((file) => file.includes('checkpoint')).map((file) => file.split('/')[2]),
  ).toEqual(['00000000000000000010.checkpoint.parquet', '_last_checkpoint'])
})

test('with lake.keepHours 0 no file is left that the last versions do not have', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 0 })
  await using duck = await openDuckDb()
  for (let night = 0; night < 12; night++) {
    await raisePrices(lake)
    await lake.export()
  }

  const tables = await readLake(duck, lake.lake)
  expect(await lake.dataFiles()).toEqual(pathsOf(tables))
  expect(tables['fact_evaluation']!.version).toBe(11)
  // The log begins at the checkpoint of version 10.
  const log = (await lake.files()).filter((file) => file.startsWith('fact_evaluation/_delta_log/0'))
  expect(log.map((file) => file.split('/')[2])).toEqual([
    '00000000000000000010.checkpoint.parquet',
    '00000000000000000010.json',
    '00000000000000000011.json',
  ])
  expect((await lastExport(duck, lake.lake))[0]!.export_number).toBe('12')
})

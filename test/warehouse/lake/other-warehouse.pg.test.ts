import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../../support/child.ts'
import { differences } from './compare.ts'
import { lastExport, readDelta, readLake } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { openLakeFixture, pathsOf } from './lake-fixture.ts'

test('a warehouse writes to the lake of another one only with --replace', async () => {
  await using lake = await openLakeFixture()
  await using other = await openLakeFixture({ to: lake.lake })
  await using duck = await openDuckDb()
  await lake.export()
  const before = await lake.files()
  const [owner] = await lastExport(duck, lake.lake)

  const { code, stderr } = await other.run()
  const after = await lake.files()
  const takenOver = await other.export('--replace')
  const back = await lake.run()

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^\S+ is the lake of another warehouse \(\d+\/\w+; this one is \d+\/\w+\)\. The export of \S+ stays valid: name another folder or prefix, or add --replace if/,
  )
  expect(after).toEqual(before)
  expect(takenOver.isHistoryRemoved).toBe(true)
  expect((await lastExport(duck, lake.lake))[0]!.warehouse).not.toBe(owner!.warehouse)
  expect(await differences(other.fixture.database.pool, duck, lake.lake)).toEqual([])
  expect(await lake.dataFiles()).toEqual(pathsOf(await readLake(duck, lake.lake)))
  expect(back.code).toBe(2)
})

test('a lake of the format before Delta tables is replaced only with --replace', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const old = 'fact_evaluation/rooftop=1/month=2026-02/5f2c00000000000000000000.parquet'
  await mkdir(join(lake.lake, 'fact_evaluation/rooftop=1/month=2026-02'), { recursive: true })
  await writeFile(join(lake.lake, old), 'rows')
  await writeFile(join(lake.lake, 'manifest.json'), '{"format": 1}')

  const { code, stderr } = await lake.run()
  const untouched = await lake.files()
  await lake.export('--replace')

  expect(code).toBe(2)
  expect(stderr).toMatch(
    /has files of an earlier version of Forecourt \(manifest\.json\).*add --replace to export everything again/,
  )
  expect(untouched).toEqual([old, 'manifest.json'])
  expect((await lake.files()).filter((file) => untouched.includes(file))).toEqual([])
  expect(await differences(lake.fixture.database.pool, duck, lake.lake)).toEqual([])
})

test('a table that another engine has written to is left alone, and named', async () => {
  await using lake = await openLakeFixture()
  await lake.export()
  const log = join(lake.lake, 'dim_user/_delta_log')
  await writeFile(
    join(log, `${'1'.padStart(20, '0')}.json`),
    '{"commitInfo":{"timestamp":1,"operation":"OPTIMIZE","engineInfo":"Apache-Spark/4.2.0 Delta-Lake/4.4.0"}}\n',
  )
  const before = await lake.files()

  const { code, stderr } = await lake.run()
  const replaced = await lake.run('--replace')

  expect([code, replaced.code]).toEqual([2, 2])
  expect(stderr).toMatch(
    /The table dim_user in \S+ has a version of Apache-Spark\/4\.2\.0 Delta-Lake\/4\.4\.0\. .* remove the folder of the table/,
  )
  expect(await lake.files()).toEqual(before)
})

test('a Delta table of another program in the same folder is left alone', async () => {
  await using lake = await openLakeFixture()
  await mkdir(join(lake.lake, 'budget/_delta_log'), { recursive: true })
  const schemaString = JSON.stringify({ type: 'struct', fields: [] })
  await writeFile(
    join(lake.lake, 'budget/_delta_log', `${'0'.padStart(20, '0')}.json`),
    `${JSON.stringify({ metaData: { id: 'x', schemaString, partitionColumns: [], configuration: {} } })}\n`,
  )

  const { code, stderr } = await lake.run()

  expect(code).toBe(2)
  expect(stderr).toMatch(/The table budget in \S+ has a version of unknown/)
})

test('a log with a gap, or that is cut, is refused with the table and the version', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  for (let night = 0; night < 3; night++) {
    await pool.query('update core.evaluation set final_price = final_price + 1')
    await lake.export()
  }
  const log = join(lake.lake, 'fact_evaluation/_delta_log')
  const first = join(log, `${'1'.padStart(20, '0')}.json`)

  await rename(first, join(lake.folder, 'away'))
  const gap = await lake.run()
  await rename(join(lake.folder, 'away'), first)
  const whole = await readFile(first, 'utf8')
  await writeFile(first, whole.slice(0, -20))
  const cut = await lake.run()
  await writeFile(first, whole)
  const again = await lake.run()

  expect([gap.code, cut.code, again.code]).toEqual([2, 2, 0])
  expect(gap.stderr).toMatch(/The log of the table fact_evaluation in .* version 1 is missing:/)
  expect(cut.stderr).toMatch(/The log of the table fact_evaluation in .* version 1 cannot be read:/)
})

test('a version that another program has written meanwhile is never replaced', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  await lake.export()
  await lake.fixture.database.pool.query('update core.evaluation set final_price = final_price + 1')
  const child = lake.start({})
  await until(async () => (await lake.files()).some((file) => file.startsWith('_unfinished/')))
  child.kill('SIGSTOP')
  const other = join(lake.lake, 'fact_evaluation/_delta_log', `${'1'.padStart(20, '0')}.json`)
  await appendFile(other, '{"commitInfo":{"timestamp":1,"engineInfo":"other"}}\n')
  child.kill('SIGCONT')

  const { code, stderr } = await child.ended

  expect(code).toBe(1)
  expect(stderr).toMatch(/^Another program has written version 1 of the table fact_evaluation in/m)
  expect(await readFile(other, 'utf8')).toContain('"engineInfo":"other"')
  expect((await readDelta(duck, lake.lake, 'fact_evaluation', 0)).rows).toBeGreaterThan(0)
})

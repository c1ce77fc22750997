import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { byEmail, eraseIn, openJanesFixture } from '../../privacy/erase/erase-fixture.ts'
import { filesOf, openDuckDb } from './duckdb.ts'
import { namedFiles, openLakeFixture } from './lake-fixture.ts'

/** Reports about today: their rows change without a change of the warehouse. */
const dailyTables = /^(data_freshness|rpt_15_data_freshness|rpt_08_pricing_coverage|watch_expiry)\//

test('the manifest names every file with its rows, size and digest, and nothing else is there', async () => {
  await using lake = await openLakeFixture()

  const { stdout } = await lake.run()

  const manifest = await lake.manifest()
  const named = namedFiles(manifest)
  const tables = Object.keys(manifest.tables).length
  const [what, files, state] = stdout.split('\n')
  expect(what).toContain(`${lake.lake}: ${tables} tables, ${manifest.rows} rows, `)
  expect(files).toBe(`Files: ${named.length} written, 0 unchanged, 0 removed.`)
  expect(state).toBe(`Marts ${manifest.martVersion}, covered to ${manifest.coveredTo}.`)
  expect(await lake.files()).toEqual([...named, 'manifest.json'].sort())
  for (const { files } of Object.values(manifest.tables))
    for (const { path, bytes, sha256 } of files) {
      const content = await readFile(join(lake.lake, path))
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([
        bytes,
        sha256,
      ])
    }
  const { rows } = await lake.fixture.database.pool.query(
    `select (select version from mart.mart_version where is_current) as version,
       (select min(covered_to) from mart.data_freshness where stream = 'evaluations') as covered`,
  )
  expect(manifest.martVersion).toBe(rows[0].version)
  expect(manifest.coveredTo).toBe(rows[0].covered.toISOString())
})

test('a rooftop that left the config does not hold back how far the data reach', async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await pool.query(
    `update ops.coverage set covered = covered * tstzmultirange(tstzrange(null, upper(covered) - interval '2 days')) where rooftop_id = 1`,
  )
  await pool.query('delete from ops.window_certificate where rooftop_id = 1 and not settled')
  await lake.export()
  const before = (await lake.manifest()).coveredTo
  await pool.query('update core.rooftop set left_config_at = now() where rooftop_id = 1')

  await lake.export()

  const { rows } = await pool.query(
    "select min(covered_to) as covered from mart.data_freshness where stream = 'evaluations' and rooftop_id > 1",
  )
  const { coveredTo } = await lake.manifest()
  expect(coveredTo).toBe(rows[0].covered.toISOString())
  expect(Date.parse(before!)).toBeLessThan(Date.parse(coveredTo!))
})

test('a second export writes only what depends on the time', async () => {
  await using lake = await openLakeFixture()
  await lake.export()
  const before = namedFiles(await lake.manifest()).filter((file) => !dailyTables.test(file))

  const { files } = await lake.export()

  const after = namedFiles(await lake.manifest())
  expect(after.filter((file) => !dailyTables.test(file))).toEqual(before)
  expect(files.written).toBeLessThanOrEqual(4)
  expect(files.unchanged).toBeGreaterThan(50)
})

test('an edit writes the files of its rooftop and month again, and no other of the facts', async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await lake.export()
  const before = await lake.manifest()
  const { rows } = await pool.query(
    `update core.evaluation set final_price = final_price + 1
     where (rooftop_id, eval_id) = (select rooftop_id, eval_id from core.evaluation where final_price is not null and completed_at is not null limit 1)
     returning rooftop_id, to_char(completed_date_local, 'YYYY-MM') as month`,
  )

  await lake.export()

  const after = await lake.manifest()
  const changed = (table: string) => {
    const old = new Set(before.tables[table]!.files.map(({ path }) => path))
    return after.tables[table]!.files.filter(({ path }) => !old.has(path))
  }
  const { rooftop_id: rooftop, month } = rows[0]
  for (const table of ['fact_evaluation', 'evaluation_wide'])
    expect(changed(table)).toMatchObject([{ rooftop, month }])
  for (const table of ['fact_photo', 'fact_reconditioning', 'dim_rooftop', 'dim_date'])
    expect(changed(table)).toEqual([])
  expect((await lake.files()).length).toBe(namedFiles(after).length + 1)
})

test('an erased customer is in no file after the next export', async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 }, await janesWarehouse())
  await using duck = await openDuckDb()
  const texts = async () => {
    const { files } = (await lake.manifest()).tables['fact_reconditioning']!
    const source = filesOf(
      lake.lake,
      files.map(({ path }) => path),
    )
    return await duck.rows(`select value_text from ${source} where value_text ilike '%citizen%'`)
  }
  await lake.export()
  const before = await texts()
  const old = (await lake.files()).filter((file) => file.startsWith('fact_reconditioning/'))

  await eraseIn(lake.fixture, byEmail)
  await lake.export()

  expect(before).toHaveLength(1)
  expect(await texts()).toEqual([])
  expect((await lake.files()).filter((file) => old.includes(file))).toEqual([])
  expect(await lake.files()).toEqual([...namedFiles(await lake.manifest()), 'manifest.json'].sort())
})

async function janesWarehouse() {
  const fixture = await openJanesFixture()
  await fixture.night()
  return fixture
}

test('a file that someone has removed or cut is written again, and a file of others stays', async () => {
  await using lake = await openLakeFixture()
  await lake.export()
  const [first, second] = (await lake.manifest()).tables['fact_evaluation']!.files
  await rm(join(lake.lake, first!.path))
  await writeFile(join(lake.lake, second!.path), 'cut')
  await writeFile(join(lake.lake, 'notes.txt'), 'mine')

  await lake.export()

  const { files } = (await lake.manifest()).tables['fact_evaluation']!
  for (const { path, bytes } of files)
    expect((await readFile(join(lake.lake, path))).length).toBe(bytes)
  expect(await readFile(join(lake.lake, 'notes.txt'), 'utf8')).toBe('mine')
})

test('a new target gets everything, whatever another one has', async () => {
  await using lake = await openLakeFixture()
  const first = await lake.export()

  const { files } = await lake.export('--to', join(lake.folder, 'other'))

  expect(files).toEqual({ written: first.files.written, unchanged: 0, removed: 0 })
})

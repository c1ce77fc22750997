import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, test, vi } from 'vitest'
import { lakeCrashPoints } from '#src/warehouse/lake/crash-points.ts'
import { someOf } from '../../support/cases.ts'
import { differences, tableDifferences } from './compare.ts'
import { lastExport, readDelta, readLake, rowsOf } from './delta.ts'
import { openDuckDb } from './duckdb.ts'
import { openLakeFixture, pathsOf } from './lake-fixture.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 600_000 })

/** Passed once by an export. */
const passedOnce: ReadonlySet<string> = new Set(['lake-files-complete', 'lake-export-committed'])

// What the export before has stays readable, unless a test is about removed files.
const points = Map.groupBy(lakeCrashPoints, (point) => (point === 'lake-file-removed' ? 0 : 24))

test.each(someOf([...points], 1).map(([keepHours, all]) => ({ keepHours, all: someOf(all, 1) })))(
  'after a kill at each of $all the last export is whole, and the next export ends',
  async ({ keepHours, all }) => {
    await using lake = await openLakeFixture({ to: 'lake', keepHours })
    await using duck = await openDuckDb()
    const { pool } = lake.fixture.database
    await lake.export()
    for (const [night, point] of all.entries()) {
      const before = await lastExport(duck, lake.lake)
      await pool.query(`create table night_${night} as select * from mart.fact_evaluation`)
      await pool.query('update core.evaluation set final_price = final_price + 1')

      const turn = passedOnce.has(point) ? 1 : 2
      const { signal, stderr } = await lake.start({ FORECOURT_CRASH_AT: `${point}:${turn}` }).ended
      expect(signal, `${point} was not passed: ${stderr}`).toBe('SIGKILL')
      const killed = await lastExport(duck, lake.lake)
      const versionOf = (rows: typeof killed) =>
        Number(rows.find((row) => row.table_name === 'fact_evaluation')!.table_version)
      const named = await readDelta(duck, lake.lake, 'fact_evaluation', versionOf(killed))
      const isRecorded = /export-committed|removed/.test(point)
      const relation = isRecorded ? 'mart.fact_evaluation' : `night_${night}`
      const atKill = await tableDifferences(pool, duck, lake.lake, named, relation)
      await lake.export()

      expect(killed[0]!.export_number === before[0]!.export_number, point).toBe(!isRecorded)
      expect(atKill, point).toEqual([])
      expect(await differences(pool, duck, lake.lake), point).toEqual([])
      if (keepHours === 0) {
        const tables = await readLake(duck, lake.lake)
        expect(await lake.dataFiles()).toEqual(pathsOf(tables))
      }
    }
  },
)

test('a kill while the first export writes leaves no table, and the next one removes its files', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()

  const killed = await lake.start({ FORECOURT_CRASH_AT: 'lake-files-complete' }).ended
  const left = await lake.files()
  const { files } = await lake.export()

  expect(killed.signal).toBe('SIGKILL')
  expect(left.length).toBeGreaterThan(20)
  expect(left.filter((file) => !/\/part-|_unfinished/.test(file))).toEqual([])
  expect(files.removed).toBe(left.length)
  expect(await lake.dataFiles()).toEqual(pathsOf(await readLake(duck, lake.lake)))
})

test('a kill while the versions of an erased customer are deleted: the next export deletes the rest', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await lake.export()
  await pool.query('update core.evaluation set final_price = final_price + 1')
  await lake.export()
  await pool.query('update core.evaluation set final_price = final_price + 1')
  await recordErasure(pool)

  const killed = await lake.start({ FORECOURT_CRASH_AT: 'lake-file-removed:2' }).ended
  const { isHistoryRemoved } = await lake.export()

  expect(killed.signal).toBe('SIGKILL')
  expect(isHistoryRemoved).toBe(true)
  expect(await lake.dataFiles()).toEqual(pathsOf(await readLake(duck, lake.lake)))
})

test('an erasure after a first export that was killed while it committed leaves no version before it', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 24 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  const killed = await lake.start({ FORECOURT_CRASH_AT: 'lake-table-committed:30' }).ended
  await pool.query('update core.evaluation set final_price = final_price + 1')
  await recordErasure(pool)

  await lake.export()

  expect(killed.signal).toBe('SIGKILL')
  expect(await lake.dataFiles()).toEqual(pathsOf(await readLake(duck, lake.lake)))
})

test('a kill while --replace deletes the files of the earlier format: the next export deletes the rest', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const old = Array.from(
    { length: 30 },
    (_, at) => `rpt_01/${String(at).padStart(24, '0')}.parquet`,
  )
  await mkdir(join(lake.lake, 'rpt_01'), { recursive: true })
  for (const path of [...old, 'manifest.json']) await writeFile(join(lake.lake, path), '{}')

  const env = { FORECOURT_CRASH_AT: 'lake-file-removed:3' }
  const { signal } = await lake.start(env, '--replace').ended
  await rm(join(lake.lake, 'manifest.json'), { force: true })
  await lake.export()

  expect(signal).toBe('SIGKILL')
  expect((await lake.files()).filter((file) => old.includes(file))).toEqual([])
  expect(await differences(lake.fixture.database.pool, duck, lake.lake)).toEqual([])
})

test('a kill while a mart that is gone is deleted leaves a log that can be read', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  for (let night = 0; night < 5; night++) {
    await pool.query(`create or replace view mart.rpt_zz as select ${night} as value`)
    await lake.export()
  }
  await pool.query('drop view mart.rpt_zz')
  // The files of the other tables come first.
  const { signal } = await lake.start({ FORECOURT_CRASH_AT: 'lake-file-removed:6' }).ended
  const left = (await lake.files()).filter((file) => file.startsWith('rpt_zz/'))

  await lake.export()

  expect(signal).toBe('SIGKILL')
  expect(left.length).toBeGreaterThan(0)
  expect((await lake.files()).filter((file) => file.startsWith('rpt_zz/'))).toEqual([])
})

test('what a killed export has replaced stays as long as the table "export" names it', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture({ to: 'lake', keepHours: 1 })
  await using duck = await openDuckDb()
  const { pool } = lake.fixture.database
  await lake.export()
  await pool.query('create table night_0 as select * from mart.evaluation_wide')
  await pool.query('update core.evaluation set final_price = final_price + 1')
  const { signal } = await lake.start({ FORECOURT_CRASH_AT: 'lake-table-committed:2' }).ended
  expect((await readDelta(duck, lake.lake, 'evaluation_wide')).version).toBe(1)
  await makeOlder(lake.lake, 2)
  await pool.query('update core.evaluation set final_price = final_price + 1')

  await lake.export()

  expect(signal).toBe('SIGKILL')
  const named = await duck.rows(
    `select * from ${rowsOf(lake.lake, await readDelta(duck, lake.lake, 'export'))} where table_name = 'evaluation_wide'`,
  )
  expect(named.map((row) => row['export_number'])).toContain('1')
  const first = await readDelta(duck, lake.lake, 'evaluation_wide', 0)
  expect(await tableDifferences(pool, duck, lake.lake, first, 'night_0')).toEqual([])
})

/** As if all commits had been made some hours earlier. */
async function makeOlder(lake: string, hours: number): Promise<void> {
  for (const path of await readdir(lake, { recursive: true })) {
    if (!path.endsWith('.json')) continue
    const text = await readFile(join(lake, path), 'utf8')
    const older = text.replace(/\b1[6-9]\d{11}\b/g, (ms) => String(Number(ms) - hours * 3_600_000))
    await writeFile(join(lake, path), older)
  }
}

/** As an erasure does. */
async function recordErasure(pool: pg.Pool): Promise<void> {
  await pool.query(
    `insert into pii.erasure (subject_kind, subject_masked, requested_by, receipt) values ('eval', '1', 'test', '{}')`,
  )
}

test('a stopped export ends with 143, and the next one is complete', { tags: 'ci' }, async () => {
  await using lake = await openLakeFixture()
  await using duck = await openDuckDb()
  const child = lake.start({})
  await vi.waitUntil(async () => (await lake.files().catch(() => [])).length > 10, {
    timeout: 120_000,
    interval: 5,
  })
  child.kill('SIGTERM')
  const { code } = await child.ended

  await lake.export()

  expect(code).toBe(143)
  expect(await differences(lake.fixture.database.pool, duck, lake.lake)).toEqual([])
})

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { applyRetention } from '#src/privacy/retain/apply-retention.ts'
import { allStreams } from '#src/streams/all.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { exportLake } from '#src/warehouse/lake/export-lake.ts'
import { FolderStore } from '#src/warehouse/store/folder-store.ts'
import { janesWorld, openJanesFixture } from '../../privacy/erase/erase-fixture.ts'
import { now, openImportFixture } from '../../stock/import-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type LakeFixture, openLakeFixture } from './lake-fixture.ts'
import { exportUntilKnown, restingDigests, staleTables } from './stale.ts'

const change = 'update core.evaluation set final_price = coalesce(final_price, 0) + 1'
const known = async (lake: LakeFixture, ...args: readonly string[]) =>
  await exportUntilKnown(lake.fixture.database.pool, async () => await lake.export(...args))
const stale = async ({ fixture, lake }: LakeFixture) =>
  await staleTables(lake, await restingDigests(fixture.database.pool))

test('what the program itself writes is in the next export, which compares only that', {
  tags: 'ci',
}, async () => {
  const made = await openJanesFixture(janesWorld(), allStreams)
  await using lake = await openLakeFixture({ to: 'lake' }, made)
  const { context, config, database } = lake.fixture
  made.sandbox.clock.set(new Date('2026-03-04T06:00:00Z'))
  await made.night()
  await known(lake)
  const [first, ...others] = config.rooftops
  const steps: Record<string, () => Promise<unknown>> = {
    'a night': async () => await made.nightAfter(2),
    'a replay': async () => {
      await database.pool.query("update core.evaluation set make = 'Other'")
      await lake.export()
      const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
      await runStreams(context, { plan, streams: [evaluations], rooftops: config.rooftops })
    },
    'another name': async () =>
      await registerRooftops(context.db, [{ ...first!, name: 'Renamed' }, ...others]),
    'another group': async () =>
      await registerRooftops(context.db, [{ ...first!, name: 'Renamed', group: 'new' }, ...others]),
    retention: async () => await applyRetention(context),
  }

  for (const [name, step] of Object.entries(steps)) {
    await step()
    const marts = await restingDigests(database.pool)
    const changed = await staleTables(lake.lake, marts)
    const { isEverythingCompared } = await lake.export()
    const expected = { name, isChanged: name !== 'retention', isEverythingCompared: false }
    expect({ name, isChanged: changed.length > 0, isEverythingCompared }).toEqual(expected)
    expect([name, await staleTables(lake.lake, marts)]).toEqual([name, []])
  }
})

test('an import of stock is in the next export', async () => {
  await using fixture = await openImportFixture()
  await using home = await temporaryFolder()
  const folder = join(home.path, 'lake')
  const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
  const services = { pool: fixture.pool, log, crashPoint: () => {}, keepHours: 0 }
  const { signal } = new AbortController()
  const exported = async () => await exportLake({ ...services, signal }, new FolderStore(folder))
  const list = (price: number) => `Stock No,VIN,Price\nS1,WVWZZZ1KZ8W000001,${price}\n`
  await fixture.import(list(19_990))
  await exportUntilKnown(fixture.pool, exported)

  await fixture.import(list(18_990), { allowMassChange: true, now: new Date(now.getTime() + 1) })
  const marts = await restingDigests(fixture.pool)
  const changed = await staleTables(folder, marts)
  const { isEverythingCompared } = await exported()

  expect(changed).toContain('stock_price_drift')
  expect(isEverythingCompared).toBe(false)
  expect(await staleTables(folder, marts)).toEqual([])
})

test('a change that no trigger has seen is found by --full, and after a week by itself', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  const hidden = `set session_replication_role = replica; ${change}; reset session_replication_role`
  await known(lake)
  await pool.query(hidden)
  await lake.export()
  const missed = await stale(lake)

  const full = await lake.export('--full')
  const found = await stale(lake)
  await pool.query(hidden)
  await setComparedAt(lake, (at) => at - 155 * 3_600_000)
  const before = await lake.export()
  await setComparedAt(lake, (at) => at - 3_600_000)
  const after = await lake.export()

  expect(missed).toContain('fact_evaluation')
  expect([full.isEverythingCompared, found]).toEqual([true, []])
  expect([before.isEverythingCompared, after.isEverythingCompared]).toEqual([false, true])
  expect(await stale(lake)).toEqual([])
})

/** Changes when everything was compared last, in the newest version of the table `export`. */
async function setComparedAt({ lake }: LakeFixture, make: (at: number) => number): Promise<void> {
  const folder = join(lake, 'export/_delta_log')
  const newest = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const file = join(folder, newest.at(-1)!)
  const text = await readFile(file, 'utf8')
  const changed = text.replace(
    /"comparedAt":"(\d+)"/,
    (_, at) => `"comparedAt":"${make(Number(at))}"`,
  )
  expect(changed).not.toBe(text)
  await writeFile(file, changed)
}

test('after a restore of the warehouse, another version of the marts, and a kill, everything is compared', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  await known(lake)
  await pool.query('create table backup as select * from ops.lake')
  await pool.query(change)
  await lake.export()

  // As if a copy from before the second export was put back: its changes are gone, and those after it may be of any kind.
  await pool.query('delete from ops.lake; insert into ops.lake select * from backup')
  const restored = await lake.export()
  const usual = await lake.export()
  await pool.query(
    `insert into ops.mart_version (version, checksum, built_at) values ('1.9', 'none', now() + interval '1 s')`,
  )
  const upgraded = await lake.export()
  const { signal } = await lake.start({ FORECOURT_CRASH_AT: 'lake-export-committed' }).ended
  const afterKill = await lake.export()

  expect(signal).toBe('SIGKILL')
  expect([restored, usual, upgraded, afterKill].map(({ isEverythingCompared: is }) => is)).toEqual([
    true,
    false,
    true,
    true,
  ])
  expect(await stale(lake)).toEqual([])
})

test('a transaction that is open during an export is in the next one, also when it began before changes were recorded', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  const client = await pool.connect()
  await client.query(`begin; ${change}`)
  await lake.export()
  await client.query('commit')
  const second = await lake.export()
  const afterSecond = await stale(lake)
  await known(lake)
  const third = await lake.export()
  await client.query(`begin; ${change}`)
  const during = await lake.export()
  await client.query('commit')
  client.release()

  const last = await lake.export()

  expect([second.isEverythingCompared, afterSecond]).toEqual([true, []])
  expect([third, during, last].map(({ isEverythingCompared: is }) => is)).toEqual([
    ...[false, false, false],
  ])
  expect(await stale(lake)).toEqual([])
})

test('changes are stored until every lake has them, and none without a lake', {
  tags: 'ci',
}, async () => {
  await using lake = await openLakeFixture()
  const { pool } = lake.fixture.database
  const stored = async () => {
    const { rows } = await pool.query('select count(*)::int as count from ops.lake_change')
    return rows[0].count
  }
  const other = ['--to', join(lake.folder, 'other')]
  await pool.query(change)
  const without = await stored()
  await known(lake)
  await known(lake, ...other)
  await pool.query(change)
  const both = await stored()
  await lake.export()
  const one = await stored()
  const { isEverythingCompared } = await lake.export(...other)
  // What a transaction of any database of the server may not see yet stays for a later export.
  let none = await stored()
  while (none > 0) {
    await Promise.all([lake.export(), setTimeout(200)])
    await lake.export(...other)
    none = await stored()
  }
  const isOtherStale = await staleTables(join(lake.folder, 'other'), await restingDigests(pool))
  await pool.query("update ops.lake set exported_at = now() - interval '31 days'")
  await pool.query(change)
  await applyRetention(lake.fixture.context)
  const forgotten = await stored()
  await pool.query(change)

  expect([without, none, forgotten, await stored()]).toEqual([0, 0, 0, 0])
  expect(one).toBe(both)
  expect(both).toBeGreaterThan(0)
  expect([isEverythingCompared, isOtherStale]).toEqual([false, []])
  expect((await lake.export()).isEverythingCompared).toBe(true)
})

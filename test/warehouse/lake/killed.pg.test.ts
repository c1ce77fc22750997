import { expect, test, vi } from 'vitest'
import { lakeCrashPoints } from '#src/warehouse/lake/crash-points.ts'
import { someOf } from '../../support/cases.ts'
import { differences } from './compare.ts'
import { openDuckDb } from './duckdb.ts'
import { namedFiles, openLakeFixture } from './lake-fixture.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 600_000 })

/** Passed a second time only by an export of more than ten seconds: s3-faults.pg.test.ts. */
const passedOnce: ReadonlySet<string> = new Set([
  ...['lake-progress-stored', 'lake-files-complete', 'lake-manifest-stored'],
])

test.each(someOf(lakeCrashPoints, 2))(
  'after a kill at %s the last state is whole, and the next export ends',
  async (point) => {
    await using lake = await openLakeFixture()
    await using duck = await openDuckDb()
    const { pool } = lake.fixture.database
    await lake.export()
    const before = await lake.manifest()
    await pool.query('update core.evaluation set final_price = final_price + 1')

    const turn = passedOnce.has(point) ? 1 : 2
    const { signal, stderr } = await lake.start({ FORECOURT_CRASH_AT: `${point}:${turn}` }).ended
    expect(signal, `${point} was not passed: ${stderr}`).toBe('SIGKILL')
    const killed = await lake.manifest()
    const there = new Set(await lake.files())
    await lake.export()

    const isPublished = /manifest|removed/.test(point)
    expect(killed.finishedAt === before.finishedAt).toBe(!isPublished)
    expect(namedFiles(killed).filter((file) => !there.has(file))).toEqual([])
    const after = await lake.manifest()
    expect(await differences(pool, duck, lake.lake, after)).toEqual([])
    expect(await lake.files()).toEqual([...namedFiles(after), 'manifest.json'].sort())
  },
)

test('a stopped export ends with 143, and the next one writes only what is missing', async () => {
  await using lake = await openLakeFixture()
  const child = lake.start({})
  await vi.waitUntil(async () => (await lake.files().catch(() => [])).length > 20, {
    timeout: 120_000,
    interval: 5,
  })
  child.kill('SIGTERM')
  const { code } = await child.ended
  const stored = (await lake.files()).filter((file) => file.endsWith('.parquet')).length

  const { files } = await lake.export()

  expect(code).toBe(143)
  expect(stored).toBeGreaterThan(0)
  expect(files.unchanged).toBeGreaterThanOrEqual(stored - 4)
})

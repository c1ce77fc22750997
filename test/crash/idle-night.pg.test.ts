import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { someOf } from '../support/cases.ts'
import { type ChildFixture, openChildFixture } from '../support/child-fixture.ts'
import { copyTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { provedWindows } from '../support/proved-windows.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

const firstNight = new Date('2026-03-18T02:15:00Z')
const secondNight = new Date('2026-03-19T02:15:00Z')
let fixture: ChildFixture
/** The state after the first night. Of its twelve rooftops few have evaluations, so most are completed together in the second. */
let yesterday: TestDatabase
let truth: Content

beforeAll(async () => {
  fixture = await openChildFixture({
    sandbox: { now: secondNight, seed: 3, rooftops: 12, evaluations: 8, days: 3 },
    sync: { start: '2026-03-14', recheckDays: 2 },
  })
  const { clock } = fixture.sandbox
  clock.set(firstNight)
  const first = await fixture.warehouse()
  expect((await first.run(['sync'])).code).toBe(0)
  yesterday = first.database
  clock.set(secondNight)
  await using warehouse = await fixture.warehouse(await copyTestDatabase(yesterday))
  expect((await warehouse.run(['sync'])).code).toBe(0)
  truth = await readContent(warehouse.database.pool)
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  await yesterday[Symbol.asyncDispose]()
})

// Twelve slices load the users, each on its own; the evaluations of all rooftops follow together.
const kills = [
  ['ledger-written:12', 'before-commit:13', 'committed:13', 'window-listed:2'],
  ['slice-claimed:13', 'rows-written:12', 'ledger-written:13', 'committed:14'],
]

for (const points of someOf(kills, 1))
  test(`a night of mostly idle rooftops that is killed at ${points.join(', ')} ends as if nothing had happened`, async () => {
    await using warehouse = await fixture.warehouse(await copyTestDatabase(yesterday))
    for (const point of points) {
      const killed = await warehouse.run(['sync'], { FORECOURT_CRASH_AT: point })
      expect(killed.signal, `${point} was never passed: ${killed.stderr}`).toBe('SIGKILL')
    }

    const { code, stderr } = await warehouse.run(['sync'])

    expect([code, code === 0 ? '' : stderr]).toEqual([0, ''])
    const { pool } = warehouse.database
    expect(contentDifferences(truth, await readContent(pool))).toEqual([])
    expect(await provedWindows(pool, fixture)).toBeGreaterThan(20)
  })

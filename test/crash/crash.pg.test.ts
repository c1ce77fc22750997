import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { crashPoints } from '#src/sync/run/crash-points.ts'
import { runsEveryCase, someOf } from '../support/cases.ts'
import {
  type ChildFixture,
  type ChildWarehouse,
  openChildFixture,
} from '../support/child-fixture.ts'
import { copyTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { provedWindows } from '../support/proved-windows.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000, maxConcurrency: 3 })

const dayMs = 86_400_000
const firstNight = new Date('2026-03-18T02:15:00Z')
const secondNight = new Date(firstNight.getTime() + 2 * dayMs)
// Windows of a few hours give several slices even for this small world.
const sync = { start: '2026-03-12', windowHours: 4 }
const history = ['backfill', 'evaluations', '--from', '2026-03-08', '--to', '2026-03-12']

let fixture: ChildFixture
/** The state after the first night. The second night has new, edited, gone and quarantined records. */
let yesterday: TestDatabase
/** The state after the second night, with one quarantined record that is valid since. */
let today: TestDatabase | undefined
const truth: Record<'fresh' | 'second' | 'history' | 'healed', Content> = {} as never

beforeAll(async () => {
  fixture = await openChildFixture({
    sandbox: { now: secondNight, seed: 7, rooftops: 2, evaluations: 60, days: 11 },
    sync,
  })
  const { world, clock } = fixture.sandbox
  clock.set(firstNight)
  const first = await fixture.warehouse()
  await done(first, ['sync'])
  yesterday = first.database
  clock.set(secondNight)
  const [edited, gone, broken] = [...world.evaluations()].filter(
    ({ createdAt, completedAt, vanishedAt }) =>
      completedAt && completedAt < firstNight && !vanishedAt && createdAt > new Date(sync.start),
  )
  world.edit(edited!.evalId, new Date(firstNight.getTime() + dayMs), { photos: [], notes: 'New.' })
  world.vanish(gone!.evalId, new Date(firstNight.getTime() + dayMs))
  truth.second = await uninterrupted(await copy(yesterday), ['sync'])
  if (!runsEveryCase) return
  truth.fresh = await uninterrupted(await fixture.warehouse(), ['sync'])
  truth.history = await uninterrupted(await copy(yesterday), history)
  world.poison(broken!.evalId, { UpdatedAt: 'never' })
  const spoilt = await fixture.warehouse()
  expect((await spoilt.start(['sync']).ended).code).toBe(1)
  today = spoilt.database
  world.removePoison(broken!.evalId)
  truth.healed = await uninterrupted(await copy(today!), ['quarantine', 'retry'])
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  await yesterday[Symbol.asyncDispose]()
  await today?.[Symbol.asyncDispose]()
})

async function copy(database: TestDatabase): Promise<ChildWarehouse> {
  return await fixture.warehouse(await copyTestDatabase(database))
}

async function done(warehouse: ChildWarehouse, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await warehouse.run(args)
  expect({ code, stdout: code === 0 ? '' : stdout, stderr: code === 0 ? '' : stderr }).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  })
}

async function uninterrupted(warehouse: ChildWarehouse, args: readonly string[]) {
  await using own = warehouse
  await done(own, args)
  return await readContent(own.database.pool)
}

/** Kills a run at each point, runs it to its end, and expects the same complete data as without a kill. */
async function killAndRunAgain(
  warehouse: ChildWarehouse,
  args: readonly string[],
  points: readonly string[],
  expected: Content,
): Promise<void> {
  for (const point of points) {
    const killed = await warehouse.run(args, { FORECOURT_CRASH_AT: point })
    expect(killed.signal, `${point} was never passed: ${killed.stderr}`).toBe('SIGKILL')
  }

  await done(warehouse, args)

  const { pool } = warehouse.database
  expect(contentDifferences(expected, await readContent(pool))).toEqual([])
  expect(await provedWindows(pool, fixture)).toBeGreaterThan(50)
}

for (const name of someOf(crashPoints, 0))
  test.concurrent(`a first sync that is killed at ${name} ends as if nothing had happened`, async () => {
    await using warehouse = await fixture.warehouse()
    await killAndRunAgain(warehouse, ['sync'], [`${name}:1`], truth.fresh)
  })

// With two rooftops, the first two slices load users; evaluations follow from the third on.
const inTurn = [
  'record-read:20',
  'window-listed:5',
  'before-commit:4',
  'slice-claimed:4',
  'committed:4',
]

for (const points of someOf([inTurn], 0))
  test.concurrent(`a first sync that is killed at ${points.join(', ')} in turn loses nothing`, async () => {
    await using warehouse = await fixture.warehouse()
    await killAndRunAgain(warehouse, ['sync'], points, truth.fresh)
  })

test.concurrent('a night of changes that is killed again and again ends as if nothing had happened', async () => {
  await using warehouse = await copy(yesterday)
  const points = ['record-read:4', 'rows-written:3', 'ledger-written:4', 'committed:3']
  await killAndRunAgain(warehouse, ['sync'], points, truth.second)
})

test.concurrent('a backfill that is killed again and again goes on where it was', async () => {
  await using warehouse = await copy(yesterday)
  const points = ['window-listed:3', 'rows-written:2', 'committed:1']
  await killAndRunAgain(warehouse, history, points, truth.history)
})

test.concurrent('a replay that is killed again and again gives back the same rows', async () => {
  await using warehouse = await copy(yesterday)
  const before = await readContent(warehouse.database.pool)
  const points = ['slice-claimed:3', 'rows-written:1', 'ledger-written:2', 'committed:1']
  await killAndRunAgain(warehouse, ['replay'], points, before)
})

test.concurrent('a retry of quarantined records that is killed again and again loads them once', async () => {
  await using warehouse = await copy(today!)
  const points = ['record-read:1', 'rows-written:1', 'ledger-written:1', 'committed:1']
  await killAndRunAgain(warehouse, ['quarantine', 'retry'], points, truth.healed)
})

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { someOf } from '../support/cases.ts'
import { freeze } from '../support/child.ts'
import {
  type ChildFixture,
  type ChildWarehouse,
  openChildFixture,
} from '../support/child-fixture.ts'
import { databaseLocks } from '../support/postgres.ts'
import { provedWindows } from '../support/proved-windows.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'
import { slowSyncWorld, startSlowSync } from './slow-sync.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

let fixture: ChildFixture
let truth: Content

beforeAll(async () => {
  fixture = await openChildFixture(slowSyncWorld)
  await using warehouse = await fixture.warehouse()
  expect((await warehouse.run(['sync'])).code).toBe(0)
  truth = await readContent(warehouse.database.pool)
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

async function expectTruth(warehouse: ChildWarehouse): Promise<void> {
  const { pool } = warehouse.database
  expect(contentDifferences(truth, await readContent(pool))).toEqual([])
  expect(await provedWindows(pool, fixture)).toBeGreaterThan(20)
}

async function runs({ database }: ChildWarehouse): Promise<string[]> {
  const { rows } = await database.pool.query('select status from ops.run order by run_id')
  return rows.map(({ status }) => status as string)
}

test('a run right after a SIGKILL takes the work over at once', async () => {
  await using warehouse = await fixture.warehouse()
  const { child, hurry } = await startSlowSync(fixture, warehouse)
  child.kill('SIGKILL')
  expect((await child.ended).signal).toBe('SIGKILL')
  hurry()

  const { code, document } = await warehouse.json(['sync'])

  expect([code, document['status']]).toEqual([0, 'ok'])
  expect(await runs(warehouse)).toEqual(['abandoned', 'ok'])
  await expectTruth(warehouse)
})

test('while a frozen run is alive a second one exits 3 and starts nothing; the first one then finishes', {
  tags: 'ci',
}, async () => {
  await using warehouse = await fixture.warehouse()
  const { child, hurry } = await startSlowSync(fixture, warehouse)
  await freeze(child)
  hurry()
  const asked = fixture.sandbox.requests.count('/getevallist')

  const second = await warehouse.json(['sync'])

  expect(second).toMatchObject({
    code: 3,
    document: { error: expect.stringMatching(/^Run \d+ is at work on /) },
  })
  expect(await runs(warehouse)).toEqual(['running'])
  expect(fixture.sandbox.requests.count('/getevallist')).toBe(asked)
  child.kill('SIGCONT')
  const first = await child.ended
  expect({ code: first.code, status: JSON.parse(first.stdout).status }).toEqual({
    code: 0,
    status: 'ok',
  })
  await expectTruth(warehouse)
})

test('a frozen run whose work was taken over writes nothing and logs this', {
  tags: 'ci',
}, async () => {
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  const { child, hurry } = await startSlowSync(fixture, warehouse)
  await freeze(child)
  hurry()
  // To other processes this appears as its death: the session with the run's lock is gone.
  await pool.query(`select pg_terminate_backend(pid) from ${databaseLocks}
    where locktype = 'advisory' and classid = 7300`)
  const second = await warehouse.json(['sync'])
  expect(second.code).toBe(0)
  await expectTruth(warehouse)
  const written = await snapshot(warehouse)

  child.kill('SIGCONT')
  const zombie = await child.ended

  expect(zombie.code).not.toBe(0)
  expect(zombie.stderr).toMatch(/taken over|taken its work over|ended by another run/)
  expect(zombie.stderr).not.toMatch(/\n\s+at /)
  expect(await snapshot(warehouse)).toEqual(written)
  expect(await runs(warehouse)).toEqual(['abandoned', 'ok'])
})

/** Every row, with the transaction that wrote it. */
async function snapshot({ database }: ChildWarehouse): Promise<unknown[]> {
  const tables = ['core.evaluation', 'core.photo', 'core.app_user', 'raw.payload']
  const ledgers = ['ops.window_certificate', 'ops.coverage', 'ops.run_stream']
  const queries = [...tables, ...ledgers].map((table) =>
    database.pool.query(`select xmin::text, ctid::text from ${table} order by 2`),
  )
  return (await Promise.all(queries)).map(({ rows }) => rows)
}

const signals = [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const

for (const [signal, code] of someOf(signals, 1))
  test(`${signal} ends a sync with ${code} after a clean checkpoint, and the next one continues`, async () => {
    await using warehouse = await fixture.warehouse()
    const { child, hurry } = await startSlowSync(fixture, warehouse)

    child.kill(signal)

    const stopped = await child.ended
    hurry()
    expect([stopped.signal, stopped.code]).toEqual([null, code])
    expect(JSON.parse(stopped.stdout)).toMatchObject({
      status: 'partial',
      finishedAt: expect.any(String),
      stoppedBy: signal,
    })
    expect(stopped.stderr).not.toMatch(/"level":"(error|fatal)"|\n\s+at /)
    expect(await runs(warehouse)).toEqual(['stopped'])
    expect((await warehouse.run(['sync'])).code).toBe(0)
    expect(await runs(warehouse)).toEqual(['stopped', 'ok'])
    await expectTruth(warehouse)
  })

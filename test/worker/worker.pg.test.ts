import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { slowSyncWorld } from '../crash/slow-sync.ts'
import { type Child, freeze, until } from '../support/child.ts'
import {
  type ChildFixture,
  type ChildWarehouse,
  openChildFixture,
} from '../support/child-fixture.ts'
import { provedWindows } from '../support/proved-windows.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

const backfill = ['backfill', 'evaluations', '--from', '2026-03-12']
let fixture: ChildFixture
let truth: Content

beforeAll(async () => {
  fixture = await openChildFixture(slowSyncWorld)
  await using warehouse = await fixture.warehouse()
  expect((await warehouse.run(backfill)).code).toBe(0)
  truth = await readContent(warehouse.database.pool)
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

async function expectTruth({ database: { pool } }: ChildWarehouse): Promise<void> {
  expect(contentDifferences(truth, await readContent(pool))).toEqual([])
  expect(await provedWindows(pool, fixture)).toBeGreaterThan(20)
}

async function statuses({ database }: ChildWarehouse): Promise<string[]> {
  const { rows } = await database.pool.query('select status from ops.run order by run_id')
  return rows.map(({ status }) => status as string)
}

/** Unfinished work in the queue, by state. */
async function queued({ database }: ChildWarehouse): Promise<Record<string, number>> {
  const { rows } = await database.pool.query(
    `select state::text, count(*)::int as pieces from pgboss.job where state <= 'active' group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ state, pieces }) => [state, pieces]))
}

/** A worker that is reading evaluations for a detached backfill from a slow source; `hurry` makes the source fast. */
async function workerAtWork(warehouse: ChildWarehouse): Promise<{ worker: Child; hurry(): void }> {
  const { faults, requests } = fixture.sandbox
  expect((await warehouse.run([...backfill, '--detach'])).code).toBe(0)
  const slow = faults.add({ match: { path: '/geteval' }, fault: { kind: 'slow', ms: 250 } })
  const before = requests.count('/geteval')
  const worker = warehouse.start(['worker'])
  await until(() => requests.count('/geteval') > before + 4)
  return { worker, hurry: () => slow.remove() }
}

async function ended(warehouse: ChildWarehouse): Promise<void> {
  await until(async () => !(await statuses(warehouse)).includes('running'))
}

test('a stopped worker returns its work to the queue, and another one finishes it', async () => {
  await using warehouse = await fixture.warehouse()
  const { worker, hurry } = await workerAtWork(warehouse)

  worker.kill('SIGTERM')
  const first = await worker.ended
  const left = await queued(warehouse)
  hurry()
  const second = warehouse.start(['worker', '--concurrency', '2'])
  await ended(warehouse)
  second.kill('SIGTERM')

  expect([first.signal, first.code, (await second.ended).code]).toEqual([null, 143, 143])
  expect(first.stderr).not.toMatch(/"level":"(error|fatal)"|\n\s+at /)
  expect(left).toEqual({ created: 2 })
  expect(await statuses(warehouse)).toEqual(['ok'])
  await expectTruth(warehouse)
})

test('another worker does the work of a killed or frozen one, and late writes are fenced', {
  tags: 'ci',
}, async () => {
  await using warehouse = await fixture.warehouse()
  const { worker: frozen, hurry } = await workerAtWork(warehouse)
  await freeze(frozen)
  const killed = warehouse.start(['worker'])
  const { requests } = fixture.sandbox
  const before = requests.count()
  await until(() => requests.count() > before)
  killed.kill('SIGKILL')
  hurry()
  const third = warehouse.start(['worker'])
  await ended(warehouse)
  const { rows } = await warehouse.database.pool.query('select fence from ops.run')

  frozen.kill('SIGCONT')
  await until(() => /taken over|was ended/.test(frozen.stderr()))
  for (const child of [frozen, third]) child.kill('SIGTERM')
  await Promise.all([frozen.ended, third.ended, killed.ended])

  expect(await statuses(warehouse)).toEqual(['ok'])
  expect((await warehouse.database.pool.query('select fence from ops.run')).rows).toEqual(rows)
  await expectTruth(warehouse)
})

test('a worker of an older version commits nothing to a warehouse that was migrated, hands its work back and says so', {
  tags: 'ci',
}, async () => {
  await using warehouse = await fixture.warehouse()
  const { pool } = warehouse.database
  const { worker, hurry } = await workerAtWork(warehouse)
  await pool.query(
    `insert into ops.schema_migration (version, name, checksum) values (9999, 'tomorrow', 'none')`,
  )
  const { rows: before } = await pool.query('select fence from ops.run')
  hurry()

  const { code, stderr } = await worker.ended

  expect(code).toBe(1)
  expect(stderr).toMatch(/The warehouse is at migration 9999, this process knows \d+: .*restart it/)
  expect((await pool.query('select fence from ops.run')).rows).toEqual(before)
  expect(await queued(warehouse)).toEqual({ created: 2 })
  await pool.query('delete from ops.schema_migration where version = 9999')
  const next = warehouse.start(['worker'])
  await ended(warehouse)
  next.kill('SIGTERM')
  await next.ended
  await expectTruth(warehouse)
})

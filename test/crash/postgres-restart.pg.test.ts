import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { ensureEmbedded, stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { prepareWarehouse } from '#src/warehouse/warehouse.ts'
import { type ChildResult, until } from '../support/child.ts'
import {
  type ChildFixture,
  type ChildWarehouse,
  openChildFixture,
} from '../support/child-fixture.ts'
import { databaseUrl } from '../support/postgres-url.ts'
import { provedWindows } from '../support/proved-windows.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Content, contentDifferences, readContent } from '../support/warehouse-content.ts'
import { slowSyncWorld, startSlowSync } from './slow-sync.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let fixture: ChildFixture
let truth: Content

beforeAll(async () => {
  fixture = await openChildFixture(slowSyncWorld)
  await using warehouse = await fixture.warehouse()
  expect((await warehouse.night(allStreams)).status).toBe('ok')
  truth = await readContent(warehouse.database.pool)
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** Expects that the process continued, without a stack trace or an unhandled error. */
function expectDone(ended: ChildResult): void {
  expect({ code: ended.code, signal: ended.signal }).toEqual({ code: 0, signal: null })
  expect(ended.stderr).not.toMatch(/\n\s+at |Unhandled|uncaught/)
  expect(JSON.parse(ended.stdout)).toMatchObject({ status: 'ok' })
}

async function expectTruth(warehouse: ChildWarehouse): Promise<void> {
  expect(await warehouse.run(['sync'])).toMatchObject({ code: 0 })
  expect(contentDifferences(truth, await readContent(warehouse.database.pool))).toEqual([])
  expect(await provedWindows(warehouse.database.pool, fixture)).toBeGreaterThan(20)
}

test('a sync continues after the server has ended all its connections', {
  tags: 'ci',
}, async () => {
  await using warehouse = await fixture.warehouse()
  const { child, hurry } = await startSlowSync(fixture, warehouse)

  await warehouse.database.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
  hurry()

  expectDone(await child.ended)
  await expectTruth(warehouse)
})

test('a sync continues after Postgres was down', async () => {
  await using folder = await temporaryFolder()
  const { url } = await ensureEmbedded(folder.path)
  try {
    const admin = await openPool(url, { applicationName: 'test', max: 1 })
    await admin.query('create database away')
    await admin.end()
    const own = databaseUrl(url, 'away')
    const first = await openPool(own, { applicationName: 'test' })
    await prepareWarehouse(first)
    await first.end()
    await using warehouse = await fixture.warehouse({
      url: own,
      pool: first,
      [Symbol.asyncDispose]: async () => undefined,
    })
    const { child, hurry } = await startSlowSync(fixture, warehouse)

    await stopEmbedded(folder.path)
    await until(() => child.stderr().includes('the connection to Postgres was lost'))
    await ensureEmbedded(folder.path)
    hurry()

    expectDone(await child.ended)
    const pool = await openPool(own, { applicationName: 'test' })
    await expectTruth({ ...warehouse, database: { ...warehouse.database, pool } })
    await pool.end()
  } finally {
    await stopEmbedded(folder.path)
  }
})

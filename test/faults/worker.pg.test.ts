import { expect, test, vi } from 'vitest'
import type { Child } from '../support/child.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Deployment, expectTruthOnce, openDeployment, waitAtMost } from './deployment.ts'

// Every test starts several processes, which are slow on a busy machine.
vi.setConfig({ testTimeout: 180_000 })

const rooftops = 12

async function openSmallDeployment({ url }: TestDatabase): Promise<Deployment> {
  return await openDeployment({ url, rooftops, evaluations: 60 })
}

/** A worker in the middle of some slices from a slow source. */
async function inTheMiddle(
  deployment: Deployment,
  ms: number,
): Promise<{ child: Child; hurry(): void }> {
  await deployment.startBackfill()
  const match = { path: '/getevallist' }
  const slow = deployment.sandbox.faults.add({ match, fault: { kind: 'slow', ms } })
  const child = await deployment.worker()
  await waitAtMost(50, 'slices are active', async () => (await deployment.activeWork()).size > 1)
  return { child, hurry: () => slow.remove() }
}

/** Expects that another worker does the rest, and that the warehouse then equals the source. */
async function expectTheRest(deployment: Deployment): Promise<void> {
  const other = await deployment.worker()
  await waitAtMost(
    50,
    'the rest is done',
    async () => (await deployment.progress()).status !== 'running',
  )
  other.kill('SIGTERM')
  expect((await other.ended).code).toBe(143)
  expect(await deployment.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(deployment)
}

test('a stopped worker returns its work, and another one does it', { tags: 'ci' }, async () => {
  await using database = await createTestDatabase()
  await using deployment = await openSmallDeployment(database)
  // Longer than a worker may take to stop, so it must not wait for these answers.
  const { child, hurry } = await inTheMiddle(deployment, 50_000)

  child.kill('SIGTERM')
  const { code, signal, stderr } = await child.ended
  const left = await deployment.activeWork()
  hurry()

  expect({ code, signal, left: left.size }).toEqual({ code: 143, signal: null, left: 0 })
  expect(stderr).not.toMatch(/"level":"(error|fatal)"|\n\s+at /)
  await expectTheRest(deployment)
})

test('a worker of the previous schema commits nothing to a newer warehouse, returns its work and ends', {
  tags: 'ci',
}, async () => {
  await using database = await createTestDatabase()
  await using deployment = await openSmallDeployment(database)
  const { child, hurry } = await inTheMiddle(deployment, 400)

  await deployment.pool.query(
    "insert into ops.schema_migration (version, name, checksum) values (9999, 'of_tomorrow', 'x')",
  )
  const { done } = await deployment.progress()
  const { code, stderr } = await child.ended
  hurry()
  const after = await deployment.progress()
  const left = await deployment.activeWork()
  await deployment.pool.query('delete from ops.schema_migration where version = 9999')

  expect({ code, left: left.size }).toEqual({ code: 1, left: 0 })
  expect(stderr).toMatch(/The warehouse is at migration 9999, this process knows \d+: nothing was/)
  expect(after).toMatchObject({ status: 'running', done })
  await expectTheRest(deployment)
})

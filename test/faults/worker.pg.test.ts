import { expect, test, vi } from 'vitest'
import { runsEveryCase } from '../support/cases.ts'
import type { Child } from '../support/child.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'
import { expectTruthOnce, type Deployment, openDeployment, waitAtMost } from './deployment.ts'

// Every test is some processes: on a busy machine they take their time.
vi.setConfig({ testTimeout: 180_000 })

const rooftops = 12

async function openSmallFleet({ url }: TestDatabase): Promise<Deployment> {
  return await openDeployment({ url, rooftops, evaluations: 60 })
}

/** A worker in the middle of some slices of a source that takes its time. */
async function inTheMiddle(
  fleet: Deployment,
  ms: number,
): Promise<{ child: Child; hurry(): void }> {
  await fleet.startBackfill()
  const match = { path: '/getevallist' }
  const slow = fleet.sandbox.faults.add({ match, fault: { kind: 'slow', ms } })
  const child = await fleet.worker()
  await waitAtMost(50, 'slices are under way', async () => (await fleet.activeWork()).size > 1)
  return { child, hurry: () => slow.remove() }
}

/** Another worker does what is left, and the warehouse is the truth. */
async function expectTheRest(fleet: Deployment): Promise<void> {
  const other = await fleet.worker()
  await waitAtMost(
    50,
    'the rest is done',
    async () => (await fleet.progress()).status !== 'running',
  )
  other.kill('SIGTERM')
  expect((await other.ended).code).toBe(143)
  expect(await fleet.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(fleet)
}

test.runIf(runsEveryCase)(
  'a worker that is told to stop gives its work back, and another one does it',
  async () => {
    await using database = await createTestDatabase()
    await using fleet = await openSmallFleet(database)
    // Longer than a worker may take to stop: what it waits for is not waited for.
    const { child, hurry } = await inTheMiddle(fleet, 50_000)

    child.kill('SIGTERM')
    const { code, signal, stderr } = await child.ended
    const left = await fleet.activeWork()
    hurry()

    expect({ code, signal, left: left.size }).toEqual({ code: 143, signal: null, left: 0 })
    expect(stderr).not.toMatch(/"level":(50|60)|\n\s+at /)
    await expectTheRest(fleet)
  },
)

test.runIf(runsEveryCase)(
  'a worker of the previous schema commits nothing to a newer warehouse, hands its work back and ends',
  async () => {
    await using database = await createTestDatabase()
    await using fleet = await openSmallFleet(database)
    const { child, hurry } = await inTheMiddle(fleet, 400)

    await fleet.pool.query(
      "insert into ops.schema_migration (version, name, checksum) values (9999, 'of_tomorrow', 'x')",
    )
    const { done } = await fleet.progress()
    const { code, stderr } = await child.ended
    hurry()
    const after = await fleet.progress()
    const left = await fleet.activeWork()
    await fleet.pool.query('delete from ops.schema_migration where version = 9999')

    expect({ code, left: left.size }).toEqual({ code: 1, left: 0 })
    expect(stderr).toMatch(
      /The warehouse is at migration 9999, this process knows \d+: nothing was/,
    )
    expect(after).toMatchObject({ status: 'running', done })
    await expectTheRest(fleet)
  },
)

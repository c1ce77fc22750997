import { expect, test } from 'vitest'
import { openCluster } from '../cluster.ts'
import { expectTruthOnce, openDeployment, waitAtMost } from '../deployment.ts'

test('a sync goes on by itself when its Postgres has crashed and come back, and commits nothing twice', async () => {
  await using cluster = await openCluster()
  const url = await cluster.warehouse('crashed')
  await using fleet = await openDeployment({ url, rooftops: 12, evaluations: 60 })
  const match = { path: '/getevallist' }
  fleet.sandbox.faults.add({ match, fault: { kind: 'slow', ms: 400 } })
  const sync = await fleet.start(['sync', 'evaluations', '--json'])
  await waitAtMost(100, 'some of it is done', async () => (await fleet.progress()).done > 2)

  await cluster.crash()
  await cluster.start()
  const { code, signal, stdout, stderr } = await sync.ended

  expect({ code, signal, stderr }).toMatchObject({ code: 0, signal: null })
  expect(JSON.parse(stdout)).toMatchObject({ status: 'ok' })
  expect(stderr).toMatch(/the connection to Postgres was lost/)
  expect(stderr).not.toMatch(/\n\s+at |Unhandled|uncaught/)
  await expectTruthOnce(fleet)
})

import { expect, test } from 'vitest'
import { openFaultProxy } from '../../support/fault-proxy.ts'
import { openCluster } from '../cluster.ts'
import { expectTruthOnce, openDeployment, waitAtMost } from '../deployment.ts'

const rooftops = 120

test('a primary that dies gives way to its synchronous standby: the workers go on there, nothing lost, nothing twice', async () => {
  await using cluster = await openCluster()
  const direct = await cluster.warehouse('failover')
  await using standby = await cluster.standby()
  // Where an HA Postgres has an address that moves with the primary.
  await using line = await openFaultProxy(cluster.port)
  const address = new URL(direct)
  address.port = String(line.port)
  await using fleet = await openDeployment({
    url: address.href,
    rooftops,
    evaluations: 4 * rooftops,
  })
  const match = { path: '/getevallist' }
  const slow = fleet.sandbox.faults.add({ match, fault: { kind: 'slow', ms: 500 } })
  await fleet.startBackfill()
  const workers = await Promise.all([fleet.worker(), fleet.worker()])
  await waitAtMost(120, 'some of it is done', async () => (await fleet.progress()).done > 20)

  const { done } = await fleet.progress()
  await cluster.crash()
  await standby.promote()
  line.leadTo(standby.port)
  const seconds = await waitAtMost(15, 'the work goes on', async () => {
    const now = await fleet.progress()
    return now.done > done
  })
  slow.remove()
  await waitAtMost(200, 'all of it', async () => (await fleet.progress()).status !== 'running')
  for (const child of workers) child.kill('SIGTERM')
  const ends = await Promise.all(workers.map(async (child) => await child.ended))

  expect(await fleet.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(fleet)
  expect(ends.map(({ code }) => code)).toEqual([143, 143])
  console.log(`Seconds from the promotion to the next commit: ${seconds}`)
})

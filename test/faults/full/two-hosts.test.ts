import { expect, test } from 'vitest'
import type { Child } from '../../support/child.ts'
import { type FaultProxy, openFaultProxy } from '../../support/fault-proxy.ts'
import { type Cluster, openCluster } from '../cluster.ts'
import {
  type Deployment,
  expectTruthOnce,
  openDeployment,
  secondsToRecover,
  waitAtMost,
} from '../deployment.ts'
import { type Host, mayOpenHosts, openHost } from '../hosts.ts'

const rooftops = Number(process.env['FORECOURT_FAULT_HOST_ROOFTOPS'] ?? 300)
const anywhere = '0.0.0.0'

interface Cut {
  readonly deployment: Deployment
  /** The worker that is cut off. */
  readonly lost: Child
  readonly other: Child
  cut(): Promise<void>
  heal(): Promise<void>
}

/** Cuts off one of two workers and reconnects it: the other one continues, and nothing is written late. */
async function expectTakeOver({ deployment, lost, other, cut, heal }: Cut): Promise<void> {
  const { faults } = deployment.sandbox
  const slow = faults.add({ match: { path: '/getevallist' }, fault: { kind: 'slow', ms: 500 } })
  await waitAtMost(300, 'both are at work', async () => (await deployment.activeWork()).size >= 6)
  const [before, held] = [await deployment.progress(), await deployment.activeWork()]
  await cut()
  const seconds = await secondsToRecover(deployment, held, before)
  await heal()
  const late = () => lost.stderr().match(/taken over by another worker; nothing was written/g)
  const message = () => `the late writes are refused, by ${lost.stderr()}`
  await waitAtMost(60, message, () => late() !== null)
  slow.remove()
  await waitAtMost(300, 'all of it', async () => (await deployment.progress()).status !== 'running')
  for (const child of [lost, other]) child.kill('SIGTERM')
  const ends = await Promise.all([lost.ended, other.ended])

  expect(await deployment.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(deployment)
  expect(ends.map(({ code }) => code)).toEqual([143, 143])
  for (const { stderr } of ends) expect(stderr).not.toMatch(/slice failed|\n\s+at /)
  console.log(`Seconds until the other host had it: ${seconds}; late writes: ${late()!.length}`)
}

async function openTwo(cluster: Cluster, sourceAddress = '127.0.0.1'): Promise<Deployment> {
  const url = await cluster.warehouse('hosts')
  const size = { rooftops, evaluations: 4 * rooftops }
  return await openDeployment({ url, ...size, sourceHost: anywhere, sourceAddress })
}

/** The URL of the warehouse through a connection. */
function over(url: string, host: string, { port }: FaultProxy): string {
  const changed = new URL(url)
  changed.host = `${host}:${port}`
  return changed.href
}

test.skipIf(!(await mayOpenHosts()))(
  'when one of two hosts is cut off, the other takes over within 15 s, and the first writes nothing late',
  async () => {
    await using cluster = await openCluster()
    await using first = await openHost()
    await using second = await openHost()
    await using deployment = await openTwo(cluster, second.gateway)
    await using line = await openFaultProxy(cluster.port, anywhere)
    await deployment.startBackfill()
    const at = ({ gateway, launcher }: Host) => ({
      warehouseUrl: over(deployment.url, gateway, line),
      launcher,
    })
    const [lost, other] = await Promise.all([
      deployment.worker(at(first)),
      deployment.worker(at(second)),
    ])

    await expectTakeOver({ deployment, lost, other, cut: first.cut, heal: first.heal })
  },
)

test('a worker that loses Postgres is taken over within 15 s, and writes nothing late', async () => {
  await using cluster = await openCluster()
  await using deployment = await openTwo(cluster)
  await using line = await openFaultProxy(cluster.port)
  await deployment.startBackfill()
  const behind = { warehouseUrl: over(deployment.url, '127.0.0.1', line) }
  const [lost, other] = await Promise.all([deployment.worker(behind), deployment.worker()])
  const cut = async () => await line.be('blackhole')
  const heal = async () => await line.be('pass')

  await expectTakeOver({ deployment, lost, other, cut, heal })
})

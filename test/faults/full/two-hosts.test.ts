import { expect, test } from 'vitest'
import type { Child } from '../../support/child.ts'
import { type FaultProxy, openFaultProxy } from '../../support/fault-proxy.ts'
import { type Cluster, openCluster } from '../cluster.ts'
import {
  expectTruthOnce,
  type Deployment,
  openDeployment,
  secondsToRecover,
  waitAtMost,
} from '../deployment.ts'
import { type Host, mayOpenHosts, openHost } from '../hosts.ts'

const rooftops = Number(process.env['FORECOURT_FAULT_HOST_ROOFTOPS'] ?? 300)
const anywhere = '0.0.0.0'

interface Cut {
  readonly fleet: Deployment
  /** Of the two workers the one that is cut off. */
  readonly lost: Child
  readonly other: Child
  cut(): Promise<void>
  heal(): Promise<void>
}

/** One of two workers is cut off in the middle and comes back: the other one goes on, and nothing late is written. */
async function expectTakeOver({ fleet, lost, other, cut, heal }: Cut): Promise<void> {
  const { faults } = fleet.sandbox
  const slow = faults.add({ match: { path: '/getevallist' }, fault: { kind: 'slow', ms: 500 } })
  await waitAtMost(300, 'both are at work', async () => (await fleet.activeWork()).size >= 6)
  const [before, held] = [await fleet.progress(), await fleet.activeWork()]
  await cut()
  const seconds = await secondsToRecover(fleet, held, before)
  await heal()
  const late = () => lost.stderr().match(/taken over by another worker; nothing was written/g)
  const told = () => `the late writes are refused, by ${lost.stderr()}`
  await waitAtMost(60, told, () => late() !== null)
  slow.remove()
  await waitAtMost(300, 'all of it', async () => (await fleet.progress()).status !== 'running')
  for (const child of [lost, other]) child.kill('SIGTERM')
  const ends = await Promise.all([lost.ended, other.ended])

  expect(await fleet.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(fleet)
  expect(ends.map(({ code }) => code)).toEqual([143, 143])
  for (const { stderr } of ends) expect(stderr).not.toMatch(/slice failed|\n\s+at /)
  console.log(`Seconds until the other host had it: ${seconds}; late writes: ${late()!.length}`)
}

async function openTwo(cluster: Cluster): Promise<Deployment> {
  const url = await cluster.warehouse('hosts')
  return await openDeployment({ url, rooftops, evaluations: 4 * rooftops, sourceHost: anywhere })
}

/** The warehouse as it is reached by a line. */
function over(url: string, host: string, { port }: FaultProxy): string {
  const changed = new URL(url)
  changed.host = `${host}:${port}`
  return changed.href
}

test.skipIf(!(await mayOpenHosts()))(
  'of two hosts one is cut off: the other takes over within 15 s, and the first writes nothing late',
  async () => {
    await using cluster = await openCluster()
    await using fleet = await openTwo(cluster)
    await using line = await openFaultProxy(cluster.port, anywhere)
    await using first = await openHost()
    await using second = await openHost()
    await fleet.startBackfill()
    const at = ({ gateway, launcher }: Host) => ({
      warehouseUrl: over(fleet.url, gateway, line),
      sourceHost: gateway,
      launcher,
    })
    const [lost, other] = await Promise.all([fleet.worker(at(first)), fleet.worker(at(second))])

    await expectTakeOver({ fleet, lost, other, cut: first.cut, heal: first.heal })
  },
)

test('a worker whose line to Postgres goes dead is taken over within 15 s, and writes nothing late', async () => {
  await using cluster = await openCluster()
  await using fleet = await openTwo(cluster)
  await using line = await openFaultProxy(cluster.port)
  await fleet.startBackfill()
  const behind = { warehouseUrl: over(fleet.url, '127.0.0.1', line) }
  const [lost, other] = await Promise.all([fleet.worker(behind), fleet.worker()])
  const cut = async () => await line.be('blackhole')
  const heal = async () => await line.be('pass')

  await expectTakeOver({ fleet, lost, other, cut, heal })
})

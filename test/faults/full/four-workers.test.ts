import { expect, test } from 'vitest'
import { type Child, freeze } from '../../support/child.ts'
import { openCluster } from '../cluster.ts'
import {
  expectTruthOnce,
  type Deployment,
  openDeployment,
  secondsToRecover,
  waitAtMost,
} from '../deployment.ts'

const rooftops = Number(process.env['FORECOURT_FAULT_ROOFTOPS'] ?? 2000)

/** Waits until so much of the work is done. */
async function doneBy(fleet: Deployment, part: number): Promise<void> {
  await waitAtMost(600, `${part * 100} % of the work`, async () => {
    const { done } = await fleet.progress()
    return done >= rooftops * part
  })
}

/** Does harm to the fleet while it works; gives the seconds until it has recovered. */
async function harmed(fleet: Deployment, harm: () => void | Promise<void>): Promise<number> {
  const before = await fleet.progress()
  const held = await fleet.activeWork()
  await harm()
  return await secondsToRecover(fleet, held, before)
}

const fenced = (child: Child) => child.stderr().match(/taken over by another worker; nothing was/g)

test(`four workers of ${rooftops} rooftops, one killed, one frozen and thawed, Postgres crashed: the truth, nothing twice`, async () => {
  await using cluster = await openCluster()
  const url = await cluster.warehouse('fleet')
  await using fleet = await openDeployment({ url, rooftops, evaluations: 4 * rooftops })
  fleet.sandbox.faults.add({ match: { path: '/getevallist' }, fault: { kind: 'slow', ms: 200 } })
  await fleet.startBackfill()
  const workers = await Promise.all([0, 1, 2, 3].map(async () => await fleet.worker()))
  const [killed, frozen, ...others] = workers as [Child, Child, Child, Child]

  await doneBy(fleet, 0.1)
  const afterKill = await harmed(fleet, () => killed.kill('SIGKILL'))
  await doneBy(fleet, 0.3)
  const afterFreeze = await harmed(fleet, async () => await freeze(frozen))
  frozen.kill('SIGCONT')
  await waitAtMost(15, 'the late writes are refused', () => fenced(frozen) !== null)
  await doneBy(fleet, 0.6)
  const afterCrash = await harmed(fleet, async () => {
    await cluster.crash()
    await cluster.start()
  })
  await waitAtMost(600, 'all of it', async () => (await fleet.progress()).status !== 'running')
  for (const child of [frozen, ...others]) child.kill('SIGTERM')
  const ends = await Promise.all([frozen, ...others].map(async (child) => await child.ended))

  expect(await fleet.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(fleet)
  expect((await killed.ended).signal).toBe('SIGKILL')
  expect(ends.map(({ code }) => code)).toEqual([143, 143, 143])
  for (const { stderr } of ends) expect(stderr).not.toMatch(/"level":(50|60)|slice failed|\n\s+at /)
  const figures = { afterKill, afterFreeze, afterCrash, lateWrites: fenced(frozen)!.length }
  console.log(`Seconds until the work went on: ${JSON.stringify(figures)}`)
}, 900_000)

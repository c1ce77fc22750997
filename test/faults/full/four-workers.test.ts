import { expect, test } from 'vitest'
import { type Child, freeze } from '../../support/child.ts'
import { openCluster } from '../cluster.ts'
import {
  type Deployment,
  expectTruthOnce,
  openDeployment,
  secondsToRecover,
  waitAtMost,
} from '../deployment.ts'

const rooftops = Number(process.env['FORECOURT_FAULT_ROOFTOPS'] ?? 2000)

/** Waits until this part of the work is done. */
async function doneBy(deployment: Deployment, part: number): Promise<void> {
  await waitAtMost(600, `${part * 100} % of the work`, async () => {
    const { done } = await deployment.progress()
    return done >= rooftops * part
  })
}

/** Causes a fault while the deployment works; returns the seconds until it has recovered. */
async function recoveryAfter(
  deployment: Deployment,
  fault: () => void | Promise<void>,
): Promise<number> {
  const before = await deployment.progress()
  const held = await deployment.activeWork()
  await fault()
  return await secondsToRecover(deployment, held, before)
}

const fenced = (child: Child) => child.stderr().match(/taken over by another worker; nothing was/g)

test(`four workers of ${rooftops} rooftops, one killed, one frozen and thawed, Postgres crashed: all data, nothing duplicated`, async () => {
  await using cluster = await openCluster()
  const url = await cluster.warehouse('deployment')
  await using deployment = await openDeployment({ url, rooftops, evaluations: 4 * rooftops })
  deployment.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 200 },
  })
  await deployment.startBackfill()
  const workers = await Promise.all([0, 1, 2, 3].map(async () => await deployment.worker()))
  const [killed, frozen, ...others] = workers as [Child, Child, Child, Child]

  await doneBy(deployment, 0.1)
  const afterKill = await recoveryAfter(deployment, () => killed.kill('SIGKILL'))
  await doneBy(deployment, 0.3)
  const afterFreeze = await recoveryAfter(deployment, async () => await freeze(frozen))
  frozen.kill('SIGCONT')
  await waitAtMost(15, 'the late writes are refused', () => fenced(frozen) !== null)
  await doneBy(deployment, 0.6)
  const afterCrash = await recoveryAfter(deployment, async () => {
    await cluster.crash()
    await cluster.start()
  })
  await waitAtMost(600, 'all of it', async () => (await deployment.progress()).status !== 'running')
  for (const child of [frozen, ...others]) child.kill('SIGTERM')
  const ends = await Promise.all([frozen, ...others].map(async (child) => await child.ended))

  expect(await deployment.progress()).toEqual({ status: 'ok', done: rooftops, open: 0 })
  await expectTruthOnce(deployment)
  expect((await killed.ended).signal).toBe('SIGKILL')
  expect(ends.map(({ code }) => code)).toEqual([143, 143, 143])
  for (const { stderr } of ends)
    expect(stderr).not.toMatch(/"level":"(error|fatal)"|slice failed|\n\s+at /)
  const figures = { afterKill, afterFreeze, afterCrash, lateWrites: fenced(frozen)!.length }
  console.log(`Seconds until the work went on: ${JSON.stringify(figures)}`)
}, 900_000)

import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { openContext } from '#src/open-context.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import type { World } from '#src/sandbox/world.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { type Fixture, openFixture, runNight } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-10T02:00:00Z')
const rooftops = ['north', 'south'].map((uid, index) => aRooftop({ uid, dealerId: 101 + index }))

/** Twelve evaluations, alternating between two rooftops of one group, or all at one. */
function groupWorld(owner?: string): World {
  const evaluations = Array.from({ length: 12 }, (_, index) =>
    anEvaluation({
      evalId: 1000 + index,
      rooftopUid: owner ?? ['north', 'south'][index % 2]!,
      createdAt: new Date(now.getTime() - (index + 1) * 40_000_000),
    }),
  )
  return worldOf({ rooftops, evaluations, keys: [aKey({ rooftopUids: ['north', 'south'] })] })
}

async function held({ database, sandbox }: Fixture, attribution: 'rooftop' | 'group') {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), attribution)
  return differences(truth, await warehouseTruth(database.pool, attribution))
}

test('with dealerIds every evaluation is read once and belongs to its own rooftop', async () => {
  await using fixture = await openFixture({ sandbox: { world: groupWorld(), now } })

  await fixture.night()

  expect(fixture.sandbox.requests.count('/geteval')).toBe(12)
  expect(await held(fixture, 'rooftop')).toEqual([])
})

test('without dealerIds every evaluation is still read once and stored once', async () => {
  await using fixture = await openFixture({
    sandbox: { world: groupWorld(), now },
    dealerIds: false,
  })

  const report = await fixture.night()

  expect(report.status).toBe('ok')
  expect(fixture.sandbox.requests.count('/geteval')).toBe(12)
  // Listed under both rooftops, written under one.
  expect(report.streams['evaluations']).toMatchObject({ listed: 24, inserted: 12, unchanged: 12 })
  expect(await held(fixture, 'group')).toEqual([])
})

test('without dealerIds a record quarantined at both rooftops is loaded once and leaves both quarantines', {
  tags: 'ci',
}, async () => {
  await using fixture = await openFixture({
    sandbox: { world: groupWorld(), now },
    dealerIds: false,
  })
  fixture.sandbox.world.poison(1003, { EvalID: 'none' })
  await fixture.night()
  fixture.sandbox.world.removePoison(1003)

  const report = await fixture.nightAfter(1)

  expect(report.status).toBe('ok')
  expect(await held(fixture, 'group')).toEqual([])
  const { rows } = await fixture.database.pool.query(
    'select rooftop_id from ops.quarantine where resolved_at is null',
  )
  expect(rows).toEqual([])
})

test('without dealerIds an evaluation that comes back is stored once', { tags: 'ci' }, async () => {
  await using fixture = await openFixture({
    sandbox: { world: groupWorld(), now },
    dealerIds: false,
  })
  const { world, clock } = fixture.sandbox
  await fixture.night()
  world.vanish(1003, clock.now())
  await fixture.nightAfter(1)
  world.vanish(1003, new Date('2099-01-01T00:00:00Z'))

  const reports = [await fixture.nightAfter(1), await fixture.nightAfter(1)]

  expect(reports.map(({ status }) => status)).toEqual(['ok', 'ok'])
  expect(await held(fixture, 'group')).toEqual([])
})

test('an evaluation that the source moves to another rooftop moves there with its payloads', async () => {
  await using fixture = await openFixture({ sandbox: { world: groupWorld('north'), now } })
  await fixture.night()
  const moved = groupWorld('south')
  await using sandbox = await startSandbox({
    world: moved,
    clock: new VirtualClock({ start: new Date(now.getTime() + 86_400_000), frozen: true }),
  })
  const { rooftops: _, ...input } = fixture.config
  const config = makeConfig(
    {
      ...sandbox.clientConfig(),
      warehouse: input.warehouse,
      sync: { start: input.sync.start.toISOString() },
    },
    '/nowhere',
  )
  await using context = await openContext(config, fixture.context.log)

  const reports = [await runNight(context), await runNight(context)]

  expect(reports.map(({ status }) => status)).toEqual(['ok', 'ok'])
  const truth = sourceTruth(moved, sandbox.clock.now(), 'rooftop')
  expect(differences(truth, await warehouseTruth(fixture.database.pool, 'rooftop'))).toEqual([])
  const { rows } = await fixture.database.pool.query(
    `select distinct rooftop_uid as owner from raw.payload join core.rooftop using (rooftop_id)
     where endpoint = 'geteval'`,
  )
  expect(rows).toEqual([{ owner: 'south' }])
})

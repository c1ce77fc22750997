import type pg from 'pg'
import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { someOf } from '../support/cases.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const now = new Date('2026-03-10T02:00:00Z')

/** Three rooftops with five evaluations each, a day apart: 1000-1004, 2000-2004, 3000-3004. */
async function threeRooftops(): Promise<Fixture> {
  const rooftops = [1, 2, 3].map((n) =>
    aRooftop({ uid: `rooftop-${n}`, name: `Rooftop ${n}`, dealerId: 100 + n }),
  )
  const evaluations = rooftops.flatMap(({ uid }, index) =>
    [0, 1, 2, 3, 4].map((nth) =>
      anEvaluation({
        evalId: (index + 1) * 1000 + nth,
        rooftopUid: uid,
        createdAt: new Date(now.getTime() - (nth + 1) * 86_400_000 - 3_600_000),
      }),
    ),
  )
  return await openFixture({ sandbox: { world: worldOf({ rooftops, evaluations }), now } })
}

/** Differences from the source; `quarantined` are the ids that are expected to be missing. */
async function faults({ sandbox, database }: Fixture, quarantined: readonly number[] = []) {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  const expected = truth.filter(({ evalId }) => !quarantined.includes(evalId))
  return differences(expected, await warehouseTruth(database.pool, 'rooftop'))
}

async function quarantine(pool: pg.Pool) {
  const { rows } = await pool.query(
    `select natural_key as id, resolved_at is not null as resolved, attempts, issues->0->>'path' as path,
       length(payload) > 0 as stored
     from ops.quarantine order by quarantine_id`,
  )
  return rows
}

const idsOf = (rooftop: number) => [0, 1, 2, 3, 4].map((nth) => rooftop * 1000 + nth)

test('a rooftop that answers 403 stops nothing else, is named, and is loaded once it answers again', async () => {
  await using fixture = await threeRooftops()
  const fault = fixture.sandbox.faults.add({
    match: { rooftopUid: 'rooftop-2' },
    fault: { kind: 'status', status: 403 },
  })

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(report.rooftops['rooftop-1']).toEqual({ status: 'ok' })
  expect(report.rooftops['rooftop-2']).toMatchObject({ status: 'failed' })
  expect(report.rooftops['rooftop-2']!.error).toMatch(/evaluations: .*403.*rooftop-2/)
  expect(await faults(fixture, idsOf(2))).toEqual([])
  fault.remove()
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
})

test('an invalid record is quarantined with its payload and issue, and loaded once it is valid', async () => {
  await using fixture = await threeRooftops()
  fixture.sandbox.world.poison(1003, { FinalPrice: 'a lot' })

  const report = await fixture.night()
  await fixture.night()

  expect(report).toMatchObject({
    status: 'partial',
    rooftops: { 'rooftop-1': { status: 'partial' } },
  })
  expect(await faults(fixture, [1003])).toEqual([])
  const quarantined = { id: '1003', path: 'FinalPrice', stored: true, attempts: 2 }
  expect(await quarantine(fixture.database.pool)).toEqual([{ ...quarantined, resolved: false }])
  fixture.sandbox.world.removePoison(1003)
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
  expect(await quarantine(fixture.database.pool)).toEqual([{ ...quarantined, resolved: true }])
})

test('a stored record that an edit makes invalid retains its last good content', {
  tags: 'ci',
}, async () => {
  await using fixture = await threeRooftops()
  await fixture.night()
  const { world, clock } = fixture.sandbox
  clock.advance(3_600_000)
  world.edit(1001, clock.now(), { finalPrice: 1 })
  world.poison(1001, { EntryDate: 'yesterday' })

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(await faults(fixture, [])).toEqual([
    expect.stringMatching(/^1001.updatedAt/),
    expect.stringMatching(/^1001.finalPrice/),
  ])
  world.removePoison(1001)
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
})

test('a list that is a web page fails its rooftop alone', { tags: 'ci' }, async () => {
  await using fixture = await threeRooftops()
  const match = { rooftopUid: 'rooftop-3', path: '/getevallist', nth: [2] }
  fixture.sandbox.faults.add({ match, fault: { kind: 'html' } })

  const report = await fixture.night()

  expect(report.status).toBe('partial')
  expect(report.rooftops['rooftop-3']!.error).toMatch(/web page/)
  expect(await faults(fixture, idsOf(3))).toEqual([])
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
})

test.each(
  someOf(
    [
      ['answers 500', { kind: 'status', status: 500 } as const, 0],
      ['is cut off', { kind: 'truncate' } as const, 1],
    ],
    1,
  ),
)('an evaluation that always %s never stops the others', async (_, fault, bodies) => {
  await using fixture = await threeRooftops()
  const handle = fixture.sandbox.faults.add({ match: { path: '/geteval', evalId: 2002 }, fault })

  await fixture.night()
  const report = await fixture.nightAfter(1)

  expect(report.rooftops['rooftop-2']).toMatchObject({ status: 'partial' })
  expect(await faults(fixture, [2002])).toEqual([])
  const quarantined = { id: '2002', path: '$', stored: bodies === 1, attempts: 2 }
  expect(await quarantine(fixture.database.pool)).toEqual([{ ...quarantined, resolved: false }])
  handle.remove()
  expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
  expect(await quarantine(fixture.database.pool)).toEqual([{ ...quarantined, resolved: true }])
})

test('a stored record that could not be reread leaves quarantine after an unchanged answer', {
  tags: 'ci',
}, async () => {
  await using fixture = await threeRooftops()
  await fixture.night()
  const { faults: plan, world, clock } = fixture.sandbox
  clock.advance(3_600_000)
  world.edit(2002, clock.now(), {})
  const handle = plan.add({ match: { evalId: 2002 }, fault: { kind: 'reset' } })
  await fixture.night()
  handle.remove()
  world.edit(2002, clock.now(), {})

  const report = await fixture.night()

  expect(report.status).toBe('ok')
  expect(await quarantine(fixture.database.pool)).toMatchObject([{ id: '2002', resolved: true }])
})

test('a vanished evaluation is marked, not deleted, and is not a failure', async () => {
  await using fixture = await threeRooftops()
  await fixture.night()
  const { world, clock } = fixture.sandbox
  world.vanish(3001, clock.now())

  const report = await fixture.nightAfter(1)

  expect(report.status).toBe('ok')
  expect(report.streams['evaluations']!.vanished).toBe(1)
  expect(await faults(fixture)).toEqual([])
  const { rows } = await fixture.database.pool.query(
    'select eval_id from core.evaluation where gone_at is not null',
  )
  expect(rows).toEqual([{ eval_id: 3001 }])
})

test('an evaluation that comes back loses its mark', { tags: 'ci' }, async () => {
  await using fixture = await threeRooftops()
  await fixture.night()
  const { world, clock } = fixture.sandbox
  world.vanish(3001, clock.now())
  await fixture.nightAfter(1)
  world.vanish(3001, new Date('2099-01-01T00:00:00Z'))

  await fixture.nightAfter(1)

  expect(await faults(fixture)).toEqual([])
})

test('a source that is down fails the slice and quarantines no records', async () => {
  await using fixture = await openFixture({
    sandbox: { now, rooftops: 1, evaluations: 60, days: 5 },
  })
  const handle = fixture.sandbox.faults.add({
    match: { path: '/geteval' },
    fault: { kind: 'status', status: 503 },
  })

  const report = await fixture.night()

  expect(report.rooftops).toMatchObject({
    [fixture.config.rooftops[0]!.uid]: { status: 'partial' },
  })
  expect(await quarantine(fixture.database.pool)).toEqual([])
  handle.remove()
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
})

test('a user that does not fit is quarantined, and released once the list is valid again', async () => {
  await using fixture = await threeRooftops()
  const handle = fixture.sandbox.faults.add({
    match: { path: '/getuserlist', rooftopUid: 'rooftop-1' },
    fault: {
      kind: 'status',
      status: 200,
      body: [{ Name: 'No Mail' }, { Name: 'A', Email: 'a@b.c' }],
    },
  })

  const report = await fixture.night()

  expect(report.rooftops['rooftop-1']).toMatchObject({ status: 'partial' })
  expect(await quarantine(fixture.database.pool)).toMatchObject([
    { id: 'active[0]', resolved: false },
    { id: 'all[0]', resolved: false },
  ])
  handle.remove()
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await quarantine(fixture.database.pool)).toMatchObject([
    { resolved: true },
    { resolved: true },
  ])
})

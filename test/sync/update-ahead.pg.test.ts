import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { someOf } from '../support/cases.ts'
import { type Fixture, openFixture } from '../support/fixture.ts'
import { morning, rowsOf } from '../support/pricing-fixture.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const id = 1001
const hours = (count: number) => new Date(morning.getTime() + count * 3_600_000)

/** Two evaluations that were completed eight hours before the first night. */
async function openNorth(listCarriesUpdatedAt = true): Promise<Fixture> {
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: [1000, id].map((evalId) =>
      anEvaluation({ evalId, rooftopUid: 'north', createdAt: hours(-8) }),
    ),
  })
  return await openFixture({ sandbox: { world, now: morning, listCarriesUpdatedAt } })
}

async function faults({ sandbox, database }: Fixture): Promise<string[]> {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(database.pool, 'rooftop'))
}

const flagged = async (fixture: Fixture) =>
  (
    await rowsOf<{ key: string }>(
      fixture,
      `select natural_key as key from ops.data_quality where check_name = 'updated-at-ahead'`,
    )
  ).map(({ key }) => key)

const versions = async (fixture: Fixture) =>
  await rowsOf<{ price: string; from: Date; until: Date | null }>(
    fixture,
    `select final_price as price, valid_from as "from", valid_to as until
     from core.evaluation_version where eval_id = ${id} order by version_no`,
  )

const ahead = (at: Date) => ({ UpdatedAt: at.toISOString() })

test.each(
  someOf(
    [
      ['in the year 9999', new Date('9999-01-01T00:00:00Z')],
      ['a day ahead', hours(24)],
      ['two hours ahead', hours(2)],
    ],
    1,
  ),
)('an UpdatedAt %s is flagged, and later edits are loaded', async (_, at) => {
  await using fixture = await openNorth()
  const { world, clock } = fixture.sandbox
  world.poison(id, { ...ahead(at), FinalPrice: 1 })

  const report = await fixture.night()

  expect(report.status).toBe('ok')
  expect(await flagged(fixture)).toEqual([String(id)])
  expect(await versions(fixture)).toMatchObject([{ price: '1.000' }])
  world.removePoison(id)
  clock.advance(600_000)
  world.edit(id, clock.now(), { finalPrice: 2 })
  clock.advance(600_000)
  expect(await fixture.night()).toMatchObject({ status: 'ok' })
  expect(await faults(fixture)).toEqual([])
  expect(await flagged(fixture)).toEqual([])
})

test('a later read wins, although its time is before an earlier false one', async () => {
  await using fixture = await openNorth()
  fixture.sandbox.world.poison(id, { ...ahead(hours(9000)), FinalPrice: 1 })
  await fixture.night()
  fixture.sandbox.world.removePoison(id)

  await fixture.nightAfter(1)

  expect(await faults(fixture)).toEqual([])
})

test('times of a source in an eastern zone are read as they are, and again once they have passed', {
  tags: 'ci',
}, async () => {
  await using fixture = await openNorth()
  const local = hours(11 - 8).toISOString()
  const times = { CreatedAt: local, CompletedAt: local, UpdatedAt: local }
  fixture.sandbox.world.poison(id, { ...times, FinalPrice: 1 })
  await fixture.night()
  expect(await flagged(fixture)).toEqual([String(id)])
  fixture.sandbox.world.removePoison(id)

  await fixture.nightAfter(1)

  expect(await faults(fixture)).toEqual([])
  expect(await flagged(fixture)).toEqual([])
})

test('a record that is edited while its times are in the future stays up to date', async () => {
  await using fixture = await openNorth(false)
  const { world } = fixture.sandbox
  for (const [night, price] of [1, 2, 3].entries()) {
    world.removePoison(id)
    world.poison(id, { ...ahead(hours(9000)), FinalPrice: price })
    if (night === 0) await fixture.night()
    else await fixture.nightAfter(1)
  }

  const found = await versions(fixture)
  expect(found.map(({ price }) => price)).toEqual(['1.000', '2.000', '3.000'])
  expect(found[1]!.from).toEqual(found[0]!.until)
  for (const { from } of found) expect(from.getTime()).toBeLessThan(hours(49).getTime())
})

test('a time in the future writes nothing in a second run', { tags: 'ci' }, async () => {
  await using fixture = await openNorth()
  fixture.sandbox.world.poison(id, ahead(hours(9000)))
  await fixture.night()
  const stored = `select eval_id, xmin::text from core.evaluation union all select count(*), 'payloads' from raw.payload order by 2, 1`
  const before = await rowsOf(fixture, stored)

  await fixture.night()

  expect(await rowsOf(fixture, stored)).toEqual(before)
})

test.each(someOf([true, false], 1))(
  'a record that was stored with a time in the future is updated again (list with times: %s)',
  async (listCarriesUpdatedAt) => {
    await using fixture = await openNorth(listCarriesUpdatedAt)
    await fixture.night()
    await rowsOf(
      fixture,
      `update core.evaluation set source_updated_at = '9999-01-01' where eval_id = ${id}`,
    )
    await rowsOf(
      fixture,
      `update core.evaluation_version set valid_from = '9999-01-01' where eval_id = ${id}`,
    )

    await fixture.nightAfter(1)

    expect(await faults(fixture)).toEqual([])
    fixture.sandbox.world.edit(id, fixture.sandbox.clock.now(), { finalPrice: 7 })
    await fixture.nightAfter(1)
    expect(await faults(fixture)).toEqual([])
    const [first, second] = await versions(fixture)
    expect(first!.from.getTime()).toBeLessThan(hours(24).getTime())
    expect(second).toMatchObject({ from: first!.until, until: null })
  },
)

test('a replay writes the same rows as the nights', { tags: 'ci' }, async () => {
  await using fixture = await openNorth()
  const { world, clock } = fixture.sandbox
  world.poison(id, { ...ahead(hours(20)), FinalPrice: 1 })
  await fixture.night()
  world.removePoison(id)
  clock.advance(3_600_000)
  world.edit(id, clock.now(), { finalPrice: 2 })
  await fixture.nightAfter(1)
  const content = `select eval_id, final_price, source_updated_at, version_no from core.evaluation order by 1`
  const before = [await rowsOf(fixture, content), await versions(fixture)]

  await runStreams(fixture.context, {
    plan: { command: 'replay', mode: 'replay', from: 0, until: null },
    streams: [evaluations],
    rooftops: fixture.config.rooftops,
  })

  expect([await rowsOf(fixture, content), await versions(fixture)]).toEqual(before)
})

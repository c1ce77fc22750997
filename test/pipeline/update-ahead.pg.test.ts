import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '#src/sandbox/build-world.ts'
import { runStreams } from '#src/pipeline/run.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { type House, openHouse } from '../support/nights.ts'
import { morning, rowsOf } from '../support/priced.ts'
import { differences, sourceTruth, warehouseTruth } from '../support/warehouse-truth.ts'

const id = 1001
const hours = (count: number) => new Date(morning.getTime() + count * 3_600_000)

/** Two evaluations that were completed eight hours before the first night. */
async function openNorth(listCarriesUpdatedAt = true): Promise<House> {
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: [1000, id].map((evalId) =>
      anEvaluation({ evalId, rooftopUid: 'north', createdAt: hours(-8) }),
    ),
  })
  return await openHouse({ sandbox: { world, now: morning, listCarriesUpdatedAt } })
}

async function faults({ sandbox, database }: House): Promise<string[]> {
  const truth = sourceTruth(sandbox.world, sandbox.clock.now(), 'rooftop')
  return differences(truth, await warehouseTruth(database.pool, 'rooftop'))
}

const flagged = async (house: House) =>
  (
    await rowsOf<{ key: string }>(
      house,
      `select natural_key as key from ops.data_quality where check_name = 'updated-at-ahead'`,
    )
  ).map(({ key }) => key)

const versions = async (house: House) =>
  await rowsOf<{ price: string; from: Date; until: Date | null }>(
    house,
    `select final_price as price, valid_from as "from", valid_to as until
     from core.evaluation_version where eval_id = ${id} order by version_no`,
  )

const ahead = (at: Date) => ({ UpdatedAt: at.toISOString() })

test.each([
  ['in the year 9999', new Date('9999-01-01T00:00:00Z')],
  ['a day ahead', hours(24)],
  ['two hours ahead', hours(2)],
])('an UpdatedAt %s is flagged, and later edits land', async (_, at) => {
  await using house = await openNorth()
  const { world, clock } = house.sandbox
  world.poison(id, { ...ahead(at), FinalPrice: 1 })

  const report = await house.night()

  expect(report.status).toBe('ok')
  expect(await flagged(house)).toEqual([String(id)])
  expect(await versions(house)).toMatchObject([{ price: '1.000' }])
  world.heal(id)
  clock.advance(600_000)
  world.edit(id, clock.now(), { finalPrice: 2 })
  clock.advance(600_000)
  expect(await house.night()).toMatchObject({ status: 'ok' })
  expect(await faults(house)).toEqual([])
  expect(await flagged(house)).toEqual([])
})

test('a reading with a time before that of a false one wins, since it was read later', async () => {
  await using house = await openNorth()
  house.sandbox.world.poison(id, { ...ahead(hours(9000)), FinalPrice: 1 })
  await house.night()
  house.sandbox.world.heal(id)

  await house.nightAfter(1)

  expect(await faults(house)).toEqual([])
})

test('a source whose times are all in a zone of the east is read as it is, and again once they have passed', async () => {
  await using house = await openNorth()
  const local = hours(11 - 8).toISOString()
  const times = { CreatedAt: local, CompletedAt: local, UpdatedAt: local }
  house.sandbox.world.poison(id, { ...times, FinalPrice: 1 })
  await house.night()
  expect(await flagged(house)).toEqual([String(id)])
  house.sandbox.world.heal(id)

  await house.nightAfter(1)

  expect(await faults(house)).toEqual([])
  expect(await flagged(house)).toEqual([])
})

test('a record that is edited while its times stay ahead is kept up to date', async () => {
  await using house = await openNorth(false)
  const { world } = house.sandbox
  for (const [night, price] of [1, 2, 3].entries()) {
    world.heal(id)
    world.poison(id, { ...ahead(hours(9000)), FinalPrice: price })
    if (night === 0) await house.night()
    else await house.nightAfter(1)
  }

  const found = await versions(house)
  expect(found.map(({ price }) => price)).toEqual(['1.000', '2.000', '3.000'])
  expect(found[1]!.from).toEqual(found[0]!.until)
  for (const { from } of found) expect(from.getTime()).toBeLessThan(hours(49).getTime())
})

test('a time that stays ahead writes nothing in a second run', async () => {
  await using house = await openNorth()
  house.sandbox.world.poison(id, ahead(hours(9000)))
  await house.night()
  const stored = `select eval_id, xmin::text from core.evaluation union all select count(*), 'payloads' from raw.payload order by 2, 1`
  const before = await rowsOf(house, stored)

  await house.night()

  expect(await rowsOf(house, stored)).toEqual(before)
})

test.each([true, false])(
  'a record that was stored with a time ahead thaws (list with times: %s)',
  async (listCarriesUpdatedAt) => {
    await using house = await openNorth(listCarriesUpdatedAt)
    await house.night()
    await rowsOf(
      house,
      `update core.evaluation set source_updated_at = '9999-01-01' where eval_id = ${id}`,
    )
    await rowsOf(
      house,
      `update core.evaluation_version set valid_from = '9999-01-01' where eval_id = ${id}`,
    )

    await house.nightAfter(1)

    expect(await faults(house)).toEqual([])
    house.sandbox.world.edit(id, house.sandbox.clock.now(), { finalPrice: 7 })
    await house.nightAfter(1)
    expect(await faults(house)).toEqual([])
    const [first, second] = await versions(house)
    expect(first!.from.getTime()).toBeLessThan(hours(24).getTime())
    expect(second).toMatchObject({ from: first!.until, until: null })
  },
)

test('a replay finds the same rows as the nights did', async () => {
  await using house = await openNorth()
  const { world, clock } = house.sandbox
  world.poison(id, { ...ahead(hours(20)), FinalPrice: 1 })
  await house.night()
  world.heal(id)
  clock.advance(3_600_000)
  world.edit(id, clock.now(), { finalPrice: 2 })
  await house.nightAfter(1)
  const content = `select eval_id, final_price, source_updated_at, version_no from core.evaluation order by 1`
  const before = [await rowsOf(house, content), await versions(house)]

  await runStreams(house.context, {
    plan: { command: 'replay', mode: 'replay', from: 0, until: null },
    streams: [evaluations],
    rooftops: house.config.rooftops,
  })

  expect([await rowsOf(house, content), await versions(house)]).toEqual(before)
})

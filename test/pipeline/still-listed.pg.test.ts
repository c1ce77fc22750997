import { expect, test } from 'vitest'
import { anEvaluation, aRooftop, worldOf } from '#src/sandbox/build-world.ts'
import { rereadWithinNights } from '#src/pipeline/reread.ts'
import { findRooftops } from '#src/pipeline/rooftops.ts'
import { readStatus, type Rereads } from '#src/pipeline/status.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { dayMs, type House, openHouse } from '../support/nights.ts'
import { morning, rowsOf } from '../support/priced.ts'

const deepRelistNights = 7

/** Six old evaluations and six new ones; the list carries their update times, which never change. */
async function openNorth(sync: object = {}): Promise<House> {
  const ages = [1, 2, 3, 4, 5, 6, 81, 82, 83, 84, 85, 86]
  const world = worldOf({
    rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
    evaluations: ages.map((days, index) =>
      anEvaluation({
        evalId: 1000 + index,
        rooftopUid: 'north',
        createdAt: new Date(morning.getTime() - days * dayMs),
      }),
    ),
  })
  const start = new Date(morning.getTime() - 90 * dayMs).toISOString()
  return await openHouse({
    sandbox: { world, now: morning, listCarriesUpdatedAt: true },
    sync: { start, deepRelistNights, recheckDays: 60, ...sync },
    streams: [evaluations],
  })
}

const gone = (house: House) =>
  rowsOf<{ id: number }>(
    house,
    'select eval_id as id from core.evaluation where gone_at is not null order by 1',
  )

async function rereadsOf(house: House): Promise<Rereads> {
  const rooftops = await findRooftops(house.context.db, house.config.rooftops)
  const standing = await readStatus(house.context.db, [evaluations], rooftops, house.config)
  return standing.rooftops['north']!.streams['evaluations']!.rereads!
}

test('evaluations that are gone and still listed as unchanged are found within the stated nights', async () => {
  await using house = await openNorth()
  await house.night()
  for (const evalId of [1001, 1008])
    house.sandbox.faults.add({
      match: { path: '/geteval', evalId },
      fault: { kind: 'status', status: 400, body: { error: 'not found' } },
    })
  const within = rereadWithinNights(house.config.sync)

  expect(await rereadsOf(house)).toEqual({ records: 12, withinNights: within, overdue: 0 })
  for (let night = 0; night < within; night++)
    expect(await house.nightAfter(1)).toMatchObject({ status: 'ok' })

  expect(await gone(house)).toEqual([{ id: 1001 }, { id: 1008 }])
  expect(await rereadsOf(house)).toMatchObject({ overdue: 0 })
}, 120_000)

test('each unchanged evaluation is read once in four weeks, a few a night', async () => {
  await using house = await openNorth()
  await house.night()
  house.sandbox.requests.reset()

  for (let night = 0; night < 28; night++) await house.nightAfter(1)

  expect(house.sandbox.requests.count('/geteval')).toBeGreaterThanOrEqual(9)
  expect(house.sandbox.requests.count('/geteval')).toBeLessThanOrEqual(12)
}, 120_000)

test('a budget that is too small is told', async () => {
  await using house = await openNorth({ rereadBudget: 0 })
  await house.night()

  await house.nightAfter(1)
  await house.nightAfter(rereadWithinNights(house.config.sync) + 1)

  expect((await rereadsOf(house)).overdue).toBeGreaterThan(0)
})

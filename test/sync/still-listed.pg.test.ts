import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { type Rereads, readStatus } from '#src/sync/explain/status.ts'
import { rereadWithinNights } from '#src/sync/records/reread.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { dayMs, type Fixture, openFixture } from '../support/fixture.ts'
import { morning, rowsOf } from '../support/pricing-fixture.ts'

const deepRelistNights = 7

/** Six old and six new evaluations; the list shows their update times, which never change. */
async function openNorth(sync: object = {}): Promise<Fixture> {
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
  return await openFixture({
    sandbox: { world, now: morning, listCarriesUpdatedAt: true },
    sync: { start, deepRelistNights, recheckDays: 60, ...sync },
    streams: [evaluations],
  })
}

const gone = (fixture: Fixture) =>
  rowsOf<{ id: number }>(
    fixture,
    'select eval_id as id from core.evaluation where gone_at is not null order by 1',
  )

const readIds = ({ sandbox }: Fixture) =>
  sandbox.requests.entries('/geteval').map(({ body }) => (body as { evalid: number }).evalid)

async function rereadsOf(fixture: Fixture): Promise<Rereads> {
  const rooftops = await findRooftops(fixture.context.db, fixture.config.rooftops)
  const status = await readStatus(fixture.context.db, [evaluations], rooftops, fixture.config)
  return status.rooftops['north']!.streams['evaluations']!.rereads!
}

test('evaluations that are gone, but listed as unchanged, are found within the stated nights, and each other one is read once in four weeks', {
  tags: 'ci',
  timeout: 120_000,
}, async () => {
  await using fixture = await openNorth()
  await fixture.night()
  for (const evalId of [1001, 1008])
    fixture.sandbox.faults.add({
      match: { path: '/geteval', evalId },
      fault: { kind: 'status', status: 400, body: { error: 'not found' } },
    })
  const within = rereadWithinNights(fixture.config.sync)

  expect(await rereadsOf(fixture)).toEqual({ records: 12, withinNights: within, overdue: 0 })
  fixture.sandbox.requests.reset()
  let reads: readonly number[] = []
  for (let night = 1; night <= within; night++) {
    expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
    if (night === 28) reads = readIds(fixture)
  }

  const others = reads.filter((id) => id !== 1001 && id !== 1008)
  expect(others.length).toBeGreaterThanOrEqual(8)
  expect(others.length).toBeLessThanOrEqual(10)
  expect(await gone(fixture)).toEqual([{ id: 1001 }, { id: 1008 }])
  expect(await rereadsOf(fixture)).toMatchObject({ overdue: 0 })
})

test('a budget that is too small is reported', async () => {
  await using fixture = await openNorth({ rereadBudget: 0 })
  await fixture.night()

  await fixture.nightAfter(1)
  await fixture.nightAfter(rereadWithinNights(fixture.config.sync) + 1)

  expect((await rereadsOf(fixture)).overdue).toBeGreaterThan(0)
})

test('a nightly reread is done also when each run begins just before midnight and lists after it', async () => {
  const now = new Date('2026-06-10T23:59:59Z')
  const evaluation = { evalId: 1, rooftopUid: 'north', createdAt: new Date(+now - 5 * dayMs) }
  await using fixture = await openFixture({
    sandbox: {
      ...{ now, listCarriesUpdatedAt: false },
      world: worldOf({
        rooftops: [aRooftop({ uid: 'north', dealerId: 101 })],
        evaluations: [anEvaluation(evaluation)],
      }),
    },
    sync: { start: '2026-06-01' },
    streams: [evaluations],
  })
  const pastMidnight = {
    crashPoint: (name: string) => name === 'slice-claimed' && fixture.sandbox.clock.advance(2_000),
  }
  await fixture.night(pastMidnight)
  fixture.sandbox.requests.reset()

  await fixture.nightAfter(1 - 2_000 / dayMs, pastMidnight)

  expect(fixture.sandbox.requests.count('/geteval')).toBe(1)
})

import { expect } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { impatient, stock } from '../streams/stock-prices/stocked.ts'
import { aKey, anEvaluation, aRooftop, aUser, worldOf } from '../support/build-world.ts'
import { type Fixture, openLoadedFixture } from '../support/fixture.ts'

export const now = new Date('2026-03-10T02:00:00Z')
export const hourMs = 3_600_000
const vinOf = (evalId: number) => `JTMDFREV9${String(evalId).padStart(8, '0')}`

/** Two rooftops of one dealer group and one of another, each with three evaluations, a user, two units and a PPSR search. */
const places = [
  { uid: 'one-north', groupId: 'one', dealerId: 101, first: 1001 },
  { uid: 'one-south', groupId: 'one', dealerId: 102, first: 2001 },
  { uid: 'two', groupId: 'two', dealerId: 103, first: 3001 },
]
export const uids = places.map(({ uid }) => uid)

function world() {
  const evaluations = places.flatMap(({ uid, first }) =>
    [0, 1, 2].map((index) =>
      anEvaluation({
        ...{ evalId: first + index, rooftopUid: uid, vin: vinOf(first + index) },
        createdAt: new Date(now.getTime() - (30 + index) * hourMs),
        photos: [{ id: 10 * (first + index) }, { id: 10 * (first + index) + 1 }],
        reconditioning: [{ type: 'paint', source: 'Shop', cost: 90, value: 'door' }],
        userPrices: [{ amount: 21_000, currency: 'AUD', note: '' }],
        customFields: { lot: { type: 'text', options: null, value: 'A1' } },
      }),
    ),
  )
  const users = places.map(({ uid, groupId, first }) =>
    aUser({ userId: first, groupId, rooftopUid: uid, email: `${uid}@example.com`, name: uid }),
  )
  return worldOf({
    rooftops: places.map(({ uid, groupId, dealerId }) => aRooftop({ uid, groupId, dealerId })),
    evaluations,
    users,
    keys: [
      aKey({ name: 'one', value: 'one', rooftopUids: uids.slice(0, 2) }),
      aKey({ name: 'two', value: 'two', rooftopUids: uids.slice(2) }),
    ],
  })
}

/** The world of `places`, loaded by every stream. */
export async function loaded(): Promise<Fixture> {
  const options = { sandbox: { world: world(), now }, streams: allStreams }
  const fixture = await openLoadedFixture('rows', options, load)
  // The sandbox of a copy knows only its world.
  for (const check of checks()) fixture.sandbox.checks.add(check)
  return fixture
}

const checks = () =>
  places.map(({ uid, groupId, first }) => ({
    ...{ kind: 'ppsr' as const, searchedAt: new Date(now.getTime() - hourMs) },
    ...{ evalId: first, rooftopUid: uid, groupId, vin: vinOf(first) },
  }))

async function load(fixture: Fixture): Promise<void> {
  await fixture.night()
  for (const check of checks()) fixture.sandbox.checks.add(check)
  for (const { uid, first } of places) {
    const units = [1, 2].map((n) => ({ stockNo: `${uid}-${n}`, vin: vinOf(first + n), km: 40_000 }))
    await stock(fixture.database, units, uid)
  }
  const report = await fixture.nightAfter(1, impatient(fixture))
  expect(report.status).toBe('ok')
}

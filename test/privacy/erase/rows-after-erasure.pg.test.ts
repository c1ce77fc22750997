import { expect, test } from 'vitest'
import { deletePayloads } from '#src/privacy/retain/apply-retention.ts'
import { allStreams } from '#src/streams/all.ts'
import { findRooftops } from '#src/sync/run/rooftops.ts'
import { verifyRows } from '#src/sync/verify/verify-rows.ts'
import type { Fixture } from '../../support/fixture.ts'
import { byPhone, eraseIn, janesWorld, now, openJanesFixture } from './erase-fixture.ts'

async function differing({ context, config }: Fixture) {
  const rooftops = await findRooftops(context.db, config.rooftops)
  return (await verifyRows(context, allStreams, rooftops, null, context.signal)).rows
}

test('the scrubbed bodies make the rows of erased customers, also after retention and another night', async () => {
  const edits = [{ phone: '+61412345678' }, { postcode: '3000' }, { address: null }].map(
    (customer, day) => ({
      at: new Date(Date.UTC(2026, 2, 10 + day, 9)),
      patch: { customer, finalPrice: 19_000 + day },
    }),
  )
  const [first, ...others] = janesWorld()
  const world = [{ ...first!, edits: [...first!.edits, ...edits] }, ...others]
  await using fixture = await openJanesFixture(world)
  const { evalId, rooftopUid, vin } = first!
  for (const kind of ['ppsr', 'car_history'] as const) {
    const searchedAt = new Date(now.getTime() - 3_600_000)
    const groupId = fixture.sandbox.world.rooftop(rooftopUid)!.groupId
    fixture.sandbox.checks.add({ kind, searchedAt, evalId, rooftopUid, groupId, vin: vin! })
  }
  await fixture.night()
  const ends = [new Date()]
  for (const _ of edits) {
    await fixture.nightAfter(1)
    ends.push(new Date())
  }
  expect(await differing(fixture)).toEqual([])

  await eraseIn(fixture, byPhone)

  expect(await differing(fixture)).toEqual([])
  for (const end of ends) {
    await deletePayloads(fixture.context, end, 100)
    expect(await differing(fixture)).toEqual([])
  }
  expect(await fixture.nightAfter(1)).toMatchObject({ status: 'ok' })
  expect(await differing(fixture)).toEqual([])
})

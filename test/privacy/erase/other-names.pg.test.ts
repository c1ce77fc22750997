import { expect, test } from 'vitest'
import { defaultWire, type WireSettings } from '#src/values/wire.ts'
import { anEvaluation, worldOf } from '../../support/build-world.ts'
import { openFixture } from '../../support/fixture.ts'
import { dumpOf, linesWith } from './dump.ts'
import { byEmail, eraseIn, jane, janesTexts, now } from './erase-fixture.ts'

/** A service with other names for the customer than the config has. */
const otherNames: WireSettings = {
  ...defaultWire,
  appraisal: {
    ...defaultWire.appraisal,
    evaluation: {
      ...defaultWire.appraisal.evaluation,
      ...{ customerName: 'Keeper.Party', customerPhone: 'Keeper.Handset' },
      ...{ customerEmail: 'Keeper.Inbox', customerAddress: 'Keeper.Street' },
      ...{ customerSuburb: 'Keeper.Town', notes: 'FreeText', registration: 'RegMark' },
    },
  },
}

test('an erasure finds and blanks a customer whose fields the config does not name', async () => {
  const day = (n: number) => ({ createdAt: `2026-03-0${n}T01:00:00Z` })
  const other = { name: 'Bob Other', phone: '0498 765 432', email: 'bob@example.org' }
  const world = worldOf({
    evaluations: [
      anEvaluation({
        evalId: 1,
        ...day(2),
        customer: jane,
        registration: 'JAN412',
        notes: 'Jane rang',
        edits: [{ at: '2026-03-04T03:00:00Z', patch: { notes: 'Jane rang again' } }],
      }),
      anEvaluation({ evalId: 2, ...day(3), customer: other, notes: `from ${jane.email}` }),
      anEvaluation({ evalId: 3, createdAt: '2026-03-10T09:00:00Z', customer: jane }),
    ],
  })
  await using fixture = await openFixture({
    sandbox: { world, now, wire: otherNames },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  expect(linesWith(await dumpOf(pool), ['Jane Ann Citizen'])).not.toEqual([])

  const receipt = await eraseIn(fixture, byEmail)
  await fixture.nightAfter(1)

  expect(receipt.evaluations.map(({ evalId }) => evalId)).toEqual([1])
  expect(receipt.mentionedIn.map(({ evalId }) => evalId)).toEqual([2])
  expect(receipt.rescan.left).toEqual({})
  const lines = await dumpOf(pool)
  expect(linesWith(lines, [...janesTexts, 'rang', 'Richmond'])).toEqual([])
  expect(linesWith(lines, ['Bob Other'])).toHaveLength(1)
})

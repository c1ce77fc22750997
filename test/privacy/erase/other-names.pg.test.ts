import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
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

test('a replay with the names of the service keeps a customer out who was erased before they were known', {
  tags: 'ci',
}, async () => {
  const customer = { ...jane, email: `Jane <${jane.email}>` }
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt: '2026-03-02T01:00:00Z', customer }),
      anEvaluation({
        evalId: 2,
        createdAt: '2026-03-03T01:00:00Z',
        customer: { ...customer, name: 'Bob Other', email: 'bob@example.org', phone: null },
        notes: `from ${jane.email}`,
      }),
      anEvaluation({
        evalId: 3,
        createdAt: '2026-03-03T01:00:00Z',
        customer,
        edits: [
          {
            at: '2026-03-10T12:00:00Z',
            patch: { customer: { name: 'Sam Later', email: 'sam@example.org', phone: null } },
          },
        ],
      }),
    ],
  })
  await using fixture = await openFixture({
    sandbox: { world, now, wire: otherNames },
    sync: { start: '2026-03-01' },
  })
  const { pool } = fixture.database
  await fixture.night()
  await fixture.nightAfter(1)
  const receipt = await eraseIn(fixture, byEmail)
  expect(receipt.mentionedIn.map(({ evalId }) => evalId)).toEqual([1, 2, 3])

  const config = { ...fixture.config, wire: otherNames }
  const run = async (mode: 'replay' | 'sync') =>
    mode === 'sync'
      ? await fixture.nightAfter(1, { config })
      : await runStreams(
          { ...fixture.context, config },
          {
            plan: { command: mode, mode, from: 0, until: null },
            streams: [evaluations],
            rooftops: config.rooftops,
          },
        )
  for (const mode of ['replay', 'sync', 'replay'] as const) {
    expect((await run(mode)).status).toBe('ok')
    const { rows } = await pool.query(
      'select customer_name as name from pii.evaluation_customer order by eval_id',
    )
    expect(rows).toEqual([{ name: null }, { name: 'Bob Other' }, { name: 'Sam Later' }])
    expect(linesWith(await dumpOf(pool), ['Jane Ann Citizen', '0412 345 678'])).toEqual([])
  }
})

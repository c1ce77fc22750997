import { expect, test } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { users } from '#src/streams/users/users.ts'
import type { Counts } from '#src/sync/run/run-ledger.ts'
import { runStreams } from '#src/sync/run/run-streams.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { openFixture } from '../support/fixture.ts'

const now = new Date('2026-03-10T02:00:00Z')
const hourMs = 3_600_000

/** Two rooftops of one dealer group with four evaluations and a user each. */
function smallWorld() {
  const rooftops = [1, 2].map((n) =>
    aRooftop({ uid: `rooftop-${n}`, groupId: 'group-1', dealerId: n }),
  )
  const list = rooftops.flatMap(({ uid }, place) =>
    Array.from({ length: 4 }, (_, index) =>
      anEvaluation({
        evalId: 1001 + 1000 * place + index,
        rooftopUid: uid,
        createdAt: new Date(now.getTime() - (50 - index) * hourMs),
      }),
    ),
  )
  const users = rooftops.map(({ uid }, index) => ({
    ...{ userId: index + 1, groupId: 'group-1', rooftopUid: uid, name: `User ${index}` },
    ...{ email: `user-${index}@example.com`, active: true, generated: false },
  }))
  const keys = [aKey({ rooftopUids: rooftops.map(({ uid }) => uid) })]
  return worldOf({ rooftops, users, evaluations: list, keys })
}

/** The records of a stream by what happened to them. */
function outcomes({ inserted, updated, unchanged, quarantined, vanished }: Counts) {
  return { inserted, updated, unchanged, quarantined, vanished }
}

const nothing = { inserted: 0, updated: 0, unchanged: 0, quarantined: 0, vanished: 0 }

test('each record is counted by what happened to it', async () => {
  const world = smallWorld()
  world.poison(1004, { FinalPrice: 'a lot' })
  await using fixture = await openFixture({ sandbox: { world, now }, streams: [evaluations] })
  const { clock } = fixture.sandbox

  const first = (await fixture.night()).streams['evaluations']!
  world.edit(1001, clock.now(), { finalPrice: 12_345 })
  // The quarantined record is listed no more and not found: the other seven are listed.
  world.vanish(1004, clock.now())
  const second = (await fixture.nightAfter(1)).streams['evaluations']!

  expect(first.listed).toBe(8)
  expect(outcomes(first)).toEqual({ ...nothing, inserted: 7, quarantined: 1 })
  expect(second.listed).toBe(7)
  expect(outcomes(second)).toEqual({ ...nothing, updated: 1, unchanged: 6, vanished: 1 })
})

test('a retry counts a record that is unchanged', async () => {
  const world = smallWorld()
  await using fixture = await openFixture({ sandbox: { world, now }, streams: [evaluations] })
  await fixture.night()
  await fixture.database.pool.query(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
     select 'evaluations', rooftop_id, '1001', '[]', 0 from core.rooftop where rooftop_uid = 'rooftop-1'`,
  )

  const report = await runStreams(fixture.context, {
    plan: { command: 'quarantine retry', mode: 'retry', from: 0, until: 0 },
    streams: [evaluations],
    rooftops: fixture.config.rooftops,
  })

  const retried = report.streams['evaluations']!
  expect(retried.hydrated).toBe(1)
  expect(outcomes(retried)).toEqual({ ...nothing, unchanged: 1 })
})

test('users that left the list do not reduce the number of unchanged ones', async () => {
  const world = smallWorld()
  await using fixture = await openFixture({ sandbox: { world, now }, streams: [users] })
  const { pool } = fixture.database
  const first = (await fixture.night()).streams['users']!
  await pool.query(`with person as (
      insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list)
      select group_id, 'Left', false, true, true from core.rooftop where rooftop_uid = 'rooftop-1' returning *
    ), email as (
      insert into pii.app_user_email select user_id, group_id, 'left@example.com' from person
    )
    insert into core.app_user_rooftop (rooftop_id, user_id, is_active)
    select rooftop_id, user_id, true from person join core.rooftop using (group_id) where rooftop_uid = 'rooftop-1'`)

  const second = (await fixture.nightAfter(1)).streams['users']!

  expect(outcomes(first).unchanged + outcomes(first).inserted).toBe(first.listed)
  expect(outcomes(second)).toEqual({ ...nothing, updated: 1, unchanged: second.listed })
})

import { expect, test } from 'vitest'
import { markSeen, settleOpenCall, takenRefs, findUnseenCall } from '#src/billing/open-calls.ts'
import { openDb } from '#src/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'

/** Rooftops 1 and 2 of one dealer group, 3 of another. */
async function openGroups(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  await database.pool.query(`
    insert into core.rooftop_group (group_id, group_code) overriding system value values (1, 'north'), (2, 'south');
    insert into core.rooftop
      (rooftop_id, rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
      overriding system value
      select id, 'rooftop-' || id, 1 + id / 3, 'Rooftop', 'AU', 'Australia/Sydney', 'AUD', 'km' from generate_series(1, 3) as id`)
  return database
}

/** Returns the id of the call. */
async function addCall(
  { pool }: TestDatabase,
  rooftopId: number,
  state: 'reserved' | 'committed',
  checkRef: string | null = null,
): Promise<number> {
  const { rows } = await pool.query(
    `insert into ops.billable_call (operation, budget, rooftop_id, natural_key, day, state, requested_by, check_ref)
     values ('ppsrsearch', 'ppsrSearch', $1, '1001', '2026-03-10', $2, 'tester@here', $3) returning call_id::int`,
    [rooftopId, state, checkRef],
  )
  return rows[0].call_id
}

async function addCheck({ pool }: TestDatabase, rooftopId: number, ref: string): Promise<void> {
  await pool.query(
    `insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, first_seen_at)
     select rooftop_id, 1001, 'ppsr', $2, group_id, 'SAMPLEAU000000001', '2026-03-01' from core.rooftop where rooftop_id = $1`,
    [rooftopId, ref],
  )
}

const since = new Date('2026-03-10T02:00:00Z')

test('a ref used in another dealer group is free in this one', async () => {
  await using database = await openGroups()
  await addCall(database, 2, 'committed', 'ours')
  await addCall(database, 3, 'committed', 'theirs')
  await addCheck(database, 2, 'known-to-us')
  await addCheck(database, 3, 'known-to-them')
  const callId = await addCall(database, 1, 'reserved')
  const about = { rooftopId: 1, evalId: 1001 }
  const call = { callId, operation: 'ppsrsearch', kind: 'ppsr', ...about } as const
  const db = openDb(database.pool)

  const listed = await takenRefs(db, { ...call, knownRefs: [] }, since)
  const unlisted = await takenRefs(db, { ...call, knownRefs: null }, since)

  expect([...listed]).toEqual(['ours'])
  expect([...unlisted].sort()).toEqual(['known-to-us', 'ours'])
})

const subject = { operation: 'ppsrsearch', naturalKey: '1001', rooftopId: 1 }

test('a check that a later call found is unseen until it is shown', async () => {
  await using database = await openGroups()
  const db = openDb(database.pool)
  const callId = await addCall(database, 2, 'reserved')
  await settleOpenCall(db, callId, '7')

  const unseen = await findUnseenCall(db, subject)
  const otherGroup = await findUnseenCall(db, { ...subject, rooftopId: 3 })
  await markSeen(db, unseen!)
  const seen = await findUnseenCall(db, subject)

  expect([unseen, otherGroup, seen]).toEqual([{ callId, ref: '7' }, null, null])
})

test('a later paid and answered call settles an open call', async () => {
  await using database = await openGroups()
  const db = openDb(database.pool)
  await settleOpenCall(db, await addCall(database, 1, 'reserved'), '7')

  await addCall(database, 1, 'committed', '8')

  expect(await findUnseenCall(db, subject)).toBeNull()
})

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import {
  lockUnshownCall,
  markShown,
  refsOfOtherCalls,
  settleOpenCall,
} from '#src/app/billing/open-calls.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { openGroups } from './open-groups.ts'

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

  const listed = await refsOfOtherCalls(db, { ...call, knownRefs: [] }, since)
  const unlisted = await refsOfOtherCalls(db, { ...call, knownRefs: null }, since)

  expect([...listed]).toEqual(['ours'])
  expect([...unlisted].sort()).toEqual(['known-to-us', 'ours'])
})

const subject = { operation: 'ppsrsearch', naturalKey: '1001', rooftopId: 1 }

test('a check that a later call found is not shown until it is marked, whatever its note says', async () => {
  await using database = await openGroups()
  const db = openDb(database.pool)
  const callId = await addCall(database, 2, 'reserved')
  await settleOpenCall(db, callId, '7')
  await database.pool.query("update ops.billable_call set note = 'In other words'")

  const unshown = await lockUnshownCall({ db, pool: database.pool }, subject)
  const otherProcess = await lockUnshownCall({ db, pool: database.pool }, subject)
  const otherGroup = await lockUnshownCall(
    { db, pool: database.pool },
    { ...subject, rooftopId: 3 },
  )
  await markShown(db, callId)
  await unshown?.[Symbol.asyncDispose]()
  const shown = await lockUnshownCall({ db, pool: database.pool }, subject)

  expect(unshown).toMatchObject({ callId, ref: '7' })
  expect([otherProcess, otherGroup, shown]).toEqual([null, null, null])
})

test('a later paid and shown call settles an open call', async () => {
  await using database = await openGroups()
  const db = openDb(database.pool)
  await settleOpenCall(db, await addCall(database, 1, 'reserved'), '7')

  await markShown(db, await addCall(database, 1, 'committed', '8'))

  expect(await lockUnshownCall({ db, pool: database.pool }, subject)).toBeNull()
})

test('calls from before the column keep whether they were shown', async () => {
  await using database = await openGroups()
  const { pool } = database
  const found = 'Found among the past checks by a later call: it was billed.'
  const notes = [null, found, `${found} cut off`, 'Found among the past checks: it was billed.']
  for (const note of notes) {
    const callId = await addCall(database, 1, 'committed', '7')
    await pool.query('update ops.billable_call set note = $2 where call_id = $1', [callId, note])
  }
  await addCall(database, 1, 'reserved')
  const migration = new URL('../../../sql/migrations/0017_shown_at.sql', import.meta.url)

  await pool.query('alter table ops.billable_call drop column shown_at')
  await pool.query(await readFile(migration, 'utf8'))

  const { rows } = await pool.query(
    'select shown_at is not null as shown from ops.billable_call order by call_id',
  )
  expect(rows.map(({ shown }) => shown)).toEqual([true, false, false, true, false])
})

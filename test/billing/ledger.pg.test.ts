import { expect, test } from 'vitest'
import { type BillableCall, reserveCall, settleCall } from '#src/billing/ledger.ts'
import { openPool } from '#src/db/connect.ts'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'

const call: BillableCall = {
  operation: 'ppsrsearch',
  budget: 'ppsrSearch',
  allowed: 3,
  rooftopId: null,
  naturalKey: '1001',
  requestedBy: 'tester@here',
}

async function states({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query('select state from ops.billable_call order by call_id')
  return rows.map(({ state }) => state)
}

test('a budget of 0 allows nothing, and says which setting it is', async () => {
  await using database = await createTestDatabase()

  await expect(reserveCall(database.pool, { ...call, allowed: 0 })).rejects.toThrow(
    'budget.ppsrSearch is 0',
  )
  expect(await states(database)).toEqual([])
})

test('reserved, committed and unknown calls count against the day, released ones do not', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const ids = [
    await reserveCall(pool, call),
    await reserveCall(pool, call),
    await reserveCall(pool, call),
  ]

  await settleCall(pool, ids[0]!, 'committed', { status: 200, note: null })
  await settleCall(pool, ids[1]!, 'unknown', { status: null, note: 'cut off' })
  await expect(reserveCall(pool, call)).rejects.toThrow('allows 3 calls a day, and 3 are used')
  await settleCall(pool, ids[2]!, 'released', { status: 400, note: 'eval has no VIN' })
  await reserveCall(pool, call)

  expect(await states(database)).toEqual(['committed', 'reserved', 'released', 'reserved'])
  // Another budget has calls of its own.
  await reserveCall(pool, { ...call, operation: 'carhistory', budget: 'carHistory', allowed: 1 })
})

test('what was used yesterday is not used today', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const one = { ...call, allowed: 1 }

  await reserveCall(pool, one)
  await pool.query('update ops.billable_call set day = day - 1')

  await expect(reserveCall(pool, one)).resolves.toBe(2)
  await expect(reserveCall(pool, one)).rejects.toThrow('Wait until tomorrow')
})

test('of 40 that ask at once over 8 connections, exactly as many win as are allowed', async () => {
  await using database = await createTestDatabase()
  const pools = await Promise.all(
    Array.from({ length: 8 }, () => openPool(database.url, { applicationName: 'race', max: 1 })),
  )

  const asked = pools.flatMap((pool) => Array.from({ length: 5 }, () => reserveCall(pool, call)))
  const outcomes = await Promise.allSettled(asked)
  await Promise.all(pools.map((pool) => pool.end()))

  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect(await states(database)).toEqual(['reserved', 'reserved', 'reserved'])
})

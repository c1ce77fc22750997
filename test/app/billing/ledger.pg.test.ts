import type pg from 'pg'
import { expect, test } from 'vitest'
import { type BillableCall, reserveCall, settleCall } from '#src/app/billing/ledger.ts'
import { listOpenCalls, lockOpenCall, settleOpenCall } from '#src/app/billing/open-calls.ts'
import { BusyError, UsageError } from '#src/errors.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { openGroups } from './open-groups.ts'

const call: BillableCall = {
  operation: 'ppsrsearch',
  budget: 'ppsrSearch',
  allowed: 3,
  rooftopId: null,
  naturalKey: '1001',
  requestedBy: 'tester@here',
  before: null,
  again: false,
}
/** The same for another evaluation each time. */
let evalId = 2000
const another = (): BillableCall => ({ ...call, naturalKey: String(++evalId) })

/** Reserves a call and abandons it like a killed process; returns its id. */
async function leave(pool: pg.Pool, asked: BillableCall): Promise<number> {
  await using reservation = await reserveCall(pool, asked)
  return reservation.callId
}

async function states({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query('select state from ops.billable_call order by call_id')
  return rows.map(({ state }) => state)
}

test('a budget of 0 allows no call, and the error names the setting', async () => {
  await using database = await createTestDatabase()

  await expect(reserveCall(database.pool, { ...call, allowed: 0 })).rejects.toThrow(
    'budget.ppsrSearch is 0',
  )
  expect(await states(database)).toEqual([])
})

test('reserved, committed and unknown calls count against the day, released ones do not', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using first = await reserveCall(pool, another())
  await using second = await reserveCall(pool, another())
  await using third = await reserveCall(pool, another())

  await settleCall(pool, first.callId, 'committed', { status: 200, note: null })
  await settleCall(pool, second.callId, 'unknown', { status: null, note: 'cut off' })
  await expect(reserveCall(pool, another())).rejects.toThrow('allows 3 calls a day, and 3 are used')
  await settleCall(pool, third.callId, 'released', { status: 400, note: 'eval has no VIN' })
  await using _fourth = await reserveCall(pool, another())

  expect(await states(database)).toEqual(['committed', 'reserved', 'released', 'reserved'])
  // Another budget has calls of its own.
  const history = { ...call, operation: 'carhistory', budget: 'carHistory', allowed: 1 } as const
  await using _history = await reserveCall(pool, history)
})

test('what was used yesterday is not used today', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const one = () => ({ ...another(), allowed: 1 })

  await using _yesterday = await reserveCall(pool, one())
  await pool.query('update ops.billable_call set day = day - 1')

  await using today = await reserveCall(pool, one())
  expect(today.callId).toBe(2)
  await expect(reserveCall(pool, one())).rejects.toThrow('Wait until tomorrow')
})

test('of 40 simultaneous requests over 8 pools, exactly the allowed number succeeds', async () => {
  await using database = await createTestDatabase()
  const pools = await Promise.all(
    Array.from({ length: 8 }, () => openPool(database.url, { applicationName: 'race', max: 5 })),
  )

  const asked = pools.flatMap((pool) => Array.from({ length: 5 }, () => leave(pool, another())))
  const outcomes = await Promise.allSettled(asked)
  await Promise.all(pools.map((pool) => pool.end()))

  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect(await states(database)).toEqual(['reserved', 'reserved', 'reserved'])
})

test('a call for the same subject is refused while a process makes one, and says which', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  await using living = await reserveCall(pool, call)

  const repeat = reserveCall(pool, { ...call, again: true })

  await expect(repeat).rejects.toThrow(BusyError)
  await expect(repeat).rejects.toThrow(`call ${living.callId}, by tester@here`)
  expect(await lockOpenCall(pool, living.callId)).toBeNull()
})

test('a repeat of a call that may have been billed needs --again, until one call was answered', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const predict = { ...call, operation: 'prediction', budget: 'prediction' } as const
  await leave(pool, predict)

  await expect(leave(pool, predict)).rejects.toThrow('may have been billed')
  await expect(leave(pool, { ...predict, naturalKey: '1002' })).resolves.toBeDefined()
  await using paid = await reserveCall(pool, { ...predict, again: true })
  await settleCall(pool, paid.callId, 'committed', { status: 200, note: null })
  await pool.query("update ops.billable_call set day = day - 2, at = at - interval '2 days'")

  await expect(leave(pool, predict)).resolves.toBeDefined()
})

test.each([
  ['ppsrsearch', 'ppsrSearch', 14],
  ['ppsrNewSearch', 'ppsrSearch', 14],
  ['carhistory', 'carHistory', 14],
  ['historyCheck', 'historyCheck', 14],
  ['prediction', 'prediction', 1],
] as const)(
  'a repeat of %s takes --again while the first one is valid',
  async (name, budget, days) => {
    await using database = await createTestDatabase()
    const { pool } = database
    const asked = { ...call, operation: name, budget }
    const paid = await leave(pool, asked)
    await settleCall(pool, paid, 'committed', { status: 200, note: null })

    const repeat = leave(pool, asked)
    await expect(repeat).rejects.toThrow(UsageError)
    await expect(repeat).rejects.toThrow(
      `(call ${paid}) and is valid for ${days === 1 ? '1 day' : `${days} days`}: nothing was sent`,
    )
    await expect(leave(pool, { ...asked, naturalKey: '1002' })).resolves.toBeDefined()
    await pool.query(
      `update ops.billable_call set day = day - ${days}, at = at - interval '${days} days' where call_id = ${paid}`,
    )
    await expect(leave(pool, asked)).resolves.toBeDefined()
  },
)

test('a call whose process has ended is locked by one other process at a time, with the checks from before it', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const at = new Date('2026-03-10T02:00:00Z')
  const before = { checks: [{ ref: '7', searchedAt: null }], at, isDated: true }
  const dead = await leave(pool, { ...call, rooftopId: 5, before })
  const about = { budget: 'ppsrSearch', rooftopId: 5 } as const

  const open = await listOpenCalls(openDb(pool), about)
  const taken = await lockOpenCall(pool, dead)
  const second = await lockOpenCall(pool, dead)

  expect(open).toEqual([dead])
  expect(taken).toMatchObject({ kind: 'ppsr', evalId: 1001, knownRefs: ['7'], sourceAt: at })
  expect(second).toBeNull()
  await taken![Symbol.asyncDispose]()
  await settleOpenCall(openDb(pool), dead, null)
  expect(await lockOpenCall(pool, dead)).toBeNull()
})

test('the time of an answer without a date is not stored as source time', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const before = { checks: [], at: new Date('2026-03-10T02:00:00Z'), isDated: false }

  await leave(pool, { ...call, before })

  const { rows } = await pool.query('select known_refs, source_at from ops.billable_call')
  expect(rows).toEqual([{ known_refs: [], source_at: null }])
})

test('a call that another process paid meanwhile is not paid again without --again', async () => {
  await using database = await createTestDatabase()
  const { pool } = database
  const other = await leave(pool, call)
  await settleOpenCall(openDb(pool), other, '7')

  const repeat = leave(pool, call)

  await expect(repeat).rejects.toThrow(
    /was paid for by tester@here at 20[0-9-]+ [0-9:]{8} UTC \(call /,
  )
  await expect(leave(pool, { ...call, again: true })).resolves.toBeDefined()
})

test.each(['ppsrsearch', 'carhistory'] as const)(
  'the same EvalID in another dealer group is another subject: %s',
  async (operation) => {
    await using database = await openGroups()
    const { pool } = database
    const budget = operation === 'ppsrsearch' ? 'ppsrSearch' : 'carHistory'
    const at = (rooftopId: number | null) =>
      ({ ...call, operation, budget, rooftopId, allowed: 20 }) as const
    const doubt = await leave(pool, at(1))

    // In doubt: refused in its group, at each rooftop, and where the group is not known.
    await expect(leave(pool, at(2))).rejects.toThrow('may have been billed')
    await expect(leave(pool, at(null))).rejects.toThrow('may have been billed')
    const other = await leave(pool, at(3))
    await settleCall(pool, other, 'committed', { status: 200, note: null })
    // An answer in the other group does not settle the doubt in this one.
    await expect(leave(pool, at(2))).rejects.toThrow('may have been billed')
    await settleCall(pool, doubt, 'committed', { status: 200, note: null })
    await pool.query(
      "update ops.billable_call set at = at - interval '15 days' where call_id = $1",
      [other],
    )

    // Valid in one group, no longer in the other.
    await expect(leave(pool, at(2))).rejects.toThrow('was paid for')
    await using living = await reserveCall(pool, at(3))
    await expect(leave(pool, { ...at(3), again: true })).rejects.toThrow(BusyError)
    await expect(leave(pool, { ...at(1), again: true })).resolves.toBeGreaterThan(living.callId)
  },
)

test('a VIN is the same vehicle in all dealer groups', async () => {
  await using database = await openGroups()
  const { pool } = database
  const check = { ...call, operation: 'historyCheck', budget: 'historyCheck' } as const
  const paid = await leave(pool, { ...check, rooftopId: 1 })
  await settleCall(pool, paid, 'committed', { status: 200, note: null })

  await expect(leave(pool, { ...check, rooftopId: 3 })).rejects.toThrow('was paid for')
})

import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '#src/values/sleep.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { inTransaction, inTwoSessions, type Tx } from '#src/warehouse/db/transaction.ts'
import { emptyTestDatabase, type TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await emptyTestDatabase()
  await database.pool.query('create table public.fact (n int)')
})

afterAll(async () => await database[Symbol.asyncDispose]())

const processOf = async ({ db }: Tx) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid

/** Runs the items by turns, in sessions that Postgres ends after 0.3 s of idleness. */
async function inTwo(items: readonly ((session: Tx) => Promise<unknown>)[]): Promise<void> {
  const pool = await openPool(database.url, {
    applicationName: 'test',
    idleInTransactionTimeoutMs: 300,
  })
  try {
    await inTransaction(
      pool,
      async (tx) =>
        await inTwoSessions({ ...tx, pool }, items, async (session, item) => {
          await item(session)
        }),
      'repeatable read, read only',
    )
  } finally {
    await pool.end()
  }
}

test('the session that ends first waits for the other', async () => {
  const sessions = new Set<number>()
  const work = async (session: Tx) => {
    sessions.add(await processOf(session))
    // The second session begins later, so it has the long item.
    const seconds = sessions.size === 1 ? 0.2 : 1
    await sql`select pg_sleep(${seconds})`.execute(session.db)
  }

  await inTwo([work, work])

  expect(sessions.size).toBe(2)
})

test('both sessions read one snapshot', async () => {
  const counts = new Map<number, number>()
  const count = async (session: Tx) => {
    await sleep(50)
    await database.pool.query('insert into public.fact values (1)')
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from public.fact`.execute(
      session.db,
    )
    counts.set(await processOf(session), rows[0]!.n)
  }

  await inTwo([count, count, count, count])

  expect([...counts.values()]).toEqual([0, 0])
})

test('after an error neither session begins another item', async () => {
  let begun = 0
  const fail = async () => {
    begun += 1
    await sleep(20)
    throw new Error('this item fails')
  }

  await expect(inTwo([fail, fail, fail, fail, fail])).rejects.toThrow('this item fails')

  expect(begun).toBeLessThanOrEqual(2)
})

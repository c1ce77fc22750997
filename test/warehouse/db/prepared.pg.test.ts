import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openPool } from '#src/warehouse/db/connect.ts'
import { type Db, inTransaction, openDb, prepared } from '#src/warehouse/db/transaction.ts'
import { emptyTestDatabase, type TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await emptyTestDatabase()
})
afterAll(async () => await database[Symbol.asyncDispose]())

// One session, and a new one for each test.
beforeEach(async () => {
  pool = await openPool(database.url, { applicationName: 'test', max: 1 })
  return async () => await pool.end()
})

const countTo = async (db: Db, n: number) => {
  const { rows } = await prepared(
    sql<{ n: number }>`select n from generate_series(1, ${n}::int) as n`,
  ).execute(db)
  return rows.length
}

/** How often the session has planned its prepared statements, with the values in view (custom) or for all values (generic). */
const plans = async () =>
  (
    await pool.query(
      'select generic_plans::int as generic, custom_plans::int as custom from pg_prepared_statements',
    )
  ).rows

test('a session parses a prepared statement once, whoever runs it', async () => {
  const db = openDb(pool)

  expect([await countTo(db, 2), await countTo(db, 3)]).toEqual([2, 3])
  expect(await inTransaction(pool, async (tx) => await countTo(tx.db, 4))).toBe(4)

  expect(await plans()).toEqual([{ generic: 0, custom: 3 }])
})

test('in the transaction of a slice it is planned once too, and after it with the values in view again', async () => {
  for (const n of [1, 2, 3])
    expect(await inTransaction(pool, async (tx) => await countTo(tx.db, n), 'slice')).toBe(n)
  expect(await plans()).toEqual([{ generic: 3, custom: 0 }])

  expect(await countTo(openDb(pool), 5)).toBe(5)
  expect(await plans()).toEqual([{ generic: 3, custom: 1 }])
})

test('a statement that is not marked is not prepared', async () => {
  await sql`select ${1}::int`.execute(openDb(pool))

  expect(await plans()).toEqual([])
})

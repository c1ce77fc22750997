import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const refreshed = async () =>
  (await database.pool.query('select ops.refresh_statistics() as tables')).rows[0].tables

test('the statistics of a table that has grown are refreshed once, and of no other', async () => {
  // The calendar was filled by the migration.
  await refreshed()
  const before = await refreshed()
  await database.pool.query(
    `insert into core.custom_field_value (rooftop_id, eval_id, field_name, field_type, value_text)
     select 1, number, 'Field', 'text', repeat('x', 200) from generate_series(1, 5000) as number`,
  )

  expect([before, await refreshed(), await refreshed()]).toEqual([0, 1, 0])
  const { rows } = await database.pool.query(
    `select reltuples from pg_class where oid = 'core.custom_field_value'::regclass`,
  )
  expect(rows).toEqual([{ reltuples: 5000 }])
})

test('only one session at a time checks', async () => {
  const other = await database.pool.connect()
  await other.query('begin; select pg_advisory_xact_lock(7383, 0)')

  expect(await refreshed()).toBe(0)

  await other.query('rollback')
  other.release()
})

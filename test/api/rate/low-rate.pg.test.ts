import { expect, test } from 'vitest'
import { BudgetRows } from '#src/api/rate/budget-rows.ts'
import { createTestDatabase } from '../../support/postgres.ts'

test('many processes share one queue of send times, however low the rate', async () => {
  await using database = await createTestDatabase()
  const rows = new BudgetRows(database.pool)
  await rows.exchange([{ keyName: 'north', demand: 1, inFlight: 0 }])
  const times: number[] = []

  for (let process = 0; process < 14; process += 1)
    times.push(Date.now() + (await rows.reserve('north', 1, 10_000, 0))!)

  const gaps = times.slice(1).map((at, index) => Math.round((at - times[index]!) / 1000))
  expect(gaps).toEqual(Array.from({ length: 13 }, () => 10))
})

test('a database clock that was set back by hours delays nothing', async () => {
  await using database = await createTestDatabase()
  const rows = new BudgetRows(database.pool)
  await rows.exchange([{ keyName: 'north', demand: 1, inFlight: 0 }])
  await database.pool.query(`update ops.rate_budget set next_at = now() + interval '3 hours'`)

  expect((await rows.reserve('north', 1, 100, 0))!).toBeLessThan(1_000)
})

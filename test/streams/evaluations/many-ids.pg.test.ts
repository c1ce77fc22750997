import { expect, test } from 'vitest'
import { openDb } from '#src/db/transaction.ts'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { sydneyRooftop } from '../../support/golden-evaluation.ts'
import { createTestDatabase } from '../../support/postgres.ts'

test('a list may hold more evaluations than a statement can have parameters', async () => {
  await using database = await createTestDatabase()
  const db = openDb(database.pool)
  const ids = Array.from({ length: 70_000 }, (_, index) => index + 1)

  expect(await evaluations.storedRecords(db, sydneyRooftop, ids)).toEqual([])
  await evaluations.markGone(db, sydneyRooftop, ids, new Date('2026-03-01T00:00:00Z'))
})

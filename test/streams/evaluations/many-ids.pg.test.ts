import { expect, test } from 'vitest'
import { evaluationRecords } from '#src/streams/evaluations/evaluation-records.ts'
import { markGone, storedRecords } from '#src/sync/records/stored-records.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import { sydneyRooftop } from '../../support/golden-evaluation.ts'
import { createTestDatabase } from '../../support/postgres.ts'

test('a list may hold more evaluations than a statement can have parameters', async () => {
  await using database = await createTestDatabase()
  const db = openDb(database.pool)
  const ids = Array.from({ length: 70_000 }, (_, index) => index + 1)

  expect(await storedRecords(db, evaluationRecords, sydneyRooftop, ids)).toEqual([])
  await markGone(db, evaluationRecords, sydneyRooftop, ids, new Date('2026-03-01T00:00:00Z'))
})

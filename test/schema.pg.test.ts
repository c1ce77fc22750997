import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { createTestDatabase } from './support/postgres.ts'
import { dumpSchema } from './support/schema-dump.ts'

test('test/schema.sql is what the migrations make (else: npm run schema)', async () => {
  await using database = await createTestDatabase()

  const actual = await dumpSchema(database.pool)

  const committed = await readFile(new URL('schema.sql', import.meta.url), 'utf8').catch(() => '')
  expect(actual, 'test/schema.sql is stale: run `npm run schema` and commit it').toBe(committed)
})

import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { generateTables } from './support/generate-tables.ts'
import { createTestDatabase } from './support/postgres.ts'

test('src/warehouse/db/tables.ts is what the migrations make (else: npm run schema)', async () => {
  await using database = await createTestDatabase()

  const actual = await generateTables(database.pool)

  const path = new URL('../src/warehouse/db/tables.ts', import.meta.url)
  const committed = await readFile(path, 'utf8').catch(() => '')
  expect(actual, 'src/warehouse/db/tables.ts is stale: run `npm run schema` and commit it').toBe(
    committed,
  )
})

import { cp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate } from '#src/warehouse/db/migrate.ts'
import { migrationsFolder, readMigrations } from '#src/warehouse/db/migration-files.ts'
import {
  allCounted,
  allStored,
  differences,
  sampleEvaluation,
  sampleLine,
  writeFacts,
} from '../../support/aggregates-fixture.ts'
import { emptyTestDatabase } from '../../support/postgres.ts'
import { dumpSchema } from '../../support/schema-dump.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The files of the first release with their checksums, as a warehouse of that release has them in its ledger. */
const baseline: readonly string[] = (
  await readFile(new URL('baseline.txt', import.meta.url), 'utf8')
)
  .trim()
  .split('\n')

test('the migrations of the baseline are not edited: a change is a new file', async () => {
  const files = await readMigrations(migrationsFolder())

  const first = files.slice(0, baseline.length)
  expect(first.map(({ file, checksum }) => `${file} ${checksum}`)).toEqual(baseline)
})

test('a warehouse of the baseline takes the later migrations, and its rows and sums stay', async () => {
  await using database = await emptyTestDatabase()
  await using folder = await temporaryFolder()
  await cp(migrationsFolder(), folder.path, { recursive: true })
  const names = new Set(baseline.map((line) => line.split(' ')[0]))
  for (const name of await readdir(folder.path))
    if (!names.has(name)) await rm(join(folder.path, name))
  await migrate(database.pool, folder.path)
  await writeFacts(
    database,
    [sampleEvaluation, { ...sampleEvaluation, id: 2, user: null }],
    [sampleLine],
  )
  // Today's loads leave the vehicles to triggers, which a later migration makes.
  await database.pool.query('select core.repeat_rebuild(1)')
  const before = await allStored(database.pool)

  await migrate(database.pool)

  expect(await allStored(database.pool)).toEqual(before)
  expect(await allCounted(database.pool)).toEqual(before)
  expect(await differences(database.pool)).toEqual([])
  const committed = await readFile(new URL('../../schema.sql', import.meta.url), 'utf8')
  expect(await dumpSchema(database.pool)).toBe(committed)
})

import { cp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate } from '#src/warehouse/db/migrate.ts'
import { migrationsFolder, readMigrations } from '#src/warehouse/db/migration-files.ts'
import { changeFacts } from '../../support/aggregates-apply.ts'
import {
  allCounted,
  allStored,
  differences,
  inSession,
  sampleEvaluation,
  sampleLine,
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
  // One line has no cost, which counted as 0 until a later migration.
  const lines = [
    ...[sampleLine, { ...sampleLine, id: 2 }],
    { ...sampleLine, id: 2, line: 2, cost: null },
  ]
  await inSession(database.pool, async (client) => {
    await changeFacts(client, { does: 'lines', lines })
    for (const evaluation of [sampleEvaluation, { ...sampleEvaluation, id: 2, user: null }])
      await changeFacts(client, { does: 'insert', evaluation, lines: [] })
  })
  // Today's loads write columns of later migrations, and leave the vehicles to their triggers.
  await database.pool.query('select core.agg_rebuild(1), core.repeat_rebuild(1)')
  const counted = await allCounted(database.pool)

  await migrate(database.pool)

  expect(await allStored(database.pool)).toEqual(counted)
  expect(await allCounted(database.pool)).toEqual(counted)
  expect(await differences(database.pool)).toEqual([])
  const committed = await readFile(new URL('../../schema.sql', import.meta.url), 'utf8')
  expect(await dumpSchema(database.pool)).toBe(committed)
})

import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readMarts } from '#src/warehouse/db/mart-files.ts'
import { readCatalogue } from '../../support/marts-catalogue.ts'
import {
  columnProblems,
  existingColumns,
  majorOf,
  missingVersions,
  parseSnapshot,
  type Snapshot,
  snapshotOf,
  snapshotText,
} from '../../support/marts-columns.ts'
import { dictionaryPage } from '../../support/marts-dictionary.ts'
import { createTestDatabase } from '../../support/postgres.ts'

/** Columns of earlier major versions that must stay available. */
async function promised(): Promise<ReadonlyMap<number, Snapshot>> {
  const names = await readdir(new URL('.', import.meta.url))
  const earlier = names.filter((name) => /^columns_v\d+\.txt$/.test(name))
  const snapshots = await Promise.all(
    earlier.map(async (name) => parseSnapshot(await fileText(name))),
  )
  return new Map(snapshots.map((snapshot) => [majorOf(snapshot), snapshot]))
}

const fileText = (path: string) => readFile(new URL(path, import.meta.url), 'utf8').catch(() => '')

test('the columns that dashboards rely on are those of columns.txt (else: npm run marts)', async () => {
  await using database = await createTestDatabase()
  const { version } = await readMarts()
  const today = snapshotOf(version, await readCatalogue(database.pool, ['mart', 'mart_pii']))
  const text = await fileText('columns.txt')
  const existing = await existingColumns(database.pool)

  const problems = [
    ...columnProblems(parseSnapshot(text), today, existing),
    ...missingVersions(await promised(), existing),
  ]

  expect(problems.join('\n')).toBe('')
  expect(
    snapshotText(today),
    'test/warehouse/marts/columns.txt is stale: run `npm run marts`',
  ).toBe(text)
})

test('sql/marts/DICTIONARY.md says what the comments say (else: npm run marts)', async () => {
  await using database = await createTestDatabase()
  const { version } = await readMarts()

  const page = dictionaryPage(version, await readCatalogue(database.pool, ['mart', 'mart_pii']))

  const committed = await fileText('../../../sql/marts/DICTIONARY.md')
  expect(page, 'sql/marts/DICTIONARY.md is stale: run `npm run marts`').toBe(committed)
})

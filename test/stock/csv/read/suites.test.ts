import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect } from 'vitest'
import { problemsOf, type ReadFile, readAll } from './read-all.ts'
import { sharedPath, testOfShared } from './shared.ts'

const spectrum = 'suites/csv-spectrum'
const testData = 'suites/csv-test-data'

function namesIn(folder: string, filter = /\.csv$/): string[] {
  const files = readdirSync(sharedPath(folder)).filter((file) => filter.test(file))
  return files.map((file) => basename(file, '.csv'))
}

function objectsOf({ file, records }: ReadFile) {
  const names = file.header?.names ?? []
  return records.map(({ cells }) =>
    Object.fromEntries(names.map((name, column) => [name, cells[column]])),
  )
}

testOfShared(spectrum, 'csv-spectrum: 12 of 12 files come out as expected', async () => {
  const names = namesIn(`${spectrum}/csvs`)

  for (const name of names) {
    const outcome = await readAll({ path: sharedPath(`${spectrum}/csvs/${name}.csv`) })
    const expected = JSON.parse(readFileSync(sharedPath(`${spectrum}/json/${name}.json`), 'utf8'))

    // One expectation is an object, unlike the others, and its phone number differs from the file.
    const rows = [expected].flat()
    if (name === 'location_coordinates') rows[0]['Contact Phone Number'] = '2095257564'
    expect(objectsOf(outcome), name).toEqual(rows)
  }
  expect(names).toHaveLength(12)
})

testOfShared(testData, 'csv-test-data: 18 of 18 files come out as expected', async () => {
  const names = namesIn(`${testData}/csv`, /^(?!bad-).*\.csv$/)

  for (const name of names) {
    const outcome = await readAll({ path: sharedPath(`${testData}/csv/${name}.csv`) })
    const expected = JSON.parse(readFileSync(sharedPath(`${testData}/json/${name}.json`), 'utf8'))

    // Files whose name does not begin with header- are expected as rows, including the header.
    const { header } = outcome.file
    const rows = [...(header ? [header.names] : []), ...outcome.records.map(({ cells }) => cells)]
    expect(name.startsWith('header-') ? objectsOf(outcome) : rows, name).toEqual(expected)
  }
  expect(names).toHaveLength(18)
})

testOfShared(testData, 'csv-test-data: the 7 bad files are reported and do not crash', async () => {
  const found: Record<string, string[]> = {}

  for (const name of namesIn(`${testData}/csv`, /^bad-/)) {
    const path = sharedPath(`${testData}/csv/${name}.csv`)
    const outcome = await readAll({ path }).catch((error) => error)
    found[name] = outcome instanceof Error ? [outcome.message] : problemsOf(outcome)
  }

  expect(found).toEqual({
    'bad-header-less-fields': ['2 missing-cell'],
    'bad-header-more-fields': ['2 extra-cell'],
    'bad-header-no-header': ['the file is empty (0 bytes): export the stock list again'],
    // Well-formed: the mapping, not the reader, must notice the wrong names.
    'bad-header-wrong-header': [],
    'bad-missing-quote': ['2 truncated-value'],
    'bad-quotes-with-unescaped-quote': ['2 stray-quote, repaired'],
    'bad-unescaped-quote': ['2 stray-quote, repaired'],
  })
})

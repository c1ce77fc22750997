import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { someOf } from '../support/cases.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'

const list = listOf(vehicles(40))
const row35 = list.indexOf('S0035')

test('a list that was cut within a row is refused, and no vehicle after the cut is removed', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(list)
  const before = await fixture.content()
  // Each place within the row up to its last cell: a stock number, a VIN, a make, ...
  for (const length of someOf([1, 22, 45, 3, 5, 6, 12, 24, 30, 40, 50], 3)) {
    const cut = list.slice(0, row35 + length)

    const refused = fixture.import(cut)

    await expect(refused, cut.slice(row35)).rejects.toThrow(UsageError)
    await expect(refused, cut.slice(row35)).rejects.toThrow(
      /ends within the row at line 36.*it was cut.*Nothing was imported.*--mode delta/,
    )
  }
  expect(await fixture.content()).toEqual(before)
})

test('a list that was cut within a quoted cell is refused', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(list)
  const quoted = list.replaceAll('Corolla', '"Corolla, ""LE"""').replaceAll('Red', '"Red\nor so"')
  for (const end of ['"Cor', '"Corolla, ', '"Corolla, "', '"Red\nor', '"Red']) {
    const cut = quoted.slice(0, quoted.indexOf(end, quoted.indexOf('S0035')) + end.length)

    await expect(fixture.import(cut), end).rejects.toThrow(/it was cut[\s\S]*Nothing was imported/)
  }
})

test('as a delta its complete rows are imported, and the cut row is rejected', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(list)

  const cut = list.slice(0, row35 + 45).replaceAll(/2000(\d)/g, '1000$1')
  const report = await fixture.import(cut, { mode: 'delta' })

  expect(report).toMatchObject({ accepted: 34, rejected: 1, removed: 0 })
  expect(report.issues[0]).toMatchObject({ code: 'missing-cell', severity: 'error', line: 36 })
  expect(report.warnings).toMatchObject([{ code: 'TRUNCATED_FILE', line: 36 }])
})

test.for(
  someOf(
    [
      ['whole, without a last line end', list.trimEnd(), 40],
      ['with blanks at its end', `${list}   `, 40],
      ['with the mark of an old end of file', `${list}\u001a`, 40],
      ['with a footer without a line end', `${list}End of report`, 40],
      ['with a total without a line end', `${list}Total,,`, 40],
      ['with a line of dashes at its end', `${list}-----`, 40],
      [
        'whose last empty cells are left out everywhere',
        list.replaceAll(/,\d+,Red/g, '').trimEnd(),
        40,
      ],
    ],
    3,
  ),
)('a list %s was not cut', async ([, content, accepted]) => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(content as string)

  expect(report).toMatchObject({ accepted, rejected: 0 })
  expect(report.warnings.map(({ code }) => code)).not.toContain('TRUNCATED_FILE')
})

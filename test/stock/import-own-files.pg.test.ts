import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ExportSubject } from '#src/stock/export/export.ts'
import { runExport } from '#src/stock/export/export.ts'
import { someOf } from '../support/cases.ts'
import {
  aVehicle,
  type ImportFixture,
  listOf,
  openImportFixture,
  vehicles,
} from './import-fixture.ts'

const own = 'select ctid, xmin, * from core.stock_unit order by stock_no'

/** A list of nine rows; the last one is damaged. */
function damaged(row: string): string {
  return `${listOf(vehicles(8))}${row}\r\n`
}

const rows = {
  'a quote that is not closed': `S0009,${aVehicle(9).vin},"Toyota`,
  'cells too few': `S0009,${aVehicle(9).vin},Toyota`,
  'cells too many': `S0009,${aVehicle(9).vin},Toyota,Corolla,Hatch,2019,45063,20009,Red`,
}

test.for(someOf(Object.entries(rows), 1))(
  'a row with %s that is not corrected in the rejects file stays rejected',
  { tags: 'ci' },
  async ([, row]) => {
    await using fixture = await openImportFixture()
    const rejects = join(fixture.folder, 'rejects.csv')
    await fixture.import(listOf(vehicles(9)))
    const mode = row.includes('"') ? 'delta' : 'snapshot'
    const first = await fixture.import(damaged(row), { rejects, mode })
    const before = await fixture.rows(own)

    const report = await fixture
      .importFile(rejects, { mode: 'delta' })
      .catch((error: unknown) => error)

    expect(first).toMatchObject({ rejected: 1, removed: 0 })
    expect(String(report)).toMatch(/none of its 1 rows is valid[\s\S]*complete .*"_errors"/)
    expect(await fixture.rows(own)).toEqual(before)
  },
)

test('the code of a problem is read from its column, never from the text of the errors', async () => {
  await using fixture = await openImportFixture()
  const rejects = join(fixture.folder, 'rejects.csv')
  const unreadable = aVehicle(8, { price: '1x2' })
  const list = listOf([...vehicles(7), unreadable])
  await fixture.import(`${list}${rows['cells too few']}\r\n`, { rejects })
  const text = await readFile(rejects, 'utf8')
  const [head, first, second] = text.split('\r\n')

  const corrected = first!.replace('1x2', '20008').replace(/"?Price: .*/, 'was: (missing-cell)')
  const reworded = second!.replace(/"?\d cells .*/, 'la fila tiene pocas celdas')
  const report = await fixture.import([head, corrected, reworded, ''].join('\r\n'), {
    mode: 'delta',
  })

  expect(second).toContain(',missing-cell:3,')
  expect(reworded).toMatch(/missing-cell:3,la fila/)
  expect(report).toMatchObject({ accepted: 1, rejected: 1 })
  expect(report.issues[0]).toMatchObject({ code: 'missing-cell', line: 3 })
})

test('a re-imported upload with prices keeps its damaged rows rejected', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(9)))
  const { importId } = await fixture.import(damaged(rows['cells too few']))
  const before = await fixture.rows(own)

  const report = await fixture.import(
    await exported(fixture, { is: 'original', importId: importId! }),
  )

  expect(report).toMatchObject({ accepted: 8, unchanged: 8, rejected: 1, removed: 0 })
  expect(report.issues[0]).toMatchObject({ code: 'missing-cell', column: null })
  expect(report.issues[0]!.hint).toMatch(/complete its cells.* "message"/)
  expect(await fixture.rows(own)).toEqual(before)
})

test('a row is accepted once its cells are completed or its error is emptied in the rejects file', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const rejects = join(fixture.folder, 'rejects.csv')
  const many = rows['cells too many']
  await fixture.import(`${listOf(vehicles(7))}S0008,${aVehicle(8).vin}\r\n${many}\r\n`, { rejects })
  const text = await readFile(rejects, 'utf8')

  const corrected = text
    .replace(/(S0008,\w+),,,,,,,/, '$1,Toyota,Corolla,2019,45056,20008,Red,')
    .replace('Corolla,Hatch,2019,45063,20009,', 'Corolla,2019,45063,20009,Red,')
    .replace(/(Red,\d+,\d+,extra-cell:9,).*/, '$1')
  const report = await fixture.import(corrected, { mode: 'delta' })

  expect(text).toMatch(/when its cells are right, empty this cell/)
  expect(report).toMatchObject({ accepted: 2, rejected: 0, added: 2 })
  expect(
    await fixture.rows(
      "select asking_price from core.stock_unit where stock_no > 'S0007' order by 1",
    ),
  ).toEqual([{ asking_price: '20008.000' }, { asking_price: '20009.000' }])
})

test('a row that is rejected twice keeps its number of cells, and is accepted once it is completed', async () => {
  await using fixture = await openImportFixture()
  const [once, twice] = ['once.csv', 'twice.csv'].map((name) => join(fixture.folder, name))
  await fixture.import(damaged(rows['cells too few']), { rejects: once! })
  const another = `S0010,${aVehicle(10).vin},Toyota,Corolla,2019,45070,20010,Red,,,,\r\n`
  await fixture.import((await readFile(once!, 'utf8')) + another, {
    mode: 'delta',
    rejects: twice!,
  })
  const text = await readFile(twice!, 'utf8')

  const completed = text.replace(',Toyota,,,,,,', ',Toyota,Corolla,2019,45063,20009,Red,')
  const report = await fixture.import(completed, { mode: 'delta' })

  expect(text).toContain(',missing-cell:3,')
  expect(report).toMatchObject({ accepted: 1, rejected: 0, added: 1 })
})

/** A rejects file as earlier versions wrote it. */
function withoutProblemColumn(text: string): string {
  return text
    .replace('_import,_line,_problem,_errors', '_line,_errors')
    .replace(/,\d+(,\d+),[a-z-]*(:\d+)?,/g, '$1,')
}

test('a rejects file of an earlier version, with the code in the text alone, is read like a new one', async () => {
  await using fixture = await openImportFixture()
  const rejects = join(fixture.folder, 'rejects.csv')
  const list = listOf([...vehicles(7), aVehicle(8, { price: '1x2' })])
  await fixture.import(`${list}${rows['cells too few']}\r\n`, { rejects })
  const earlier = withoutProblemColumn(await readFile(rejects, 'utf8')).replace('1x2', '20008')

  const report = await fixture.import(earlier, { mode: 'delta' })
  const completed = earlier.replace(',Toyota,,,,,,', ',Toyota,Corolla,2019,45063,20009,Red,')
  const after = await fixture.import(completed, { mode: 'delta' })

  expect(earlier).toMatch(/Colour,_line,_errors\r\n/)
  expect(report).toMatchObject({ accepted: 1, rejected: 1, added: 1 })
  expect(report.mapping.map(({ header }) => header)).not.toContain('_errors')
  expect(report.issues[0]).toMatchObject({ code: 'missing-cell', line: 3 })
  expect(report.issues[0]!.hint).toMatch(/rejected the row for 3 cells where .*"_errors"/)
  expect(after).toMatchObject({ accepted: 2, rejected: 0, added: 1, unchanged: 1 })
})

test('an upload with the prices of an earlier version has no prices of the dealer, and keeps its damaged rows rejected', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(9)))
  const { importId, mapping } = await fixture.import(damaged(rows['cells too few']))
  const bytes = await exported(fixture, { is: 'original', importId: importId! })
  const earlier = Buffer.from(bytes)
    .toString()
    .replace(',problem,status,', ',status,')
    .replace(',missing-cell:3,rejected,', ',rejected,')
    .replaceAll(/,,(not_priced|priced),/g, ',$1,')

  const report = await fixture.import(earlier)
  const again = await exported(fixture, { is: 'original', importId: report.importId! })

  expect(earlier).toMatch(/,eval_id,status,message\r\n/)
  expect(report).toMatchObject({ accepted: 8, unchanged: 8, rejected: 1, removed: 0 })
  expect(report.mapping.map(({ header }) => header)).toEqual(mapping.map(({ header }) => header))
  expect(report.issues[0]).toMatchObject({ code: 'missing-cell', column: null })
  const rowsOf = (text: Uint8Array) => Buffer.from(text).toString().split('\r\n').slice(0, 9)
  expect(rowsOf(again)).toEqual(rowsOf(bytes))
})

test('vehicles that a full export lists as missing or off stock are not restored by its import', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture(0)
  await fixture.import(listOf(vehicles(9)))
  await fixture.import(listOf(vehicles(8)))
  const before = await fixture.rows(own)

  const report = await fixture.import(await exported(fixture, { is: 'list', all: true }))

  expect(report).toMatchObject({ records: 9, accepted: 8, unchanged: 8, skipped: 1 })
  expect(report).toMatchObject({ reappeared: 0, issueCounts: { 'not-in-stock': 1 } })
  expect(await fixture.rows(own)).toEqual(before)
})

type Subject =
  | { readonly is: 'list'; readonly all: boolean }
  | { readonly is: 'original'; readonly importId: number }

/** An export of the first rooftop as bytes. */
async function exported(fixture: ImportFixture, subject: Subject): Promise<Uint8Array> {
  const to = join(fixture.folder, 'exported.csv')
  const rooftop = { id: 1, uid: 'north' }
  await runExport(fixture.pool, {
    subject: { ...subject, rooftop } as ExportSubject,
    ...{ format: 'csv', delimiter: null, bom: true, raw: false, to },
    signal: new AbortController().signal,
  })
  return await readFile(to)
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BusyError } from '#src/errors.ts'
import type { ExportSubject } from '#src/stock/export/export.ts'
import { runExport } from '#src/stock/export/export.ts'
import type { ListRefused } from '#src/stock/refusal.ts'
import {
  aVehicle,
  type ImportFixture,
  listOf,
  openImportFixture,
  vehicles,
} from './import-fixture.ts'

test('a style that only the end of a file proves applies to the whole file', async () => {
  await using fixture = await openImportFixture()
  const day = (index: number) =>
    index < 899 ? `0${(index % 9) + 1}/0${(index % 8) + 1}/2025` : '02/25/2025'
  const rows = Array.from({ length: 900 }, (_, index) => `N${index},Kia,Rio,${day(index)}`)

  const report = await fixture.import(
    ['Stock Number,Make,Model,Date In Stock', ...rows, ''].join('\n'),
  )

  expect(report).toMatchObject({ records: 900, accepted: 900, rejected: 0, issueCounts: {} })
  expect(
    await fixture.rows(
      "select acquired_on from core.stock_unit where stock_no in ('N1', 'N899') order by stock_no",
    ),
  ).toEqual([{ acquired_on: '2025-02-02' }, { acquired_on: '2025-02-25' }])
  expect(
    await fixture.rows("select acquired_on from core.stock_unit where stock_no = 'N10'"),
  ).toEqual([{ acquired_on: '2025-02-03' }])
  expect(await fixture.rows('select count(*)::int from core.stock_import_row')).toEqual([
    { count: 900 },
  ])
})

test('an Arabic list in windows-1256 is read correctly', async () => {
  await using fixture = await openImportFixture()
  const bytes = [0xe6, 0xc7, 0xcf, 0xe4]
  const list = Buffer.concat([
    Buffer.from('Stock Number;Make;Model;Price (AED);Colour\r\nG1;Toyota;Prado;"165,000";'),
    Buffer.from(bytes),
    Buffer.from('\r\nG2;Nissan;Patrol;"210,500";White\r\n'),
  ])

  const report = await fixture.import(list, { rooftop: 'gulf' })

  expect(report).toMatchObject({ encoding: 'windows-1256', delimiter: ';', accepted: 2 })
  expect(
    await fixture.rows(
      "select asking_price, currency_code, extras->>'colour_exterior' as colour from core.stock_unit order by stock_no",
    ),
  ).toEqual([
    { asking_price: '165000.000', currency_code: 'AED', colour: 'وادن' },
    { asking_price: '210500.000', currency_code: 'AED', colour: 'White' },
  ])
})

test('while one import of a rooftop runs, a second one is refused, and other rooftops continue', async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(3))
  await fixture.import(listOf(vehicles(4)))
  const client = await fixture.pool.connect()
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock(7306, rooftop_id) from core.rooftop')

  await expect(fixture.import(list)).rejects.toThrow(BusyError)
  const other = await fixture.import(list, { rooftop: 'south' })
  const dry = await fixture.import(list, { dryRun: true })
  await client.query('commit')
  client.release()
  const after = await fixture.import(list)

  expect([other.added, dry.removed, after.removed]).toEqual([3, 1, 1])
})

test('a stopped import changes nothing', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(3)))
  const before = await fixture.content()

  const stopped = fixture.import(listOf(vehicles(5)), {
    signal: AbortSignal.abort(new Error('stopped by SIGINT')),
  })

  await expect(stopped).rejects.toThrow('stopped by SIGINT')
  expect(await fixture.content()).toEqual(before)
})

test('importing an exported priced list changes nothing', async () => {
  await using fixture = await openImportFixture()
  const odd = [
    aVehicle(1, { price: 'POA' }),
    aVehicle(2, { km: '' }),
    aVehicle(3, { stockNo: '=1+1' }),
  ]
  await fixture.import(listOf([...vehicles(5, 10), ...odd]))
  const before = await fixture.rows('select ctid, xmin, * from core.stock_unit')

  const report = await fixture.import(await exported(fixture, { is: 'list', all: false }))

  expect(report).toMatchObject({ accepted: 8, unchanged: 8, updated: 0, added: 0, removed: 0 })
  expect(await fixture.rows('select ctid, xmin, * from core.stock_unit')).toEqual(before)
})

test('importing an upload that was exported with prices changes nothing', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const { importId } = await fixture.import(listOf(vehicles(5)))
  const before = await fixture.rows('select ctid, xmin, * from core.stock_unit')

  const report = await fixture.import(
    await exported(fixture, { is: 'original', importId: importId! }),
  )

  expect(report).toMatchObject({ accepted: 5, unchanged: 5, updated: 0, rejected: 0 })
  expect(await fixture.rows('select ctid, xmin, * from core.stock_unit')).toEqual(before)
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

test('an odometer above 1,000,000 km is asked about, until the column is confirmed or the vehicle is known with it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const [first, ...others] = vehicles(600)
  const list = (km: string, price = '20001') => listOf([...others, { ...first!, km, price }])
  const refusalOf = async (content: string) =>
    await fixture.import(content, { dryRun: true }).then(
      () => null,
      (error: ListRefused) => error,
    )

  const refused = await refusalOf(list('1669380'))
  const confirmed = await fixture.import(list('1669380'), { maps: ['odometer=Odometer (km)'] })
  const again = await fixture.import(list('1669390', '19000'))
  const typingError = await refusalOf(
    listOf([{ ...others[0]!, km: '1450000' }, ...others.slice(1)]),
  )

  expect(await refusalOf(list('1000000'))).toBeNull()
  expect(refused?.check).toMatchObject({
    refusals: [{ is: 'columns' }],
    mapping: { status: 'unsure' },
  })
  expect(refused?.message).toContain(
    '1 vehicle has an odometer above 1,000,000 km (S0001: 1669380 km)',
  )
  expect(refused?.message).toContain("--map 'odometer=Odometer (km)'")
  expect(confirmed).toMatchObject({ added: 600, issueCounts: { ODOMETER_DOUBTED: 1 } })
  expect(again).toMatchObject({ updated: 1, unchanged: 599 })
  expect(typingError?.message).toContain('S0002: 1450000 km')
})

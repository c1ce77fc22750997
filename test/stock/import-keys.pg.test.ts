import { expect, test } from 'vitest'
import { aVehicle, listOf, now, openImportFixture, vehicles, vinOf } from './import-fixture.ts'

const later = (days: number) => new Date(now.getTime() + days * 86_400_000)

test('a reused stock number is one unit removed and one added, with the old values', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(10)), { now })
  const other = aVehicle(3, { vin: vinOf(9999) })

  const report = await fixture.import(listOf([...vehicles(2), other, ...vehicles(7, 4)]), {
    now: later(1),
  })

  expect(report).toMatchObject({ accepted: 10, added: 1, unchanged: 9, removed: 1, updated: 0 })
  expect(report.changes).toEqual([
    {
      stockNo: 'S0003',
      change: 'added',
      changes: { vin: [vinOf(3), vinOf(9999)] },
    },
  ])
  expect(
    await fixture.rows("select vin, first_seen_at from core.stock_unit where stock_no = 'S0003'"),
  ).toEqual([{ vin: vinOf(9999), first_seen_at: later(1) }])
})

test('a rejected row leaves its vehicle in stock unchanged', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(10)))
  const before = await fixture.rows("select * from core.stock_unit where stock_no = 'S0005'")

  const report = await fixture.import(
    listOf([...vehicles(4), aVehicle(5, { price: '12x34' }), ...vehicles(5, 6)]),
  )

  expect(report).toMatchObject({ accepted: 9, rejected: 1, unchanged: 9, removed: 0 })
  expect(await fixture.rows("select * from core.stock_unit where stock_no = 'S0005'")).toEqual(
    before,
  )
})

test('equal rows are imported once, contradicting rows are rejected', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(6)))
  const list = [...vehicles(6), aVehicle(2), aVehicle(2), aVehicle(4, { price: '1' })]

  const report = await fixture.import(listOf(list))

  expect(report).toMatchObject({ records: 9, accepted: 5, collapsed: 2, rejected: 2 })
  expect(report).toMatchObject({ unchanged: 5, removed: 0, updated: 0 })
  expect(report.issueCounts).toEqual({ 'primary-key': 2 })
  expect(report.issues.map(({ line, text }) => [line, text])).toEqual([
    [5, 'S0004'],
    [10, 'S0004'],
  ])
  expect(report.issues[0]!.hint).toContain('lines 5, 10')
  const statuses = await fixture.rows(
    "select line_no, status, jsonb_array_length(issues) as issues from core.stock_import_row where import_id = 2 and status <> 'accepted' order by 1",
  )
  expect(statuses).toEqual([
    { line_no: 5, status: 'rejected', issues: 1 },
    { line_no: 8, status: 'collapsed', issues: 0 },
    { line_no: 9, status: 'collapsed', issues: 0 },
    { line_no: 10, status: 'rejected', issues: 1 },
  ])
})

test('new vehicles whose rows contradict each other are not added', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(listOf([...vehicles(3), aVehicle(2, { km: '9' })]), {
    maps: ['stock_number=Stock Number'],
  })

  expect(report).toMatchObject({ records: 4, accepted: 2, rejected: 2, added: 2, unchanged: 0 })
  const expected = [{ stock_no: 'S0001' }, { stock_no: 'S0003' }]
  expect(await fixture.rows('select stock_no from core.stock_unit order by 1')).toEqual(expected)
  expect(await fixture.rows('select stock_no from core.stock_unit_change order by 1')).toEqual(
    expected,
  )
})

test('a VIN with two stock numbers is imported, with a warning on both rows', async () => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(listOf([aVehicle(1), aVehicle(2, { vin: aVehicle(1).vin })]))

  expect(report).toMatchObject({ accepted: 2, added: 2, issueCounts: { DUPLICATE_VIN: 2 } })
  expect(
    await fixture.rows("select issues->0->>'code' as code from core.stock_import_row"),
  ).toEqual([{ code: 'DUPLICATE_VIN' }, { code: 'DUPLICATE_VIN' }])
})

test('a repeated stock number is treated the same far apart and close together', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const note = 'a long story '.repeat(80)
  const lines = listOf([...vehicles(3000), aVehicle(2), aVehicle(4, { price: '1' })])
    .trimEnd()
    .split('\r\n')
    .map((line, index) => `${line},${index === 0 ? 'Comments' : note}`)

  const report = await fixture.import(lines.join('\r\n'))

  const again = await fixture.import(`${lines.slice(0, -2).join('\r\n')}\r\n`)
  expect(report).toMatchObject({ records: 3002, accepted: 2999, collapsed: 1, rejected: 2 })
  expect(report).toMatchObject({ added: 2999, updated: 0, removed: 0 })
  expect(again).toMatchObject({ accepted: 3000, added: 1, unchanged: 2999 })
  expect(again.changes).toEqual([{ stockNo: 'S0004', change: 'added', changes: {} }])
})

test('the report shows its maximum of added vehicles, also if some contradict each other', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()

  const report = await fixture.import(listOf([...vehicles(1500), aVehicle(2, { price: '1' })]))

  expect(report).toMatchObject({ added: 1499, rejected: 2 })
  expect(report.changes).toHaveLength(1000)
  expect(report.changes.slice(0, 2).map(({ stockNo }) => stockNo)).toEqual(['S0001', 'S0003'])
})

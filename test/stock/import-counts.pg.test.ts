import { expect, test } from 'vitest'
import { someOf } from '../support/cases.ts'
import { aVehicle, listOf, openImportFixture, vehicles } from './import-fixture.ts'

/** A list that adds S0010, updates S0003, no longer names S0001, and has a rejected and a skipped row. */
const changed = vehicles(9, 2).map((vehicle) =>
  vehicle.stockNo === 'S0003' ? { ...vehicle, price: '19500' } : vehicle,
)
const list = `${listOf([...changed, aVehicle(11, { price: '1x2' })])}Total,,,,,,180000,\r\n`

/** Writes that a trigger makes ineffective, by what is lost. */
const faults = {
  'a row': ['insert on core.stock_import_row', 'new.line_no = 5'],
  'a rejected row': ['insert on core.stock_import_row', "new.status = 'rejected'"],
  'a new unit': ['insert on core.stock_unit', "new.stock_no = 'S0010'"],
  'the update of a unit': ['update on core.stock_unit', "new.stock_no = 'S0003'"],
  'the removal of a unit': ['update on core.stock_unit', "new.stock_no = 'S0001'"],
  'the change of a unit': ['insert on core.stock_unit_change', "new.stock_no = 'S0003'"],
} as const

test.for(someOf(Object.entries(faults), 2))(
  'an import that loses %s fails, and changes nothing',
  async ([, [write, condition]]) => {
    await using fixture = await openImportFixture()
    await fixture.import(listOf(vehicles(9)))
    const before = await fixture.content()
    await fixture.pool.query(`
    create function lose() returns trigger language plpgsql as 'begin return null; end';
    create trigger lose before ${write} for each row when (${condition}) execute function lose()`)

    await expect(fixture.import(list)).rejects.toThrow(
      /^The import lost data .*: nothing was imported/,
    )

    expect(await fixture.content()).toEqual(before)
  },
)

test('every count is the number of rows with that outcome', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(9)))

  const { importId: none, status, ...planned } = await fixture.import(list, { dryRun: true })
  const { importId, ...report } = await fixture.import(list)

  expect(report).toMatchObject({ records: 11, accepted: 9, rejected: 1, collapsed: 0, skipped: 1 })
  expect(report).toMatchObject({ added: 1, updated: 1, unchanged: 7, reappeared: 0, removed: 1 })
  expect({ ...report, file: '' }).toEqual({ ...planned, file: '', status: 'imported' })
  expect([importId === none, status]).toEqual([false, 'dry-run'])
})

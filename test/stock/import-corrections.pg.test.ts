import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { confirmingCommand, type ListRefused } from '#src/stock/refusal.ts'
import {
  aVehicle,
  type ImportFixture,
  listOf,
  openImportFixture,
  type Vehicle,
  vehicles,
  vinOf,
} from './import-fixture.ts'

const sold = aVehicle(7, { price: '1x2', km: '45000' })
const friday = (changes: Partial<Vehicle> = {}) =>
  listOf([...vehicles(6), aVehicle(7, { price: '25000', km: '46000', ...changes })])

/** Imports Thursday's list, in which the price of S0007 cannot be read, and gives its rejects file, corrected. */
async function correctedThursday(fixture: ImportFixture, dryRun = false): Promise<string> {
  const rejects = join(fixture.folder, `rejects-${dryRun}.csv`)
  await fixture.import(listOf([...vehicles(6), sold]), { rejects, dryRun })
  return (await readFile(rejects, 'utf8')).replace('1x2', '20000').replace(/"?Price: [^\r]*/, '')
}

const carOf = async ({ rows }: ImportFixture) =>
  (
    await rows(
      `select asking_price::int as price, odometer_km as km from core.stock_unit where stock_no = 'S0007'`,
    )
  )[0]

const asDelta = { mode: 'delta' } as const
const asIs = (text: string) => text

test.for<readonly [string, (text: string) => string]>([
  ['as it was written', asIs],
  ['with semicolons', (text) => text.replaceAll(',', ';')],
  ['with decimals in its numbers', (text) => text.replace(/,(\d+),(\d+),,\r/, ',$1.00,$2.00,,\r')],
  ['with a blank in the name of its column', (text) => text.replace('_import', ' _import ')],
])('a corrected rejects file is compared with later lists, %s', async ([, saved]) => {
  await using fixture = await openImportFixture()
  const corrected = saved(await correctedThursday(fixture))
  await fixture.write('friday.csv', friday())
  await fixture.importFile(join(fixture.folder, 'friday.csv'))
  const file = await fixture.write('saved under another name.csv', corrected)

  const refused = await fixture.importFile(file, asDelta).catch((error: unknown) => error)
  const afterRefusal = await carOf(fixture)
  const allowed = await fixture.importFile(file, { ...asDelta, allowOlderValues: true })

  expect(String(refused)).toMatch(
    /would change 1 car .*S0007 is in friday\.csv \(import 2\) \(.*asking_price 25000(\.00)? → 20000(\.00)?.*--allow-older-values/,
  )
  const request = { file, rooftop: fixture.config.rooftops[0]!, ...asDelta } as never
  expect(confirmingCommand((refused as ListRefused).check, request)).toMatch(
    /--mode delta --allow-older-values$/,
  )
  expect(afterRefusal).toEqual({ price: 25000, km: 46000 })
  expect(allowed).toMatchObject({ updated: 1 })
  expect(await carOf(fixture)).toEqual({ price: 20000, km: 45000 })
})

test('a rejects file of a dry run is compared with every list since then', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const corrected = await correctedThursday(fixture, true)
  await fixture.import(friday())

  await expect(fixture.import(corrected, asDelta)).rejects.toThrow(/S0007 is in list-2\.csv/)
})

test('it is imported where no later list is about its cars, and corrected again in the same file', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const corrected = await correctedThursday(fixture)
  await fixture.import(listOf([aVehicle(9)]), asDelta)
  const wrong = corrected.replace('20000', '2x0')

  const again = await fixture
    .import(
      wrong +
        wrong
          .split('\r\n')[1]!
          .replaceAll('S0007', 'S0008')
          .replace('2x0', '5')
          .replace(sold.vin, vinOf(8)),
      {
        ...asDelta,
      },
    )
    .catch((error: unknown) => error)
  const done = await fixture.import(corrected, asDelta)

  expect(again).toMatchObject({ rejected: 1 })
  expect(done).toMatchObject({ added: 1, rejected: 0 })
})

test('rows of two imports in one file are compared with the lists after the earlier one', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const thursday = await correctedThursday(fixture)
  await fixture.import(friday())
  const [head, row] = thursday.split('\r\n')
  const later = row!.replace(/,1,8,/, ',9,8,').replaceAll('S0007', 'S0010').replace(sold.vin, '')
  expect(later).toContain(',9,8,')

  await expect(fixture.import([head, later, row, ''].join('\r\n'), asDelta)).rejects.toThrow(
    /newer lists: S0007/,
  )
})

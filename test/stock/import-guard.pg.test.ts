import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { UsageError } from '#src/errors.ts'
import { someOf } from '../support/cases.ts'
import { aVehicle, listOf, openImportFixture, vehicles, vinOf } from './import-fixture.ts'

const header = 'Stock Number,VIN,Make,Model,Year,Odometer (km),Price,Colour\r\n'

test.for(
  someOf(
    [
      [
        'six of twenty',
        listOf(vehicles(14)),
        /would remove 6 of the 20 vehicles in stock at NORTH \(6 are not in it\): S0015, S0016, .*--allow-mass-removal/,
      ],
      [
        'the list of another rooftop',
        listOf(vehicles(20, 500)),
        /would remove 20 of the 20 .*another rooftop/,
      ],
      [
        'other vehicles under the same stock numbers',
        listOf(vehicles(20).map((unit, index) => ({ ...unit, vin: vinOf(700 + index) }))),
        /20 stock numbers now have another VIN/,
      ],
      [
        'a header only',
        header,
        /has no vehicle, so all 20 in stock would leave\. Nothing was imported/,
      ],
      [
        'rows that are all rejected',
        listOf(vehicles(20).map((unit) => ({ ...unit, price: '1x2' }))),
        /none of its 20 rows is valid[\s\S]*line 2, Price "1x2": this is not an amount/,
      ],
    ] as const,
    2,
  ),
)('%s: refused by the guard, nothing changed', async ([, list, message]) => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(20)))
  const before = await fixture.content()

  const refused = fixture.import(list)

  await expect(refused).rejects.toThrow(UsageError)
  await expect(refused).rejects.toThrow(message)
  expect(await fixture.content()).toEqual(before)
})

test('removing half of a small stock is refused too, but not five of twenty', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(20)))
  await fixture.import(listOf(vehicles(4)), { rooftop: 'south' })

  const large = await fixture.import(listOf(vehicles(15)))
  const half = await fixture.import(listOf(vehicles(2)), { rooftop: 'south' })

  expect([large.removed, half.removed]).toEqual([5, 2])
  await expect(fixture.import(listOf(vehicles(2, 90)), { rooftop: 'south' })).rejects.toThrow(
    /would remove 2 of the 2/,
  )
})

test('with --allow-mass-removal the list is imported, even an empty one', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(20)))

  const few = await fixture.import(listOf(vehicles(2)), { allowMassRemoval: true })
  const none = await fixture.import(header, { allowMassRemoval: true })

  expect([few.removed, none.removed, none.records]).toEqual([18, 2, 0])
})

test('an unsure mapping is refused with the arguments to type, which then confirm it', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const list = 'Code,Make,Model\nA17,Toyota,Corolla\nB18,Mazda,3\nC19,Kia,Rio\n'

  const refused = fixture.import(list)
  await expect(refused).rejects.toThrow(UsageError)
  await expect(refused).rejects.toThrow(/nothing was imported[\s\S]*No column holds a stock number/)
  const confirmed = await fixture.import(list, { maps: ['stock_number=Code'] })
  const next = await fixture.import(list.replace('Rio', 'Ceed'))

  expect(confirmed).toMatchObject({ status: 'imported', added: 3 })
  expect(next).toMatchObject({ updated: 1, unchanged: 2 })
  expect(next.mapping[0]).toMatchObject({ field: 'stock_number', source: 'remembered' })
  expect(await fixture.rows('select fingerprint from ops.stock_mapping')).toHaveLength(1)
})

test('a mapping confirmed for one rooftop does not apply to another', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const list = 'Code,Make,Model\nA17,Toyota,Corolla\nB18,Mazda,3\n'
  await fixture.import(list, { maps: ['stock_number=Code'] })

  await expect(fixture.import(list, { rooftop: 'south' })).rejects.toThrow(/nothing was imported/)
})

test('the same file with another --map is read again', { tags: 'ci' }, async () => {
  await using fixture = await openImportFixture()
  const list = listOf(vehicles(3))
  await fixture.import(list)

  const alike = await fixture.import(list, { maps: ['variant='] })
  const other = await fixture.import(list, { maps: ['variant=Colour'] })

  expect(alike.status).toBe('already-imported')
  expect(other).toMatchObject({ status: 'imported', updated: 3 })
})

test('rejected rows are written to a file that can be corrected and imported alone', async () => {
  await using fixture = await openImportFixture()
  const bad = [aVehicle(2, { price: '1x2' }), aVehicle(5, { stockNo: '1.23E+15', vin: '=cmd()' })]
  const list = listOf([aVehicle(1), bad[0]!, aVehicle(3), bad[1]!])
  const rejects = `${fixture.folder}/rejects.csv`

  const report = await fixture.import(list, { rejects })

  expect(report).toMatchObject({ accepted: 2, rejected: 2, rejectsFile: rejects })
  const text = await readFile(rejects, 'utf8')
  const lines = text.split('\r\n')
  expect(lines).toHaveLength(4)
  expect(lines[0]).toBe('\uFEFF' + header.trim() + ',_import,_line,_problem,_errors')
  expect(lines[1]).toMatch(
    /^S0002,JTD\w+,Toyota,Corolla,2019,45014,1x2,Red,\d+,3,,"?Price: this is not an amount/,
  )
  expect(lines[2]).toMatch(/^1.23E\+15,"'=cmd\(\)",Toyota/)
  await expect(fixture.import(list, { rejects, rooftop: 'south' })).rejects.toThrow(
    /already exists/,
  )
  const fixed = text
    .replace('1x2', '20002')
    .replace('1.23E+15', 'S0005')
    .replace(`"'=cmd()"`, vinOf(5))
  const repaired = await fixture.import(fixed, { mode: 'delta' })
  expect(repaired).toMatchObject({ accepted: 2, rejected: 0, added: 2, removed: 0 })
  const units = await fixture.rows('select stock_no, vin, extras from core.stock_unit order by 1')
  const expected = [1, 2, 3, 5].map((index) =>
    expect.objectContaining({ stock_no: aVehicle(index).stockNo, vin: vinOf(index) }),
  )
  expect(units).toEqual(expected)
})

test('a dry run writes the rejected rows too; without any, no file is written', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const rejects = `${fixture.folder}/rejects.csv`
  const none = await fixture.import(listOf(vehicles(2)), { rejects })

  const list = listOf([...vehicles(2), aVehicle(3, { km: '1x1' })])
  const some = await fixture.import(list, { rejects, dryRun: true })

  expect([none.rejectsFile, some.rejectsFile]).toEqual([null, rejects])
  expect((await readFile(rejects, 'utf8')).split('\r\n')).toHaveLength(3)
})

test('the rejected rows of a list that is already in the warehouse can be written again', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const list = listOf([...vehicles(2), aVehicle(3, { km: '1x1' })])
  const [first, second] = [`${fixture.folder}/first.csv`, `${fixture.folder}/second.csv`]
  await fixture.import(list, { rejects: first })

  const again = await fixture.import(list, { rejects: second })

  expect(again).toMatchObject({ status: 'already-imported', rejectsFile: second })
  expect(await readFile(second, 'utf8')).toBe(await readFile(first, 'utf8'))
})

test('a list without a header, and its rejected rows, are imported once its columns are named', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const list = ['K1|Toyota|Prado|165000', 'K2|Nissan|Patrol|2x0', 'K3|Kia|Rio|50000', ''].join('\n')
  const rejects = `${fixture.folder}/rejects.csv`
  const maps = ['stock_number=#1', 'make=#2', 'model=#3', 'price_asking=#4']

  const report = await fixture.import(list, { maps, rejects })
  const text = await readFile(rejects, 'utf8')
  const fixed = await fixture.import(text.replace('2x0', '200000'), { mode: 'delta' })

  expect(report).toMatchObject({ accepted: 2, rejected: 1, delimiter: '|' })
  expect(text).toMatch(
    /^\uFEFFstock_number\|make\|model\|price_asking\|_import\|_line\|_problem\|_errors\r\nK2\|/,
  )
  expect(fixed).toMatchObject({ accepted: 1, added: 1 })
  expect(
    await fixture.rows("select asking_price from core.stock_unit where stock_no = 'K2'"),
  ).toEqual([{ asking_price: '200000.000' }])
})

import { expect, test } from 'vitest'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { listOf, openImportFixture, vehicles } from './import-fixture.ts'

test('an import of a rooftop whose config has changed is undone whole when it fails at its end', async () => {
  await using fixture = await openImportFixture()
  await fixture.import(listOf(vehicles(9)))
  const before = await fixture.content()
  const timezone = 'Australia/Perth'
  const crashPoint = (name: string) => {
    if (name === 'before-commit') throw new Error('stopped by a test')
  }

  const stopped = fixture.import(listOf(vehicles(9, 2)), { timezone, crashPoint })
  await expect(stopped).rejects.toThrow('stopped by a test')
  const after = await fixture.content()
  const report = await fixture.import(listOf(vehicles(9, 2)), { timezone })

  const rooftops = await fixture.rows('select rooftop_uid, time_zone from core.rooftop')
  expect(rooftops).toEqual([{ rooftop_uid: 'north', time_zone: timezone }])
  expect({ ...Object(after), 'core.rooftop': [] }).toEqual({
    ...Object(before),
    'core.rooftop': [],
  })
  expect(report).toMatchObject({ added: 1, removed: 1, unchanged: 8 })
})

test('a transaction in an open one is refused: its commit would end both', async () => {
  await using fixture = await openImportFixture()

  const nested = inTransaction(fixture.pool, async ({ db }) => {
    await db.transaction().execute(async () => undefined)
  })

  await expect(nested).rejects.toThrow(/a transaction is open on this connection/)
})

test('a list beyond the size of a batch that is typed twice is stored like one that is typed once', {
  tags: 'ci',
}, async () => {
  await using fixture = await openImportFixture()
  const notes = 'one owner, full history, '.repeat(12)
  const rows = Array.from(
    { length: 16_000 },
    (_, at) => `S${at},Kia,Rio,05/06/2025,"${notes}${at}"`,
  )
  // The order of day and month is proved by one row: after the sample, or at its beginning.
  const proof = 'S90000,Kia,Rio,06/25/2025,none'
  const list = (lines: readonly string[]) =>
    ['Stock Number,Make,Model,Date In Stock,Notes', ...lines, ''].join('\n')
  const stored = async (importId: number) => {
    const unit = 'select stock_no, make, model, acquired_on, extras from core.stock_unit'
    const row = 'select stock_no, status, cells from core.stock_import_row'
    const change = 'select stock_no, change from core.stock_unit_change'
    const found = [unit, row, change].map(
      async (query) =>
        await fixture.rows(`${query} where import_id = ${importId} order by stock_no`),
    )
    return (await Promise.all(found)).flat().map((line) => JSON.stringify(line))
  }

  const twice = await fixture.import(list([...rows, proof]))
  const once = await fixture.import(list([proof, ...rows]), { rooftop: 'south' })
  const first = await stored(twice.importId!)
  const second = await stored(once.importId!)

  expect(twice).toMatchObject({ records: 16_001, accepted: 16_001, added: 16_001, rejected: 0 })
  expect(once).toMatchObject({ records: 16_001, accepted: 16_001, added: 16_001, rejected: 0 })
  expect(first.length).toBe(3 * 16_001)
  // Not toEqual: no one could read the difference of 48,000 rows.
  expect(first.findIndex((line, at) => line !== second[at])).toBe(-1)
})

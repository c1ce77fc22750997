import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importStock } from '#src/stock/import/import-stock.ts'
import { openDb } from '#src/warehouse/db/transaction.ts'
import type { Fixture } from '../../support/fixture.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { impatient, observations, stockFixture, vinOf } from './stocked.ts'

async function importList(fixture: Fixture, folder: string, statuses: readonly string[]) {
  const file = join(folder, 'stock.csv')
  const rows = statuses.map(
    (status, at) => `S-${at + 1},${vinOf(at + 1)},Toyota,HiLux,2019,45000,30000,${status}`,
  )
  await writeFile(
    file,
    ['Stock No,VIN,Make,Model,Year,Odometer,Price,Status', ...rows, ''].join('\n'),
  )
  const { context, database, config } = fixture
  return await importStock(
    {
      warehouse: { pool: database.pool, db: openDb(database.pool), config },
      signal: context.signal,
    },
    {
      ...{ file, rooftop: config.rooftops[0]!, mode: 'snapshot', dryRun: false, maps: [] },
      ...{ rejects: null, allowMassRemoval: false, allowMassChange: false, importedBy: 'test' },
      now: morning,
    },
  )
}

test('a sold vehicle is no longer priced, and is not on hand in the marts', async () => {
  await using folder = await temporaryFolder()
  await using fixture = await stockFixture([])
  await importList(fixture, folder.path, ['In stock', 'In stock', 'Sold'])
  await fixture.night(impatient(fixture))
  const first = await observations(fixture)

  const report = await importList(fixture, folder.path, ['Sold', 'In stock', 'Sold'])
  await fixture.nightAfter(1, impatient(fixture))

  expect(new Set(first.map(({ stock_no }) => stock_no))).toEqual(new Set(['S-1', 'S-2']))
  expect(report).toMatchObject({ removed: 1, skipped: 2 })
  const asked = await rowsOf(
    fixture,
    'select batch_no, array_agg(stock_no order by stock_no) as units from ops.price_batch_unit group by 1 order by 1',
  )
  expect(asked.map(({ units }) => units)).toEqual([['S-1', 'S-2'], ['S-2']])
  expect(
    await rowsOf(fixture, 'select stock_no from mart.fact_stock_unit where is_on_hand'),
  ).toEqual([{ stock_no: 'S-2' }])
})

test('a vehicle that lists no longer name is off stock after its days of grace, although no further list comes', async () => {
  await using folder = await temporaryFolder()
  await using fixture = await stockFixture([])
  const { pool } = fixture.database
  await importList(fixture, folder.path, ['In stock', 'In stock'])
  await importList(fixture, folder.path, ['In stock'])
  const onHand = async () =>
    (await rowsOf(fixture, 'select stock_no from core.stock_unit where off_stock_at is null'))
      .length

  await fixture.nightAfter(2, impatient(fixture))
  const inGrace = await onHand()
  const other = await pool.connect()
  await other.query('select pg_advisory_lock(7306, rooftop_id) from core.rooftop')
  await fixture.nightAfter(2, impatient(fixture))
  const duringImport = await onHand()
  other.release(true)
  await fixture.nightAfter(1, impatient(fixture))

  expect([inGrace, duringImport, await onHand()]).toEqual([2, 2, 1])
  const marked = await rowsOf(
    fixture,
    'select off_stock_at - missing_since as after from core.stock_unit where off_stock_at is not null',
  )
  expect(marked).toMatchObject([{ after: { days: 5 } }])
})

test('a service whose clock is ahead ends no days of grace early', async () => {
  await using folder = await temporaryFolder()
  await using fixture = await stockFixture([])
  await importList(fixture, folder.path, ['In stock', 'In stock'])
  await importList(fixture, folder.path, ['In stock'])
  await fixture.database.pool.query(
    'update core.stock_unit set missing_since = now() where missing_since is not null',
  )

  fixture.sandbox.clock.set(new Date(Date.now() + 30 * 86_400_000))
  await fixture.night(impatient(fixture))

  expect(
    await rowsOf(fixture, 'select from core.stock_unit where off_stock_at is null'),
  ).toHaveLength(2)
})

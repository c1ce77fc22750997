import { afterAll, beforeAll, expect, test } from 'vitest'
import { stock, unitsOf } from '../../streams/stock-prices/stocked.ts'
import { aRooftop, worldOf } from '../../support/build-world.ts'
import { type ChildFixture, openChildFixture } from '../../support/child-fixture.ts'

let fixture: ChildFixture

beforeAll(async () => {
  const rooftops = [aRooftop(), aRooftop({ uid: 'rooftop-2', dealerId: 102 })]
  const now = new Date('2026-03-10T02:00:00Z')
  fixture = await openChildFixture({
    sandbox: { now, world: worldOf({ rooftops, evaluations: [] }) },
    sync: { start: '2026-03-09' },
  })
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

test('reprice prices the stock on hand of the rooftops that are named, and status counts it as a run', async () => {
  await using warehouse = await fixture.warehouse()
  // Registers the rooftops, and has nothing to price.
  const empty = await warehouse.json(['reprice'])
  await stock(warehouse.database, unitsOf(2), 'rooftop-1')
  await stock(warehouse.database, unitsOf(3), 'rooftop-2')

  const one = await warehouse.json(['reprice', '--rooftop', 'rooftop-2'])
  const status = await warehouse.json(['status'])

  expect([empty.code, one.code]).toEqual([0, 0])
  expect(empty.document).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { requests: 0 } },
  })
  expect(one.document).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { listed: 3, hydrated: 3, inserted: 3 } },
    rooftops: { 'rooftop-2': { status: 'ok' } },
  })
  expect(status.document['rooftops']!['rooftop-2']!['streams']!['stock-prices']).toMatchObject({
    status: 'ok',
    quarantined: 0,
  })
})

test('sync includes the prices of the stock last', { tags: 'ci' }, async () => {
  await using warehouse = await fixture.warehouse()
  await warehouse.run(['reprice'])
  await stock(warehouse.database, unitsOf(2), 'rooftop-1')

  const plan = await warehouse.json(['sync', '--dry-run'])
  const { code, document } = await warehouse.json(['sync'])

  const planned = plan.document['plan']![8]
  expect(planned).toMatchObject({ stream: 'stock-prices', rooftop: 'rooftop-1', expectedReads: 4 })
  expect(code).toBe(0)
  expect(document['streams']).toMatchObject({ 'stock-prices': { listed: 2, inserted: 2 } })
})

import { expect, test } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import { aRooftop } from '../../support/build-world.ts'
import type { Fixture } from '../../support/fixture.ts'
import { morning, rowsOf } from '../../support/pricing-fixture.ts'
import { whereWaiting } from '../../support/queue-with.ts'
import {
  adcode,
  batches,
  calls,
  impatient,
  observations,
  pollPath,
  reports,
  reprice,
  stock,
  stockFixture,
  submitPath,
  unitsOf,
  vinOf,
} from './stocked.ts'

/** Makes every batch complete with these results from now on; the handle undoes it. */
function answerWith({ sandbox }: Fixture, results: readonly object[]) {
  const body = { percentComplete: 100, results }
  return sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 200, body },
  })
}

const prices = { retail: 25_000.125, retailLow: 24_000, retailHigh: 0, wholesale: 20_000 }

test('a result becomes an observation by the clock of the source: 0 is 0, left out is null', async () => {
  await using fixture = await stockFixture([{ stockNo: 'S-1', adcode, vin: vinOf(1), km: 40_000 }])
  answerWith(fixture, [{ reference: 'S-1', ...prices, currency: 'AUD' }])

  const report = await fixture.night(impatient(fixture))

  expect(report).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { listed: 1, hydrated: 1, inserted: 1, requests: 2 } },
  })
  expect(await observations(fixture)).toEqual([
    {
      stock_no: 'S-1',
      vin: vinOf(1),
      observed_at: morning,
      last_confirmed_at: morning,
      is_current: true,
      retail: '25000.125',
      retail_low: '24000.000',
      retail_high: '0.000',
      wholesale: '20000.000',
      wholesale_low: null,
      wholesale_high: null,
      currency_code: 'AUD',
      error: null,
    },
  ])
  expect(await reports(fixture)).toEqual([])
})

test('a second night with the same prices writes no observation; another price appends one', async () => {
  await using fixture = await stockFixture([
    { stockNo: 'S-1', adcode },
    { stockNo: 'S-2', adcode },
  ])
  const one = answerWith(fixture, [
    { reference: 'S-2', ...prices },
    { reference: 'S-1', ...prices },
  ])
  await fixture.night(impatient(fixture))

  const second = await fixture.nightAfter(1, impatient(fixture))
  one.remove()
  answerWith(fixture, [
    { reference: 'S-1', ...prices },
    { reference: 'S-2', ...prices, retail: 1 },
  ])
  const third = await fixture.nightAfter(1, impatient(fixture))

  expect(second.streams['stock-prices']).toMatchObject({ inserted: 0, updated: 0, unchanged: 2 })
  expect(third.streams['stock-prices']).toMatchObject({ inserted: 0, updated: 1, unchanged: 1 })
  const rows = await observations(fixture)
  expect(rows.map((row) => [row.stock_no, row.retail, row.is_current])).toEqual([
    ['S-1', '25000.125', true],
    ['S-2', '25000.125', false],
    ['S-2', '1.000', true],
  ])
  expect(rows[0]!['observed_at']).toEqual(morning)
  expect(rows[0]!['last_confirmed_at']).toEqual(rows[2]!['observed_at'])
})

test('another vehicle under the same stock number is a new observation, even at the same prices', async () => {
  await using fixture = await stockFixture([{ stockNo: 'S-1', adcode, vin: vinOf(1) }])
  answerWith(fixture, [{ reference: 'S-1', ...prices }])
  await fixture.night(impatient(fixture))
  await stock(fixture.database, [{ stockNo: 'S-1', adcode, vin: vinOf(2) }])

  // The same night: the answer about the other vehicle does not hold this one back.
  const report = await fixture.night(impatient(fixture))

  expect(report.streams['stock-prices']).toMatchObject({ listed: 1, inserted: 1, updated: 0 })
  expect((await observations(fixture)).map((row) => [row['vin'], row.is_current])).toEqual([
    [vinOf(1), false],
    [vinOf(2), true],
  ])
})

test('a result is not stored for another vehicle that got the stock number meanwhile', async () => {
  await using fixture = await stockFixture([{ stockNo: 'S-1', adcode, vin: vinOf(1) }])
  let isSold = false
  const { queue } = impatient(fixture)
  const selling = whereWaiting(queue!, 3, async ({ delaySeconds }) => {
    // While the first batch is open.
    if (!isSold) await stock(fixture.database, [{ stockNo: 'S-1', adcode, vin: vinOf(2) }])
    isSold = true
    return delaySeconds
  })

  const report = await fixture.night({ queue: selling })

  expect(report.status).toBe('ok')
  expect((await observations(fixture)).map((row) => row['vin'])).toEqual([vinOf(2)])
  expect(await batches(fixture)).toHaveLength(2)
})

test('an error of a vehicle is an observation without prices, and no failure of the run', async () => {
  await using fixture = await stockFixture([
    { stockNo: 'S-1', adcode },
    { stockNo: 'S-2', adcode: 'NO-SUCH-CODE' },
  ])

  const report = await fixture.night(impatient(fixture))

  expect(report.status).toBe('ok')
  expect(await observations(fixture)).toMatchObject([
    { stock_no: 'S-1', error: null, retail: expect.stringMatching(/^\d+\.000$/) },
    {
      stock_no: 'S-2',
      error: 'There is no vehicle with the code NO-SUCH-CODE',
      retail: null,
      wholesale: null,
    },
  ])
  expect(await rowsOf(fixture, 'select stock_no, outcome from ops.price_batch_unit')).toEqual([
    { stock_no: 'S-1', outcome: 'priced' },
    { stock_no: 'S-2', outcome: 'failed' },
  ])
})

test('prices in another currency are stored as sent, and reported until the currencies agree', async () => {
  await using fixture = await stockFixture([
    { stockNo: 'S-1', adcode },
    { stockNo: 'S-2', adcode },
  ])
  const strange = answerWith(fixture, [
    { reference: 'S-1', ...prices, currency: 'AED' },
    { reference: 'S-2', ...prices, currency: 'A$' },
  ])

  await fixture.night(impatient(fixture))

  expect((await observations(fixture)).map((row) => row['currency_code'])).toEqual(['AED', 'AUD'])
  expect(await reports(fixture)).toEqual([
    {
      natural_key: 'S-1',
      check_name: 'currency-disagrees',
      detail: "priced in AED, the rooftop's currency is AUD",
    },
    {
      natural_key: 'S-2',
      check_name: 'currency-disagrees',
      detail: `"A$" is not a currency code: the prices are stored as AUD, the rooftop's`,
    },
  ])
  strange.remove()
  await fixture.nightAfter(1, impatient(fixture))
  expect(await reports(fixture)).toEqual([])
})

test('a VIN is decoded once, the unknown one too, and its code goes into the batch', async () => {
  await using fixture = await stockFixture([
    { stockNo: 'S-1', vin: samples.auSingle.vin, km: 10 },
    { stockNo: 'S-2', vin: samples.undecodable.vin },
    { stockNo: 'S-3', vin: samples.auSingle.vin },
    { stockNo: 'S-4', vin: vinOf(4), adcode },
  ])

  await fixture.night(impatient(fixture))
  await fixture.nightAfter(1, impatient(fixture))

  expect(calls(fixture, '/vindatabasic')).toBe(2)
  const stored = await rowsOf(
    fixture,
    'select vin, operation, outcome, adcode from core.vehicle_decode',
  )
  expect(stored).toEqual([
    { vin: samples.auSingle.vin, operation: 'vindatabasic', outcome: 'decoded', adcode },
    { vin: samples.undecodable.vin, operation: 'vindatabasic', outcome: 'unknown', adcode: null },
  ])
  expect(fixture.sandbox.requests.entries(submitPath)[0]!.body).toEqual({
    vehicles: [
      { reference: 'S-1', adcode, vin: samples.auSingle.vin, km: 10 },
      { reference: 'S-2', vin: samples.undecodable.vin },
      { reference: 'S-3', adcode, vin: samples.auSingle.vin },
      { reference: 'S-4', adcode, vin: vinOf(4) },
    ],
    market: 'AU',
  })
})

test('a VIN that was not known is looked up again after a month, and its code is stored', {
  tags: 'ci',
}, async () => {
  const { vin } = samples.undecodable
  await using fixture = await stockFixture([{ stockNo: 'S-1', vin }])
  await fixture.night(impatient(fixture))

  await fixture.nightAfter(29, impatient(fixture))
  const early = calls(fixture, '/vindatabasic')
  await fixture.nightAfter(2, impatient(fixture))
  const undecoded = calls(fixture, '/vindatabasic')
  fixture.sandbox.faults.add({
    match: { path: '/vindatabasic' },
    fault: { kind: 'status', status: 200, body: { adcode } },
  })
  await fixture.nightAfter(31, impatient(fixture))
  await fixture.nightAfter(31, impatient(fixture))

  expect([early, undecoded, calls(fixture, '/vindatabasic')]).toEqual([1, 2, 3])
  expect(await rowsOf(fixture, 'select outcome, adcode from core.vehicle_decode')).toEqual([
    { outcome: 'decoded', adcode },
  ])
  expect(fixture.sandbox.requests.entries(submitPath).at(-1)!.body).toMatchObject({
    vehicles: [{ reference: 'S-1', adcode, vin }],
  })
})

test('vehicles are priced when the decoder does not answer, and it is asked again the next night', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(unitsOf(30))
  const down = fixture.sandbox.faults.add({
    match: { path: '/vindatabasic' },
    fault: { kind: 'status', status: 500 },
  })

  const first = await fixture.night(impatient(fixture))
  const asked = calls(fixture, '/vindatabasic')
  down.remove()
  await fixture.nightAfter(1, impatient(fixture))

  expect(first).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 30 } } })
  expect(asked).toBeLessThan(20)
  expect(calls(fixture, '/vindatabasic')).toBe(asked + 30)
})

test('a GCC rooftop is decoded by its own service and priced in the country of its currency', {
  tags: 'ci',
}, async () => {
  const kuwait = aRooftop({
    uid: 'kuwait',
    region: 'GCC',
    currency: 'KWD',
    timezone: 'Asia/Kuwait',
  })
  await using fixture = await stockFixture([], { rooftopsOfWorld: [kuwait] })
  await stock(fixture.database, [{ stockNo: 'K-1', vin: samples.gccSingle.vin }], 'kuwait')

  const report = await fixture.night(impatient(fixture))

  expect(report.status).toBe('ok')
  expect([calls(fixture, '/gccfactoryvinext'), calls(fixture, '/vindatabasic')]).toEqual([1, 0])
  expect(fixture.sandbox.requests.entries(submitPath)[0]!.body).toMatchObject({ market: 'KW' })
  expect(await observations(fixture)).toMatchObject([{ stock_no: 'K-1', currency_code: 'KWD' }])
})

test('market none leaves the market out of the request, also for a currency of no GCC country', {
  tags: 'ci',
}, async () => {
  const gulf = aRooftop({ uid: 'gulf', region: 'GCC', currency: 'USD', timezone: 'Asia/Kuwait' })
  await using fixture = await stockFixture([], { rooftopsOfWorld: [gulf] })
  await stock(fixture.database, [{ stockNo: 'K-1', vin: samples.gccSingle.vin }], 'gulf')
  const { config } = fixture
  const prices = { ...config.prices, market: 'none' }

  const report = await fixture.night({ ...impatient(fixture), config: { ...config, prices } })

  expect(report.status).toBe('ok')
  expect(fixture.sandbox.requests.entries(submitPath)[0]!.body).not.toHaveProperty('market')
  expect(await observations(fixture)).toMatchObject([{ stock_no: 'K-1' }])
})

test('rows that cannot be priced are reported until they are corrected or sold, and the others are priced', {
  tags: 'ci',
}, async () => {
  const hopeless = [
    { stockNo: 'S-1' },
    { stockNo: 'S-2', vin: 'CHASSIS-8' },
    { stockNo: 'S-3', vin: '1Q87T3N166389' },
  ]
  await using fixture = await stockFixture([...hopeless, { stockNo: 'S-4', adcode, km: null }])

  const report = await fixture.night(impatient(fixture))

  expect(report).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { listed: 1, inserted: 1 } },
  })
  expect(await reports(fixture)).toEqual([
    {
      natural_key: 'S-1',
      check_name: 'cannot-be-priced',
      detail: 'the list names neither a VIN nor an ADCode',
    },
    {
      natural_key: 'S-2',
      check_name: 'cannot-be-priced',
      detail: 'no ADCode, and its VIN has 9 characters instead of 17',
    },
    {
      natural_key: 'S-3',
      check_name: 'cannot-be-priced',
      detail: 'no ADCode, and its VIN has 13 characters instead of 17',
    },
  ])
  const { pool } = fixture.database
  await pool.query("update core.stock_unit set off_stock_at = now() where stock_no = 'S-1'")
  await stock(fixture.database, [{ stockNo: 'S-2', adcode }])
  await fixture.nightAfter(1, impatient(fixture))
  expect(await reports(fixture)).toMatchObject([{ natural_key: 'S-3' }])
})

test('a rooftop without stock costs no call; one that cannot be priced is reported only if it has stock', {
  tags: 'ci',
}, async () => {
  const us = aRooftop({
    uid: 'chicago',
    dealerId: 301,
    groupId: 'lake',
    region: 'US',
    currency: 'USD',
  })
  await using fixture = await stockFixture([], { rooftopsOfWorld: [aRooftop(), us] })
  const { config } = fixture
  const keyless = { config: { ...config, vehicleData: { ...config.vehicleData, apiKey: null } } }

  const empty = await fixture.night(keyless)
  const before = await reports(fixture)
  await stock(fixture.database, [{ stockNo: 'S-1', adcode }])
  await stock(fixture.database, [{ stockNo: 'C-1', vin: samples.usSingle.vin }], 'chicago')
  const stocked = await fixture.night(keyless)

  expect([empty.status, before, stocked.status]).toEqual(['ok', [], 'ok'])
  expect(calls(fixture, submitPath) + calls(fixture, '/vindatabasic')).toBe(0)
  expect(await reports(fixture)).toMatchObject([
    { natural_key: 'chicago', detail: expect.stringMatching(/^its stock cannot be priced/) },
    { natural_key: 'rooftop-1', detail: expect.stringMatching(/set vehicleData\.apiKey/) },
  ])
  await fixture.night(impatient(fixture))
  expect(await reports(fixture)).toMatchObject([{ natural_key: 'chicago' }])
  expect(await observations(fixture)).toHaveLength(1)
})

test('a second sync in the same night asks only about what has changed; reprice asks about all', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(unitsOf(3))
  await fixture.night(impatient(fixture))

  const second = await fixture.night(impatient(fixture))
  await stock(fixture.database, [
    { stockNo: 'S-2', vin: vinOf(2), km: 99_000 },
    { stockNo: 'S-9', adcode },
  ])
  const third = await fixture.night(impatient(fixture))
  const asked = await reprice(fixture, impatient(fixture))

  expect(second.streams['stock-prices']).toMatchObject({ listed: 0, requests: 0 })
  expect(third.streams['stock-prices']).toMatchObject({ listed: 2 })
  expect(asked.streams['stock-prices']).toMatchObject({ listed: 4, hydrated: 4 })
})

test('a unit off stock is not asked about, and keeps its prices', { tags: 'ci' }, async () => {
  await using fixture = await stockFixture(unitsOf(2))
  await fixture.night(impatient(fixture))
  const { pool } = fixture.database
  await pool.query("update core.stock_unit set off_stock_at = now() where stock_no = 'S-1'")

  const report = await fixture.nightAfter(1, impatient(fixture))

  expect(report.streams['stock-prices']).toMatchObject({ listed: 1 })
  expect((await observations(fixture)).filter((row) => row.is_current)).toHaveLength(2)
})

test('the results are stored as received, under the number of their batch', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(unitsOf(1))
  answerWith(fixture, [{ reference: 'S-1', ...prices, more: 'unheard of' }])

  await fixture.night(impatient(fixture))

  const stored = await rowsOf<{ body: string }>(
    fixture,
    "select natural_key, body::text from raw.payload where endpoint = 'price-batch'",
  )
  expect(stored).toMatchObject([{ natural_key: '1' }])
  expect(JSON.parse(stored[0]!.body)).toEqual({
    percentComplete: 100,
    results: [{ reference: 'S-1', ...prices, more: 'unheard of' }],
  })
})

test('a price that Postgres refuses is reported and makes the run partial; the others are loaded, also with deep fields', {
  tags: 'ci',
}, async () => {
  await using fixture = await stockFixture(unitsOf(3))
  await rowsOf(
    fixture,
    'alter table core.stock_price_observation add constraint no_odd check (retail <> 13)',
  )
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const results = [1, 2, 3].map((number) => ({
    reference: `S-${number}`,
    ...prices,
    retail: number === 2 ? 13 : 20_000,
  }))
  const text = JSON.stringify({ percentComplete: 100, results, odd: 0 })
  const body = text.replace('"odd":0', `"odd":${deep}`)
  const match = { path: pollPath }
  fixture.sandbox.faults.add({ match, fault: { kind: 'status', status: 200, body } })

  const report = await fixture.night(impatient(fixture))

  expect(report.status).toBe('partial')
  expect(report.rooftops['rooftop-1']!.error).toContain('1 prices cannot be stored')
  expect((await observations(fixture)).map(({ stock_no }) => stock_no)).toEqual(['S-1', 'S-3'])
  expect(await reports(fixture)).toMatchObject([
    { natural_key: 'S-2', check_name: 'cannot-be-stored' },
  ])
})

import { expect, test } from 'vitest'
import { aRooftop } from '#src/sandbox/build-world.ts'
import { samples } from '#src/sandbox/samples.ts'
import type { House } from '../../support/nights.ts'
import { morning, rowsOf } from '../../support/priced.ts'
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
  stockHouse,
  submitPath,
  unitsOf,
  vinOf,
} from './stocked.ts'

/** From now on every batch is complete with these results; undo by the handle. */
function answerWith({ sandbox }: House, results: readonly object[]) {
  const body = { percentComplete: 100, results }
  return sandbox.faults.add({
    match: { path: pollPath },
    fault: { kind: 'status', status: 200, body },
  })
}

const prices = { retail: 25_000.125, retailLow: 24_000, retailHigh: 0, wholesale: 20_000 }

test('a result becomes an observation by the clock of the source: 0 is 0, left out is null', async () => {
  await using house = await stockHouse([{ stockNo: 'S-1', adcode, vin: vinOf(1), km: 40_000 }])
  answerWith(house, [{ reference: 'S-1', ...prices, currency: 'AUD' }])

  const report = await house.night(impatient(house))

  expect(report).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { listed: 1, hydrated: 1, inserted: 1, requests: 2 } },
  })
  expect(await observations(house)).toEqual([
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
  expect(await reports(house)).toEqual([])
})

test('a second night with the same prices writes no observation; another price appends one', async () => {
  await using house = await stockHouse([
    { stockNo: 'S-1', adcode },
    { stockNo: 'S-2', adcode },
  ])
  const one = answerWith(house, [
    { reference: 'S-2', ...prices },
    { reference: 'S-1', ...prices },
  ])
  await house.night(impatient(house))

  const second = await house.nightAfter(1, impatient(house))
  one.remove()
  answerWith(house, [
    { reference: 'S-1', ...prices },
    { reference: 'S-2', ...prices, retail: 1 },
  ])
  const third = await house.nightAfter(1, impatient(house))

  expect(second.streams['stock-prices']).toMatchObject({ inserted: 0, updated: 0, unchanged: 2 })
  expect(third.streams['stock-prices']).toMatchObject({ inserted: 0, updated: 1, unchanged: 1 })
  const rows = await observations(house)
  expect(rows.map((row) => [row.stock_no, row.retail, row.is_current])).toEqual([
    ['S-1', '25000.125', true],
    ['S-2', '25000.125', false],
    ['S-2', '1.000', true],
  ])
  expect(rows[0]!['observed_at']).toEqual(morning)
  expect(rows[0]!['last_confirmed_at']).toEqual(rows[2]!['observed_at'])
})

test('another vehicle under the same stock number is another observation, at the same prices too', async () => {
  await using house = await stockHouse([{ stockNo: 'S-1', adcode, vin: vinOf(1) }])
  answerWith(house, [{ reference: 'S-1', ...prices }])
  await house.night(impatient(house))
  await stock(house.database, [{ stockNo: 'S-1', adcode, vin: vinOf(2) }])

  // The same night: what was said of the other vehicle holds nothing back.
  const report = await house.night(impatient(house))

  expect(report.streams['stock-prices']).toMatchObject({ listed: 1, inserted: 1, updated: 0 })
  expect((await observations(house)).map((row) => [row['vin'], row.is_current])).toEqual([
    [vinOf(1), false],
    [vinOf(2), true],
  ])
})

test('a result for a vehicle whose stock number was given away meanwhile does not land on the other one', async () => {
  await using house = await stockHouse([{ stockNo: 'S-1', adcode, vin: vinOf(1) }])
  let isSold = false
  const { queue } = impatient(house)
  const offer: NonNullable<typeof queue>['offer'] = async (on, data, options) => {
    // While the first batch is at work.
    if (options?.delaySeconds === 3 && !isSold) {
      isSold = true
      await stock(house.database, [{ stockNo: 'S-1', adcode, vin: vinOf(2) }])
    }
    return await queue!.offer(on, data, options)
  }

  const report = await house.night({ queue: { ...queue!, offer } })

  expect(report.status).toBe('ok')
  expect((await observations(house)).map((row) => row['vin'])).toEqual([vinOf(2)])
  expect(await batches(house)).toHaveLength(2)
})

test('an error of a vehicle is an observation without prices, and no failure of the run', async () => {
  await using house = await stockHouse([
    { stockNo: 'S-1', adcode },
    { stockNo: 'S-2', adcode: 'NO-SUCH-CODE' },
  ])

  const report = await house.night(impatient(house))

  expect(report.status).toBe('ok')
  expect(await observations(house)).toMatchObject([
    { stock_no: 'S-1', error: null, retail: expect.stringMatching(/^\d+\.000$/) },
    {
      stock_no: 'S-2',
      error: 'There is no vehicle with the code NO-SUCH-CODE',
      retail: null,
      wholesale: null,
    },
  ])
  expect(await rowsOf(house, 'select stock_no, outcome from ops.price_batch_unit')).toEqual([
    { stock_no: 'S-1', outcome: 'priced' },
    { stock_no: 'S-2', outcome: 'failed' },
  ])
})

test('prices in another currency are kept as told, and reported until they agree', async () => {
  await using house = await stockHouse([
    { stockNo: 'S-1', adcode },
    { stockNo: 'S-2', adcode },
  ])
  const strange = answerWith(house, [
    { reference: 'S-1', ...prices, currency: 'AED' },
    { reference: 'S-2', ...prices, currency: 'A$' },
  ])

  await house.night(impatient(house))

  expect((await observations(house)).map((row) => row['currency_code'])).toEqual(['AED', 'AUD'])
  expect(await reports(house)).toEqual([
    {
      natural_key: 'S-1',
      check_name: 'currency-disagrees',
      detail: "priced in AED, the rooftop's currency is AUD",
    },
    {
      natural_key: 'S-2',
      check_name: 'currency-disagrees',
      detail: `"A$" is no currency code: the prices are kept as AUD, the rooftop's`,
    },
  ])
  strange.remove()
  await house.nightAfter(1, impatient(house))
  expect(await reports(house)).toEqual([])
})

test('a VIN is decoded once, the unknown one too, and its code goes into the batch', async () => {
  await using house = await stockHouse([
    { stockNo: 'S-1', vin: samples.auSingle.vin, km: 10 },
    { stockNo: 'S-2', vin: samples.undecodable.vin },
    { stockNo: 'S-3', vin: samples.auSingle.vin },
    { stockNo: 'S-4', vin: vinOf(4), adcode },
  ])

  await house.night(impatient(house))
  await house.nightAfter(1, impatient(house))

  expect(calls(house, '/vindatabasic')).toBe(2)
  const kept = await rowsOf(
    house,
    'select vin, operation, outcome, adcode from core.vehicle_decode',
  )
  expect(kept).toEqual([
    { vin: samples.auSingle.vin, operation: 'vindatabasic', outcome: 'decoded', adcode },
    { vin: samples.undecodable.vin, operation: 'vindatabasic', outcome: 'unknown', adcode: null },
  ])
  expect(house.sandbox.requests.entries(submitPath)[0]!.body).toEqual({
    vehicles: [
      { reference: 'S-1', adcode, vin: samples.auSingle.vin, km: 10 },
      { reference: 'S-2', vin: samples.undecodable.vin },
      { reference: 'S-3', adcode, vin: samples.auSingle.vin },
      { reference: 'S-4', adcode, vin: vinOf(4) },
    ],
    market: 'AU',
  })
})

test('a VIN that was not known is looked up again after a month, and its code is kept', async () => {
  const { vin } = samples.undecodable
  await using house = await stockHouse([{ stockNo: 'S-1', vin }])
  await house.night(impatient(house))

  await house.nightAfter(29, impatient(house))
  const early = calls(house, '/vindatabasic')
  await house.nightAfter(2, impatient(house))
  const inVain = calls(house, '/vindatabasic')
  house.sandbox.faults.add({
    match: { path: '/vindatabasic' },
    fault: { kind: 'status', status: 200, body: { adcode } },
  })
  await house.nightAfter(31, impatient(house))
  await house.nightAfter(31, impatient(house))

  expect([early, inVain, calls(house, '/vindatabasic')]).toEqual([1, 2, 3])
  expect(await rowsOf(house, 'select outcome, adcode from core.vehicle_decode')).toEqual([
    { outcome: 'decoded', adcode },
  ])
  expect(house.sandbox.requests.entries(submitPath).at(-1)!.body).toMatchObject({
    vehicles: [{ reference: 'S-1', adcode, vin }],
  })
})

test('a decoder that does not answer keeps no vehicle from being priced, and is asked again the next night', async () => {
  await using house = await stockHouse(unitsOf(30))
  const down = house.sandbox.faults.add({
    match: { path: '/vindatabasic' },
    fault: { kind: 'status', status: 500 },
  })

  const first = await house.night(impatient(house))
  const asked = calls(house, '/vindatabasic')
  down.remove()
  await house.nightAfter(1, impatient(house))

  expect(first).toMatchObject({ status: 'ok', streams: { 'stock-prices': { inserted: 30 } } })
  expect(asked).toBeLessThan(20)
  expect(calls(house, '/vindatabasic')).toBe(asked + 30)
})

test('a GCC rooftop is decoded by its own service and priced in the country of its currency', async () => {
  const kuwait = aRooftop({
    uid: 'kuwait',
    region: 'GCC',
    currency: 'KWD',
    timezone: 'Asia/Kuwait',
  })
  await using house = await stockHouse([], { rooftopsOfWorld: [kuwait] })
  await stock(house.database, [{ stockNo: 'K-1', vin: samples.gccSingle.vin }], 'kuwait')

  const report = await house.night(impatient(house))

  expect(report.status).toBe('ok')
  expect([calls(house, '/gccfactoryvinext'), calls(house, '/vindatabasic')]).toEqual([1, 0])
  expect(house.sandbox.requests.entries(submitPath)[0]!.body).toMatchObject({ market: 'KW' })
  expect(await observations(house)).toMatchObject([{ stock_no: 'K-1', currency_code: 'KWD' }])
})

test('market none leaves the market out of the request, also where the currency tells no country', async () => {
  const gulf = aRooftop({ uid: 'gulf', region: 'GCC', currency: 'USD', timezone: 'Asia/Kuwait' })
  await using house = await stockHouse([], { rooftopsOfWorld: [gulf] })
  await stock(house.database, [{ stockNo: 'K-1', vin: samples.gccSingle.vin }], 'gulf')
  const { config } = house
  const prices = { ...config.prices, market: 'none' }

  const report = await house.night({ ...impatient(house), config: { ...config, prices } })

  expect(report.status).toBe('ok')
  expect(house.sandbox.requests.entries(submitPath)[0]!.body).not.toHaveProperty('market')
  expect(await observations(house)).toMatchObject([{ stock_no: 'K-1' }])
})

test('rows that cannot be priced say why, the others are priced; what is mended or sold is no longer reported', async () => {
  const hopeless = [
    { stockNo: 'S-1' },
    { stockNo: 'S-2', vin: 'CHASSIS-8' },
    { stockNo: 'S-3', vin: '1Q87T3N166389' },
  ]
  await using house = await stockHouse([...hopeless, { stockNo: 'S-4', adcode, km: null }])

  const report = await house.night(impatient(house))

  expect(report).toMatchObject({
    status: 'ok',
    streams: { 'stock-prices': { listed: 1, inserted: 1 } },
  })
  expect(await reports(house)).toEqual([
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
  const { pool } = house.database
  await pool.query("update core.stock_unit set off_stock_at = now() where stock_no = 'S-1'")
  await stock(house.database, [{ stockNo: 'S-2', adcode }])
  await house.nightAfter(1, impatient(house))
  expect(await reports(house)).toMatchObject([{ natural_key: 'S-3' }])
})

test('a rooftop without stock costs no call; one that cannot be priced says so only where there is stock', async () => {
  const us = aRooftop({
    uid: 'chicago',
    dealerId: 301,
    groupId: 'lake',
    region: 'US',
    currency: 'USD',
  })
  await using house = await stockHouse([], { rooftopsOfWorld: [aRooftop(), us] })
  const { config } = house
  const keyless = { config: { ...config, vehicleData: { ...config.vehicleData, apiKey: null } } }

  const empty = await house.night(keyless)
  const before = await reports(house)
  await stock(house.database, [{ stockNo: 'S-1', adcode }])
  await stock(house.database, [{ stockNo: 'C-1', vin: samples.usSingle.vin }], 'chicago')
  const stocked = await house.night(keyless)

  expect([empty.status, before, stocked.status]).toEqual(['ok', [], 'ok'])
  expect(calls(house, submitPath) + calls(house, '/vindatabasic')).toBe(0)
  expect(await reports(house)).toMatchObject([
    { natural_key: 'chicago', detail: expect.stringMatching(/^its stock cannot be priced/) },
    { natural_key: 'rooftop-1', detail: expect.stringMatching(/set vehicleData\.apiKey/) },
  ])
  await house.night(impatient(house))
  expect(await reports(house)).toMatchObject([{ natural_key: 'chicago' }])
  expect(await observations(house)).toHaveLength(1)
})

test('a second sync of the same night asks nothing, but for what has changed; reprice asks for all', async () => {
  await using house = await stockHouse(unitsOf(3))
  await house.night(impatient(house))

  const second = await house.night(impatient(house))
  await stock(house.database, [
    { stockNo: 'S-2', vin: vinOf(2), km: 99_000 },
    { stockNo: 'S-9', adcode },
  ])
  const third = await house.night(impatient(house))
  const asked = await reprice(house, impatient(house))

  expect(second.streams['stock-prices']).toMatchObject({ listed: 0, requests: 0 })
  expect(third.streams['stock-prices']).toMatchObject({ listed: 2 })
  expect(asked.streams['stock-prices']).toMatchObject({ listed: 4, hydrated: 4 })
})

test('a unit off stock is not asked about, and keeps its prices', async () => {
  await using house = await stockHouse(unitsOf(2))
  await house.night(impatient(house))
  const { pool } = house.database
  await pool.query("update core.stock_unit set off_stock_at = now() where stock_no = 'S-1'")

  const report = await house.nightAfter(1, impatient(house))

  expect(report.streams['stock-prices']).toMatchObject({ listed: 1 })
  expect((await observations(house)).filter((row) => row.is_current)).toHaveLength(2)
})

test('the results are kept as received, under the number of their batch', async () => {
  await using house = await stockHouse(unitsOf(1))
  answerWith(house, [{ reference: 'S-1', ...prices, more: 'unheard of' }])

  await house.night(impatient(house))

  const kept = await rowsOf<{ body: string }>(
    house,
    "select natural_key, body::text from raw.payload where endpoint = 'price-batch'",
  )
  expect(kept).toMatchObject([{ natural_key: '1' }])
  expect(JSON.parse(kept[0]!.body)).toEqual({
    percentComplete: 100,
    results: [{ reference: 'S-1', ...prices, more: 'unheard of' }],
  })
})

test('a price that Postgres refuses is reported and makes the run partial; the others land, deep fields or not', async () => {
  await using house = await stockHouse(unitsOf(3))
  await rowsOf(
    house,
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
  house.sandbox.faults.add({ match, fault: { kind: 'status', status: 200, body } })

  const report = await house.night(impatient(house))

  expect(report.status).toBe('partial')
  expect(report.rooftops['rooftop-1']!.error).toContain('1 prices cannot be stored')
  expect((await observations(house)).map(({ stock_no }) => stock_no)).toEqual(['S-1', 'S-3'])
  expect(await reports(house)).toMatchObject([
    { natural_key: 'S-2', check_name: 'cannot-be-stored' },
  ])
})

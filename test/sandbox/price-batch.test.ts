import { expect, test } from 'vitest'
import { pollPriceBatch } from '#src/contract/vehicle-data/prices.ts'
import { worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { get, sendForm, sendJson } from './ask-vehicle-data.ts'

const now = new Date('2026-03-10T00:00:00Z')
const path = '/v1/price-batch'
const adcode = 'AU0TOYHILUX01'

function start(options: SandboxOptions = {}) {
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world: worldOf(), clock, ...options })
}

const stock = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ reference: `S-${at}`, adcode, km: at * 100 }))

async function submit(sandbox: Sandbox, vehicles: readonly object[], market?: string) {
  const { json } = await sendJson(sandbox, path, { vehicles, market })
  return json['batchId'] as string
}

const poll = (sandbox: Sandbox, batchId: string) => get(sandbox, `${path}/${batchId}`)

/** The results as the client reads them, after an hour. */
async function resultsOf(sandbox: Sandbox, vehicles: readonly object[], market?: string) {
  const batchId = await submit(sandbox, vehicles, market)
  sandbox.clock.advance(3_600_000)
  const { json } = await poll(sandbox, batchId)
  return pollPriceBatch.read(json, defaultWire).results!
}

test('a batch rises to 100 percent by the clock, and only then has results', async () => {
  await using sandbox = await start()
  const vehicles = stock(500)
  const batchId = await submit(sandbox, vehicles)

  const first = await poll(sandbox, batchId)
  sandbox.clock.advance(3000)
  const second = await poll(sandbox, batchId)
  sandbox.clock.advance(5000)
  const third = await poll(sandbox, batchId)

  expect(first).toEqual({ status: 200, json: { percentComplete: 10 } })
  expect(second).toEqual({ status: 200, json: { percentComplete: 50 } })
  expect(third.json).toMatchObject({ percentComplete: 100 })
  expect(third.json['results']).toHaveLength(500)
})

test('polls end a batch when the clock is frozen', async () => {
  await using sandbox = await start()
  const batchId = await submit(sandbox, stock(1))

  const percents = []
  for (let polls = 0; polls < 3; polls++)
    percents.push((await poll(sandbox, batchId)).json['percentComplete'])
  expect(percents).toEqual([50, 100, 100])
})

test('the progress of a batch never falls, even when the clock goes back', async () => {
  await using sandbox = await start()
  const batchId = await submit(sandbox, stock(5))
  sandbox.clock.advance(60_000)
  const before = await poll(sandbox, batchId)
  sandbox.clock.set(new Date('2020-01-01T00:00:00Z'))

  expect(await poll(sandbox, batchId)).toEqual(before)
  expect(before.json['percentComplete']).toBe(100)
})

test.each([2, 3, 50])('%i results are in another order than the vehicles', async (count) => {
  await using sandbox = await start()

  const references = (await resultsOf(sandbox, stock(count))).map(({ reference }) => reference)
  const sent = stock(count).map(({ reference }) => reference)
  expect(references).not.toEqual(sent)
  expect(references.toSorted()).toEqual(sent.toSorted())
})

test('each vehicle has its prices, ranges and currency', async () => {
  await using sandbox = await start()

  const results = await resultsOf(sandbox, [
    { reference: 'by code', adcode, km: 48_000 },
    { reference: 'by VIN', vin: 'SAMPLEAU000000001' },
  ])

  const number = expect.any(Number)
  const prices = { retail: number, retailLow: number, retailHigh: number }
  const trade = { wholesale: number, wholesaleLow: number, wholesaleHigh: number }
  const priced = { ...prices, ...trade, currency: 'AUD', error: null }
  expect(results).toHaveLength(2)
  expect(results).toContainEqual({ reference: 'by code', ...priced })
  expect(results).toContainEqual({ reference: 'by VIN', ...priced })
})

test('a market sets the currency of the batch', async () => {
  await using sandbox = await start()

  const [one] = await resultsOf(sandbox, [{ reference: 'a', adcode: 'GC0TOYLANDC01' }], 'KW')
  expect(one).toMatchObject({ currency: 'KWD' })
})

test('a vehicle that cannot be priced has an error and does not affect others', async () => {
  await using sandbox = await start()

  const results = await resultsOf(sandbox, [
    { reference: 'unknown code', adcode: 'NOTHING' },
    { reference: 'unknown VIN', vin: 'SAMPLEXX000000000' },
    { reference: 'neither' },
    { reference: 'good', adcode },
  ])

  const unpriced = { retail: null, wholesale: null, currency: null, error: expect.any(String) }
  for (const reference of ['unknown code', 'unknown VIN', 'neither'])
    expect(results).toContainEqual(expect.objectContaining({ reference, ...unpriced }))
  expect(results).toContainEqual(expect.objectContaining({ reference: 'good', error: null }))
})

test('a repeated reference is answered twice', async () => {
  await using sandbox = await start()

  const results = await resultsOf(sandbox, [
    { reference: 'same', adcode, km: 1000 },
    { reference: 'same', adcode, km: 300_000 },
  ])
  expect(results.map(({ reference }) => reference)).toEqual(['same', 'same'])
  expect(results[0]!.retail).not.toBe(results[1]!.retail)
})

test('prices are those of the instant of submission', async () => {
  await using sandbox = await start()
  const vehicles = [{ reference: 'a', adcode, km: 50_000 }]

  const [early] = await resultsOf(sandbox, vehicles)
  const batchId = await submit(sandbox, vehicles)
  sandbox.clock.advance(400 * 86_400_000)
  const { json } = await poll(sandbox, batchId)
  expect(json['results']).toMatchObject([{ retail: early!.retail }])
})

test.each<[string, object, number]>([
  ['no vehicles', {}, 400],
  ['an empty list', { vehicles: [] }, 400],
  ['a vehicle without a reference', { vehicles: [{ adcode }] }, 400],
  ['vehicles that are text', { vehicles: 'S-1' }, 400],
  ['a market without coverage', { vehicles: stock(1), market: 'FR' }, 400],
  ['as many as it may hold', { vehicles: stock(3) }, 200],
  ['more than it may hold', { vehicles: stock(4) }, 413],
])('a batch with %s is a %3$i', async (_name, body, expected) => {
  await using sandbox = await start({ limits: { batchVehicles: 3 } })

  expect((await sendJson(sandbox, path, body)).status).toBe(expected)
})

test('an unknown batch is a 404', async () => {
  await using sandbox = await start()

  expect(await poll(sandbox, 'B-1')).toEqual({ status: 404, json: { error: 'Batch not found' } })
})

test('names, encoding and the way of polling follow the wire settings', async () => {
  const submitNames = {
    encoding: 'form',
    vehicles: 'items',
    reference: 'stockNo',
    adcode: 'code',
    km: 'odo',
    batchId: 'job.id',
  }
  const pollNames = {
    method: 'POST',
    path: '/v1/batch-result',
    percentComplete: 'job.percent',
    results: 'job.items',
    reference: 'stockNo',
    retail: 'price.retail',
  }
  const priceBatch = { submit: submitNames, poll: pollNames }
  await using sandbox = await start({ wire: wireSettings.parse({ vehicleData: { priceBatch } }) })
  const items = JSON.stringify([{ stockNo: 'S-1', code: adcode, odo: 48_000 }])

  const submitted = await sendForm(sandbox, path, { items })
  const { id: batchId } = submitted.json['job'] as { id: string }
  sandbox.clock.advance(5000)
  const polled = await sendJson(sandbox, '/v1/batch-result', { batchId })

  expect(polled.json).toEqual({
    job: {
      percent: 100,
      items: [expect.objectContaining({ stockNo: 'S-1', price: { retail: expect.any(Number) } })],
    },
  })
})

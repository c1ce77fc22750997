import { expect, test } from 'vitest'
import { predictPrice } from '#src/contract/vehicle-data/prediction.ts'
import { worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { type FormValue, get, sendForm } from './ask-vehicle-data.ts'

const now = new Date('2026-03-10T00:00:00Z')
const path = '/v1/prediction'
const adcode = 'AU0TOYHILUX01'
const bullets = expect.arrayContaining([expect.stringMatching(/\d/)])

function start(options: SandboxOptions = {}) {
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world: worldOf(), clock, ...options })
}

const predict = (sandbox: Sandbox, fields: Readonly<Record<string, FormValue>>) =>
  sendForm(sandbox, path, fields)

const poll = (sandbox: Sandbox, { requestId }: Readonly<Record<string, unknown>>) =>
  get(sandbox, `${path}/${requestId}`)

test('without reasoning the prices are there at once', async () => {
  await using sandbox = await start()

  const answer = await predict(sandbox, { adcode, km: 48_000 })
  const later = await poll(sandbox, answer.json)

  const number = expect.any(Number)
  expect(answer).toEqual({
    status: 200,
    json: {
      requestId: expect.any(String),
      status: 'completed',
      wholesale: number,
      retail: number,
      buyToRetail: number,
      quickSale: number,
      sweetSpot: number,
      confidence: expect.stringMatching(/^(high|medium|low)$/),
    },
  })
  expect(later).toEqual(answer)
})

test('reasoning is processing for 10 to 90 seconds, then completed with bullets', async () => {
  await using sandbox = await start()
  const vin = 'SAMPLEAU000000001'

  const asked = await predict(sandbox, { vin, reasoning: true })
  sandbox.clock.advance(9999)
  const early = await poll(sandbox, asked.json)
  sandbox.clock.advance(80_001)
  const done = await poll(sandbox, asked.json)

  expect(asked.json).toMatchObject({ status: 'processing', dealer: null, customer: null })
  expect(early.json).toEqual(asked.json)
  const { status, dealer, customer, ...prices } = done.json
  expect({ status, dealer, customer }).toEqual({
    status: 'completed',
    dealer: bullets,
    customer: bullets,
  })
  expect(asked.json).toMatchObject(prices)
})

test('the client reads the whole of a completed prediction', async () => {
  await using sandbox = await start()
  const asked = await predict(sandbox, { vin: 'SAMPLEGCC00000001', reasoning: true })
  sandbox.clock.advance(90_000)

  const { json } = await poll(sandbox, asked.json)
  const read = predictPrice.read(json, defaultWire)
  expect(Object.values(read)).not.toContain(null)
  expect(read.dealer).not.toEqual(read.customer)
})

test('reasoning on the sample for it ends unavailable, with prices all the same', async () => {
  await using sandbox = await start()
  const asked = await predict(sandbox, { vin: 'SAMPLEXX000000009', reasoning: true })
  sandbox.clock.advance(90_000)

  const { json } = await poll(sandbox, asked.json)
  expect(asked.json).toMatchObject({ status: 'processing' })
  expect(json).toEqual({ ...asked.json, status: 'unavailable' })
})

test('a past date is priced as of then', async () => {
  await using sandbox = await start()
  const retailOn = async (predictDate: string) => {
    const fields = { vin: 'SAMPLEAU000000001', km: 90_000, predictDate }
    return (await predict(sandbox, fields)).json['retail'] as number
  }

  expect(await retailOn('2019-03-10')).toBeGreaterThan(await retailOn('2026-03-10'))
})

test.each<[string, Record<string, FormValue>, number]>([
  ['neither code nor VIN', {}, 400],
  ['a date in the future', { adcode, predictDate: '2026-03-11' }, 400],
  ['a date of today', { adcode, predictDate: '2026-03-10' }, 200],
  ['a date that does not exist', { adcode, predictDate: '2026-02-30' }, 400],
  ['an instant for a date', { adcode, predictDate: '2026-03-01T00:00:00Z' }, 400],
  ['an unknown code', { adcode: 'NOTHING' }, 404],
  ['an undecodable VIN', { vin: 'SAMPLEXX000000000' }, 404],
  ['a VIN that is too short', { vin: 'SHORT' }, 400],
  ['a switch that is neither', { adcode, reasoning: 'perhaps' }, 400],
])('%s is a %3$i', async (_name, fields, expected) => {
  await using sandbox = await start()

  expect((await predict(sandbox, fields)).status).toBe(expected)
})

test('an unknown request is a 404', async () => {
  await using sandbox = await start()

  expect(await poll(sandbox, { requestId: 'P-1' })).toEqual({
    status: 404,
    json: { error: 'Request not found' },
  })
})

test('the key is needed', async () => {
  await using sandbox = await start()
  const statusWith = async (key: string | null) =>
    (await sendForm(sandbox, path, { adcode }, key)).status

  expect([await statusWith(null), await statusWith('wrong')]).toEqual([401, 403])
})

test('names and the poll path follow the wire settings', async () => {
  const prediction = {
    adcode: 'code',
    reasoning: 'explain',
    requestId: 'request.id',
    pollPath: '/v1/prediction/{requestId}/result',
    status: 'request.state',
    dealer: 'why.dealer',
  }
  await using sandbox = await start({ wire: wireSettings.parse({ vehicleData: { prediction } }) })

  const asked = await predict(sandbox, { code: adcode, explain: true })
  const { id } = asked.json['request'] as { id: string }
  const polled = await get(sandbox, `/v1/prediction/${id}/result`)

  expect(asked.json).toMatchObject({ request: { state: 'processing' }, why: { dealer: null } })
  expect(polled).toEqual(asked)
})

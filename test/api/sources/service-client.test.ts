import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { searchPpsr } from '#src/api/contract/appraisal/checks.ts'
import { enterVin } from '#src/api/contract/appraisal/creation.ts'
import { getEvaluation, listUsers } from '#src/api/contract/appraisal/evaluations.ts'
import { uploadImage } from '#src/api/contract/appraisal/photos.ts'
import { getPricing } from '#src/api/contract/appraisal/pricing.ts'
import type { Effect } from '#src/api/contract/operation.ts'
import { decodeAu } from '#src/api/contract/vehicle-data/decode.ts'
import {
  getPriceGuide,
  pollPriceBatch,
  submitPriceBatch,
} from '#src/api/contract/vehicle-data/prices.ts'
import { openRooftopCalls } from '#src/api/sources/appraisal/client.ts'
import { vehicleDataCalls } from '#src/api/sources/calls.ts'
import { HttpSource } from '#src/api/sources/http.ts'
import { ServiceClient } from '#src/api/sources/service-client.ts'
import { type WireSettings, wireSettings } from '#src/values/wire.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { dedicated, north, partner } from './appraisal/client-support.ts'
import { type Answerer, FakeSource, json } from './fake-source.ts'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** A client of both services over one fake server. */
async function start<Reach extends Effect>(
  answer: Answerer,
  reach: readonly Reach[],
  wire: WireSettings = wireSettings.parse({}),
) {
  const source = await FakeSource.start(answer)
  const settings = { concurrency: 2, timeoutSeconds: 5, maxRetries: 1 }
  const { http, calls } = openRooftopCalls<Reach>({
    baseUrl: source.baseUrl,
    keys: { 'group-au': partner, single: dedicated },
    wire: wire.appraisal,
    http: settings,
  })
  const vehicleHttp = new HttpSource({
    baseUrl: source.baseUrl.replace(/\/v1$/, ''),
    setting: 'vehicleData.baseUrl',
    connections: 2,
    ...settings,
    now: () => new Date(),
  })
  const vehicleData = vehicleDataCalls<Reach>(vehicleHttp, { apiKey: 'sekret-vehicle' }, wire, {
    concurrency: 2,
  })
  open.push(
    () => source[Symbol.asyncDispose](),
    () => http.close(),
    () => vehicleHttp.close(),
  )
  const client = new ServiceClient<Reach>({ appraisal: calls, vehicleData, wire, reach })
  return { client, source }
}

const everything = ['read', 'write', 'bill'] as const

test('a client that reads takes no operation that writes or bills, at compile time and at run time', async () => {
  const { client, source } = await start((response) => json(response, []), ['read'])
  const asked = { rooftop: north, fields: { vin: 'SAMPLEAU000000001' } }

  // @ts-expect-error a client that reads may not call a write
  await expect(client.call(enterVin, asked)).rejects.toThrow(
    'entervin is a write: this client may not call it',
  )
  // @ts-expect-error a client that reads may not call a bill
  const bill = client.call(searchPpsr, { rooftop: north, fields: { evalid: 1 } })
  await expect(bill).rejects.toThrow('ppsrsearch is a bill: this client may not call it')
  expect((await client.call(listUsers, { rooftop: north, fields: {} })).answer()).toEqual([])
  expect(source.received.map(({ path }) => path)).toEqual(['/v1/getuserlist'])
})

test('a field of a wrong type does not compile, and is not sent', async () => {
  const { client, source } = await start((response) => json(response, []), ['read'])

  // @ts-expect-error evalid is a number
  const call = client.call(getEvaluation, { rooftop: north, fields: { evalid: 'x' } })
  await expect(call).rejects.toThrow('evalid')
  expect(source.received).toEqual([])
})

test('a JSON body, a query and a path carry the fields by their names', async () => {
  const { client, source } = await start((response) => json(response, []), everything)

  await client.call(getEvaluation, { rooftop: north, fields: { evalid: 7 } })
  await client.call(getPricing, { rooftop: north, fields: { evalid: 7, reasoning: true } })
  await client.call(getPricing, { rooftop: north, fields: { evalid: 8 } })

  const sent = source.received.map(({ method, path, body }) => [method, path, body])
  expect(sent).toEqual([
    // The key's user goes with /geteval alone.
    ['POST', '/v1/geteval', '{"evalid":7,"user":"owner@group.test"}'],
    ['GET', '/v1/pricingAi/payload/7?reasoning=true', ''],
    ['GET', '/v1/pricingAi/payload/8', ''],
  ])
  expect(source.received[1]!.headers).toMatchObject({
    authorization: 'sekret-partner',
    'x-dealer-id': 'uid-north',
  })
})

test('a form carries texts and files, streamed from the disk', async () => {
  const { client, source } = await start(
    (response) => json(response, { CarPics: [] }, 201),
    everything,
  )
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'front left.jpg')
  await writeFile(file, Buffer.alloc(300_000, 'x'))

  const fields = { evalid: 7, order: 2 }
  const { status, answer } = await client.call(uploadImage, {
    rooftop: north,
    fields,
    files: [file],
  })

  expect([status, answer()]).toEqual([201, { CarPics: [] }])
  const { headers, body } = source.received[0]!
  expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
  expect(body).toContain('name="evalid"\r\n\r\n7\r\n')
  expect(body).toContain('name="file"; filename="front left.jpg"\r\nContent-Type: image/jpeg')
  expect(body.match(/x{300000}/)).not.toBeNull()
})

test('the vehicle-data APIs get their key, their form fields and their wire names', async () => {
  const wire = wireSettings.parse({
    vehicleData: {
      auDecode: { vin: 'chassis', make: ['manufacturer', 'make'], adcode: 'codes.ad' },
      priceGuide: { gccSpec: 'spec', saleYear: 'year' },
    },
  })
  const { client, source } = await start(
    (response) => json(response, { manufacturer: 'Toyota', codes: { ad: 'A1' } }),
    everything,
    wire,
  )

  const decoded = await client.call(decodeAu, { fields: { vin: 'SAMPLEAU000000001' } })
  await client.call(getPriceGuide, { fields: { adcode: 'A1', gccSpec: false, saleYear: 2024 } })

  expect(decoded.answer()).toMatchObject({ make: 'Toyota', adcode: 'A1', model: null })
  const [first, second] = source.received
  expect([first!.path, first!.headers.authorization]).toEqual([
    '/v1/vindatabasic',
    'sekret-vehicle',
  ])
  expect(first!.body).toContain('name="chassis"\r\n\r\nSAMPLEAU000000001')
  expect(second!.body).toContain('name="spec"\r\n\r\nfalse')
  expect(second!.body).toContain('name="year"\r\n\r\n2024')
})

test('a price batch is submitted and polled as the wire settings say', async () => {
  const wire = wireSettings.parse({
    vehicleData: {
      priceBatch: {
        submit: { encoding: 'form', vehicles: 'cars', reference: 'ref', batchId: 'data.id' },
        poll: {
          method: 'POST',
          path: '/v1/batch/{batchId}/state',
          percentComplete: 'pc',
          results: 'rows',
        },
      },
    },
  })
  const { client, source } = await start(
    (response, { path }) =>
      json(
        response,
        path.endsWith('/state')
          ? { pc: '100', rows: [{ reference: 'S-1', retail: '12.5', error: null }] }
          : { data: { id: 77 } },
      ),
    ['read'],
    wire,
  )
  const vehicles = [{ reference: 'S-1', adcode: 'A1', km: 5 }]

  const batch = (await client.call(submitPriceBatch, { fields: { vehicles } })).answer()
  const { answer } = await client.call(pollPriceBatch, { fields: { batchId: batch.batchId! } })

  expect(batch).toEqual({ batchId: '77' })
  expect(answer()).toMatchObject({
    percentComplete: 100,
    results: [{ reference: 'S-1', retail: 12.5, wholesale: null, error: null }],
  })
  expect(source.received[0]!.body).toContain('[{"ref":"S-1","adcode":"A1","km":5}]')
  expect([source.received[1]!.method, source.received[1]!.path]).toEqual([
    'POST',
    '/v1/batch/77/state',
  ])
})

test('a 2xx body with an error is an error, and one of another shape names the paths', async () => {
  let body: unknown = { error: 'VIN cannot be decoded' }
  const { client } = await start((response) => json(response, body), everything)
  const call = () => client.call(enterVin, { rooftop: north, fields: { vin: 'X' } })

  await expect(call()).rejects.toMatchObject({
    errorAction: 'skip',
    message: expect.stringContaining('is an error: "VIN cannot be decoded"'),
  })
  body = { prices: { wholesale: 'much' } }
  const pricing = await client.call(getPricing, { rooftop: north, fields: { evalid: 1 } })
  expect(() => pricing.answer()).toThrow(/confidence \(invalid_type\).*prices.wholesale/)
})

test.each([
  [400, 'skip'],
  [404, 'skip'],
  [403, 'abort'],
  [429, 'park'],
])('a documented %i is not repeated, and its action is %s', async (status, errorAction) => {
  const { client, source } = await start(
    (response) => json(response, { message: 'No luck today' }, status),
    everything,
  )

  const call = client.call(searchPpsr, { rooftop: north, fields: { evalid: 1 }, naturalKey: '1' })

  // The text of the error is at the path of wire.appraisal.error.
  await expect(call).rejects.toMatchObject({
    errorAction,
    status,
    message: expect.stringContaining('answered ' + status + ': "No luck today" (1 attempt). Doc'),
  })
  expect(source.received).toHaveLength(1)
})

test('what writes or bills is sent once, whatever happens; a read is sent again', async () => {
  const { client, source } = await start((response) => void response.destroy(), everything)

  const bill = client.call(searchPpsr, { rooftop: north, fields: { evalid: 1 } })
  await expect(bill).rejects.toThrow('was not repeated because it may have taken effect')
  const batch = client.call(submitPriceBatch, { fields: { vehicles: [{ reference: 'a' }] } })
  await expect(batch).rejects.toThrow('was not repeated')
  expect(source.received).toHaveLength(2)
  await expect(client.call(listUsers, { rooftop: north, fields: {} })).rejects.toThrow('2 attempts')
})

test('a read that was cut off is asked for again; a write is not, since it took effect', async () => {
  const { client, source } = await start((response, _request, n) => {
    if (n === 1) response.end('[{"Name":"Ann","Em')
    else json(response, [])
  }, everything)

  expect((await client.call(listUsers, { rooftop: north, fields: {} })).answer()).toEqual([])
  expect(source.received).toHaveLength(2)

  const cut = await start((response) => void response.end('{"EvalID":1,"VI'), everything)
  const write = cut.client.call(enterVin, { rooftop: north, fields: { vin: 'X' } })
  await expect(write).rejects.toThrow('cannot be read')
  expect(cut.source.received).toHaveLength(1)
})

test('a call waits for a rate limit that names a time, whatever else a 429 means', async () => {
  const { client, source } = await start((response, _request, n) => {
    if (n === 1) json(response, {}, 429, { 'retry-after': '1' })
    else json(response, { message: 'quota' }, 429)
  }, everything)

  const call = client.call(getPricing, { rooftop: north, fields: { evalid: 7 } })

  await expect(call).rejects.toMatchObject({ errorAction: 'park' })
  expect(source.received).toHaveLength(2)
})

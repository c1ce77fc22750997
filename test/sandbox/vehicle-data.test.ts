import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { checkHistory } from '#src/api/contract/vehicle-data/checks.ts'
import { decodeAu, decodeGcc } from '#src/api/contract/vehicle-data/decode.ts'
import { predictPrice } from '#src/api/contract/vehicle-data/prediction.ts'
import { pollPriceBatch } from '#src/api/contract/vehicle-data/prices.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire, wireSettings } from '#src/values/wire.ts'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { ask } from './ask.ts'
import { type FormValue, get, sendForm, sendJson } from './ask-vehicle-data.ts'

// What the vehicle-data APIs do beyond the rows of test/conformance: the same answer for the same VIN, vehicles that were
// appraised, the virtual clock, the wire settings, and what is refused without a word of the document.

const now = new Date('2026-03-10T00:00:00Z')
const gccDecode = '/v1/gccfactoryvinext'
const auDecode = '/v1/vindatabasic'
const history = '/v1/historyCheck'
const ppsr = '/v1/ppsrNewSearch'
const guide = '/v1/gccpriceguide'
const batch = '/v1/price-batch'
const prediction = '/v1/prediction'
const adcode = 'AU0TOYHILUX01'
const gccCode = 'GC0TOYLANDC01'
const auVin = 'SAMPLEAU000000001'
const gccVin = 'SAMPLEGCC00000001'

function start(options: SandboxOptions = {}) {
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world: worldOf(), clock, ...options })
}

test.each<[string, Record<string, FormValue>, number]>([
  [gccDecode, { vin: auVin }, 404],
  [gccDecode, { vin: 'IIIIIIIIIIIIIIIII' }, 404],
  [auDecode, { vin: gccVin }, 404],
  [auDecode, { vin: 'SHORT' }, 400],
  [history, { vin: gccVin }, 200],
  [ppsr, { vin: 'SAMPLEUS000000001' }, 404],
  [ppsr, { vin: 'SAMPLEAU000000004' }, 400],
  [ppsr, { vin: 'SHORT' }, 400],
  [guide, { adcode, saleMonth: 3 }, 400],
  [guide, { adcode, saleYear: 2025 }, 400],
  [guide, { adcode, saleMonth: 13, saleYear: 2025 }, 400],
  [guide, { adcode, km: -1 }, 400],
  [guide, { adcode, gccSpec: 'perhaps' }, 400],
  [guide, { adcode, gccSpec: 1 }, 200],
  [guide, { adcode: 'US0FORF150X01' }, 404],
  [guide, { vin: auVin, market: 'AE' }, 404],
  [guide, { vin: 'SHORT' }, 400],
  [prediction, { adcode, predictDate: '2026-03-10' }, 200],
  [prediction, { adcode, predictDate: '2026-02-30' }, 400],
  [prediction, { adcode, predictDate: '2026-03-01T00:00:00Z' }, 400],
  [prediction, { adcode, reasoning: 'perhaps' }, 400],
  [prediction, { vin: 'SHORT' }, 400],
])('%s with %j is a %i', async (path, fields, expected) => {
  await using sandbox = await start()

  const { status, json } = await sendForm(sandbox, path, fields)
  expect(status).toBe(expected)
  if (status >= 400) expect(json).toEqual({ error: expect.any(String) })
})

test('a VIN always decodes to the same and has the same history, in any case', async () => {
  await using one = await start()
  await using other = await start()
  const vin = 'JTMDFREV90D654321'

  for (const path of [gccDecode, history]) {
    const first = await sendForm(one, path, { vin })
    expect(first.status).toBe(200)
    expect(await sendForm(other, path, { vin: vin.toLowerCase() })).toEqual(first)
  }
})

test('the client reads every field of a decode, a history and a completed prediction', async () => {
  await using sandbox = await start()
  const gcc = await sendForm(sandbox, gccDecode, { vin: gccVin })
  const au = await sendForm(sandbox, auDecode, { vin: auVin, clientReference: 'r' })
  const report = await sendForm(sandbox, history, { vin: 'SAMPLEUS000000001' })
  const asked = await sendForm(sandbox, prediction, { vin: gccVin, reasoning: true })
  sandbox.clock.advance(90_000)
  const { json } = await get(sandbox, `${prediction}/${asked.json['requestId']}`)

  const read = [
    decodeGcc.read(gcc.json, defaultWire),
    decodeAu.read(au.json, defaultWire),
    checkHistory.read(report.json, defaultWire),
    predictPrice.read(json, defaultWire),
  ]
  expect(read.flatMap((one) => Object.values(one))).not.toContain(null)
})

test('a VIN that was appraised is what the evaluation says, priced in the region of its rooftop', async () => {
  const evaluation = anEvaluation({ make: 'Mazda', model: 'CX-5', variant: 'Akera', year: 2019 })
  await using sandbox = await start({ world: worldOf({ evaluations: [evaluation] }) })
  const vin = evaluation.vin!

  const decoded = await sendForm(sandbox, auDecode, { vin })
  const priced = await sendForm(sandbox, guide, { vin })
  expect(decoded.json).toMatchObject({ make: 'Mazda', model: 'CX-5', modelYear: '2019' })
  expect(priced.json).toMatchObject({
    adcode: expect.stringMatching(/^AU0MAZ/),
    currency: 'AUD',
  })
})

test('without a market the currency is that of the region of the vehicle', async () => {
  await using sandbox = await start()

  const currencies: unknown[] = []
  for (const fields of [
    { adcode: adcode.toLowerCase() },
    { adcode: gccCode },
    { vin: auVin },
    { vin: gccVin },
  ])
    currencies.push((await sendForm(sandbox, guide, fields)).json['currency'])
  expect(currencies).toEqual(['AUD', 'AED', 'AUD', 'AED'])
})

const picture = { width: 60, height: 20, channels: 3, background: 'white' } as const

test('a VIN is read in the EXIF description of a JPG and in a text of a PNG', async () => {
  await using sandbox = await start()
  const exif = { IFD0: { ImageDescription: gccVin } }
  const jpeg = await sharp({ create: picture }).jpeg().withExif(exif).toBuffer()
  const png = withText(await sharp({ create: picture }).png().toBuffer(), gccVin)

  for (const image of [
    new File([Uint8Array.from(jpeg)], 'photo.jpg'),
    new File([png], 'photo.png'),
  ]) {
    const { json } = await sendForm(sandbox, gccDecode, { image })
    expect(json['VehicleData']).toMatchObject({ VIN: gccVin })
  }
})

/** A PNG with a tEXt chunk after its header. */
function withText(image: Buffer, text: string): Buffer<ArrayBuffer> {
  const data = Buffer.from(`tEXtDescription\0${text}`, 'latin1')
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length - 4)
  checksum.writeUInt32BE(crc32(data))
  const afterHeader = 33
  return Buffer.concat([
    image.subarray(0, afterHeader),
    length,
    data,
    checksum,
    image.subarray(afterHeader),
  ])
}

interface History {
  readonly clean: boolean
  readonly titles: { date: string; odometer: number }[]
  readonly brands: unknown[]
  readonly salvage: unknown[]
  readonly accidents: unknown[]
  readonly thefts: unknown[]
  readonly liens: unknown[]
}

test('histories are clean without brands and salvage, and their odometers rise, all in the past', async () => {
  await using sandbox = await start()
  const letters = 'ABCDEFGHJKLMNPRSTUVWXYZ'
  const vins = Array.from({ length: 40 }, (_, at) => `WVWZZZ1KZ${letters[at % 23]}W0000${10 + at}`)

  const answers = await Promise.all(vins.map((vin) => sendForm(sandbox, history, { vin })))
  const reports = answers.map(({ json }) => json as unknown as History)

  for (const { clean, brands, salvage, titles } of reports) {
    expect(clean).toBe(brands.length === 0 && salvage.length === 0)
    expect(titles.length).toBeGreaterThan(0)
    expect(titles).toEqual(titles.toSorted((a, b) => a.odometer - b.odometer))
    expect(titles).toEqual(titles.toSorted((a, b) => (a.date < b.date ? -1 : 1)))
    expect(titles.at(-1)!.date < now.toISOString()).toBe(true)
  }
  expect(new Set(reports.map(({ clean }) => clean))).toEqual(new Set([true, false]))
  const lists = ['titles', 'brands', 'salvage', 'accidents', 'thefts', 'liens'] as const
  for (const list of lists) expect(reports.some((one) => one[list].length > 0)).toBe(true)
})

test('PPSR searches of the two services do not see each other', async () => {
  const evaluation = anEvaluation()
  await using sandbox = await start({ world: worldOf({ evaluations: [evaluation] }) })
  await sendForm(sandbox, ppsr, { vin: evaluation.vin! })

  expect((await ask(sandbox, '/getpastppsrsearch', { evalid: 1001 })).json).toEqual([])
  const { ref } = sandbox.checks.add({
    kind: 'ppsr',
    groupId: 'group-1',
    rooftopUid: 'rooftop-1',
    evalId: 1001,
    vin: evaluation.vin!,
    searchedAt: now,
  })
  expect(await get(sandbox, `${ppsr}/${ref}`)).toEqual({
    status: 404,
    json: { error: 'Search not found' },
  })
})

const stock = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ reference: `S-${at}`, adcode, km: at * 100 }))

async function submit(sandbox: Sandbox, vehicles: readonly object[], market?: string) {
  const { json } = await sendJson(sandbox, batch, { vehicles, market })
  return json['batchId'] as string
}

const poll = (sandbox: Sandbox, batchId: string) => get(sandbox, `${batch}/${batchId}`)

/** The results as the client reads them, after an hour. */
async function resultsOf(sandbox: Sandbox, vehicles: readonly object[], market?: string) {
  const batchId = await submit(sandbox, vehicles, market)
  sandbox.clock.advance(3_600_000)
  const { json } = await poll(sandbox, batchId)
  return pollPriceBatch.read(json, defaultWire).results!
}

test('a batch rises to 100 percent by the clock, only then has results, and never falls', async () => {
  await using sandbox = await start()
  const batchId = await submit(sandbox, stock(500))

  const first = await poll(sandbox, batchId)
  sandbox.clock.advance(3000)
  const second = await poll(sandbox, batchId)
  sandbox.clock.advance(5000)
  const third = await poll(sandbox, batchId)
  sandbox.clock.set(new Date('2020-01-01T00:00:00Z'))

  expect(first).toEqual({ status: 200, json: { percentComplete: 10 } })
  expect(second).toEqual({ status: 200, json: { percentComplete: 50 } })
  expect(third.json).toMatchObject({ percentComplete: 100 })
  expect(third.json['results']).toHaveLength(500)
  expect(await poll(sandbox, batchId)).toEqual(third)
})

test('polls end a batch when the clock is frozen', async () => {
  await using sandbox = await start()
  const batchId = await submit(sandbox, stock(1))

  const percents = []
  for (let polls = 0; polls < 3; polls++)
    percents.push((await poll(sandbox, batchId)).json['percentComplete'])
  expect(percents).toEqual([50, 100, 100])
})

test.each([2, 50])('%i results are in another order than the vehicles', async (count) => {
  await using sandbox = await start()

  const references = (await resultsOf(sandbox, stock(count))).map(({ reference }) => reference)
  const sent = stock(count).map(({ reference }) => reference)
  expect(references).not.toEqual(sent)
  expect(references.toSorted()).toEqual(sent.toSorted())
})

test('a vehicle that cannot be priced has an error and does not affect others', async () => {
  await using sandbox = await start()

  const results = await resultsOf(
    sandbox,
    [
      { reference: 'unknown VIN', vin: 'SAMPLEXX000000000' },
      { reference: 'neither' },
      { reference: 'good', adcode: gccCode },
    ],
    'KW',
  )

  const unpriced = { retail: null, wholesale: null, currency: null, error: expect.any(String) }
  for (const reference of ['unknown VIN', 'neither'])
    expect(results).toContainEqual(expect.objectContaining({ reference, ...unpriced }))
  expect(results).toContainEqual(
    expect.objectContaining({ reference: 'good', currency: 'KWD', error: null }),
  )
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

test('names, encoding and the way of polling of a batch follow the wire settings', async () => {
  const priceBatch = {
    submit: {
      encoding: 'form',
      vehicles: 'items',
      reference: 'stockNo',
      adcode: 'code',
      km: 'odo',
      batchId: 'job.id',
    },
    poll: {
      method: 'POST',
      path: '/v1/batch-result',
      percentComplete: 'job.percent',
      results: 'job.items',
      reference: 'stockNo',
      retail: 'price.retail',
    },
  }
  await using sandbox = await start({ wire: wireSettings.parse({ vehicleData: { priceBatch } }) })
  const items = JSON.stringify([{ stockNo: 'S-1', code: adcode, odo: 48_000 }])

  const submitted = await sendForm(sandbox, batch, { items })
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

test('names that are not shown follow the wire settings', async () => {
  const wire = wireSettings.parse({
    vehicleData: {
      gccDecode: { image: 'photo', series: 'Extra.SeriesName', interiorColour: 'Trim' },
      auDecode: { vin: 'chassis', clientReference: 'ref', make: 'v.make', echo: 'v.ref' },
      historyCheck: { vin: 'chassis', clean: 'summary.clean' },
      ppsrSearch: {
        vin: 'chassis',
        searchId: 'search.ref',
        watchPath: '/v1/watch/{searchId}/status',
        watchStatus: 'watch.state',
      },
      priceGuide: { vin: 'chassis', gccSpec: 'spec', saleMonth: 'month', saleYear: 'year' },
      prediction: {
        adcode: 'code',
        reasoning: 'explain',
        requestId: 'request.id',
        pollPath: '/v1/prediction/{requestId}/result',
        status: 'request.state',
        dealer: 'why.dealer',
      },
    },
  })
  await using sandbox = await start({ wire })
  const chassis = auVin
  const jpeg = Uint8Array.from(await sharp({ create: picture }).jpeg().toBuffer())

  const gcc = await sendForm(sandbox, gccDecode, { photo: new File([jpeg], `${gccVin}.jpg`) })
  const au = await sendForm(sandbox, auDecode, { chassis, ref: 'r-1' })
  const report = await sendForm(sandbox, history, { chassis })
  const search = await sendForm(sandbox, ppsr, { chassis })
  const { ref } = search.json['search'] as { ref: string }
  const watch = await get(sandbox, `/v1/watch/${ref}/status`)
  const dated = await sendForm(sandbox, guide, { chassis, spec: true, month: 3, year: 2025 })
  const future = await sendForm(sandbox, guide, { chassis, month: 4, year: 2026 })
  const asked = await sendForm(sandbox, prediction, { code: adcode, explain: true })
  const { id } = asked.json['request'] as { id: string }

  const text = expect.any(String)
  expect(gcc.json).toMatchObject({ Extra: { SeriesName: text }, Trim: text })
  expect(au.json).toMatchObject({ v: { make: 'Toyota', ref: 'r-1' } })
  expect(report.json['summary']).toEqual({ clean: expect.any(Boolean) })
  expect(watch).toEqual({ status: 200, json: { watch: { state: 'watching' } } })
  expect([dated, future].map(({ status }) => status)).toEqual([200, 400])
  expect(asked.json).toMatchObject({ request: { state: 'processing' }, why: { dealer: null } })
  expect(await get(sandbox, `/v1/prediction/${id}/result`)).toEqual(asked)
})

import { expect, test } from 'vitest'
import { anEvaluation, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'
import { type FormValue, sendForm } from './ask-vehicle-data.ts'

const now = new Date('2026-03-10T00:00:00Z')
const path = '/v1/gccpriceguide'
const auCode = 'AU0TOYHILUX01'
const gccCode = 'GC0TOYLANDC01'

function start(options: SandboxOptions = {}) {
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world: worldOf(), clock, ...options })
}

const guide = (sandbox: Sandbox, fields: Readonly<Record<string, FormValue>>) =>
  sendForm(sandbox, path, fields)

/** The highest retail price of a vehicle. */
async function price(sandbox: Sandbox, fields: Readonly<Record<string, FormValue>>) {
  const { json } = await guide(sandbox, fields)
  return json['highRetail'] as number
}

test('a code is priced with the documented fields in local currency', async () => {
  await using sandbox = await start()

  const { status, json } = await guide(sandbox, { adcode: auCode, market: 'AU', km: 48_000 })

  expect(status).toBe(200)
  const prices = json as Record<string, number>
  expect(json).toEqual({
    adcode: auCode,
    highRetail: expect.any(Number),
    lowRetail: expect.any(Number),
    highWholesale: expect.any(Number),
    lowWholesale: expect.any(Number),
    highWholesalePerfect: expect.any(Number),
    lowWholesalePerfect: expect.any(Number),
    currency: 'AUD',
  })
  expect(prices['lowRetail']).toBeLessThan(prices['highRetail']!)
  expect(prices['highWholesale']).toBeLessThan(prices['highWholesalePerfect']!)
  expect(prices['lowWholesalePerfect']).toBeLessThan(prices['lowRetail']!)
})

test.each([
  ['AU', 'AUD'],
  ['AE', 'AED'],
  ['sa', 'SAR'],
  ['QA', 'QAR'],
  ['KW', 'KWD'],
  ['BH', 'BHD'],
  ['OM', 'OMR'],
])('market %s is priced in %s', async (market, currency) => {
  await using sandbox = await start()

  expect((await guide(sandbox, { adcode: gccCode, market })).json).toMatchObject({ currency })
})

test.each([
  ['US', 400],
  ['GB', 400],
  ['UAE', 400],
  ['constructor', 400],
])('market %s is without coverage', async (market, expected) => {
  await using sandbox = await start()

  const { status, json } = await guide(sandbox, { adcode: gccCode, market })
  expect(status).toBe(expected)
  expect(json).toEqual({ error: expect.stringContaining('AU, AE, SA, QA, KW, BH, OM') })
})

test('without a market the currency is that of the region of the vehicle', async () => {
  await using sandbox = await start()
  const currencyOf = async (fields: Record<string, string>) =>
    (await guide(sandbox, fields)).json['currency']

  expect(await currencyOf({ adcode: auCode.toLowerCase() })).toBe('AUD')
  expect(await currencyOf({ adcode: gccCode })).toBe('AED')
  expect(await currencyOf({ vin: 'SAMPLEAU000000001' })).toBe('AUD')
  expect(await currencyOf({ vin: 'SAMPLEGCC00000001' })).toBe('AED')
})

test('a VIN that was appraised is priced in the region of its rooftop', async () => {
  const evaluation = anEvaluation({ make: 'Mazda', model: 'CX-5', variant: 'Akera' })
  await using sandbox = await start({ world: worldOf({ evaluations: [evaluation] }) })

  const { json } = await guide(sandbox, { vin: evaluation.vin! })
  expect(json).toMatchObject({ adcode: expect.stringMatching(/^AU0MAZ/), currency: 'AUD' })
})

test('more kilometres are worth less, and missing kilometres count as average', async () => {
  await using sandbox = await start()
  const vin = 'SAMPLEAU000000001'

  const little = await price(sandbox, { vin, km: 0 })
  const average = await price(sandbox, { vin })
  const much = await price(sandbox, { vin, km: 400_000 })
  expect(little).toBeGreaterThan(average)
  expect(average).toBeGreaterThan(much)
})

test('a non-GCC specification is worth less', async () => {
  await using sandbox = await start()
  const spec = (gccSpec: boolean) => price(sandbox, { adcode: gccCode, market: 'AE', gccSpec })

  expect(await spec(false)).toBeLessThan(await spec(true))
})

test('an earlier month of sale is priced as of then', async () => {
  await using sandbox = await start()
  const vin = 'SAMPLEAU000000001'

  const today = await price(sandbox, { vin, km: 90_000 })
  const thisMonth = await price(sandbox, { vin, km: 90_000, saleMonth: 3, saleYear: 2026 })
  const earlier = await price(sandbox, { vin, km: 90_000, saleMonth: 3, saleYear: 2021 })
  expect(thisMonth).toBe(today)
  expect(earlier).toBeGreaterThan(today)
})

test.each<[string, Record<string, FormValue>, number]>([
  ['a month of sale five years ago', { saleMonth: 3, saleYear: 2021 }, 200],
  ['a month of sale more than five years ago', { saleMonth: 2, saleYear: 2021 }, 400],
  ['a month of sale in the future', { saleMonth: 4, saleYear: 2026 }, 400],
  ['a month without a year', { saleMonth: 3 }, 400],
  ['a year without a month', { saleYear: 2025 }, 400],
  ['a month that is none', { saleMonth: 13, saleYear: 2025 }, 400],
  ['kilometres that are no number', { km: 'many' }, 400],
  ['kilometres below zero', { km: -1 }, 400],
  ['a switch that is neither', { gccSpec: 'perhaps' }, 400],
  ['a switch as a number', { gccSpec: 1 }, 200],
])('%s is a %3$i', async (_name, fields, expected) => {
  await using sandbox = await start()

  expect((await guide(sandbox, { adcode: auCode, ...fields })).status).toBe(expected)
})

test.each<[string, Record<string, FormValue>, number]>([
  ['neither code nor VIN', { market: 'AU' }, 400],
  ['an unknown code', { adcode: 'AU0NOTHINGX01' }, 404],
  ['a vehicle of a region without coverage', { adcode: 'US0FORF150X01' }, 404],
  ['an undecodable VIN', { vin: 'SAMPLEXX000000000' }, 404],
  ['a VIN of another market', { vin: 'SAMPLEAU000000001', market: 'AE' }, 404],
  ['a VIN that is too short', { vin: 'SHORT' }, 400],
])('%s is a %3$i', async (_name, fields, expected) => {
  await using sandbox = await start()

  const { status, json } = await guide(sandbox, fields)
  expect(status).toBe(expected)
  expect(json).toEqual({ error: expect.any(String) })
})

test('the key is needed', async () => {
  await using sandbox = await start()
  const statusWith = async (key: string | null) =>
    (await sendForm(sandbox, path, { adcode: auCode }, key)).status

  expect([await statusWith(null), await statusWith('wrong')]).toEqual([401, 403])
})

test('names that are not shown follow the wire settings', async () => {
  const priceGuide = { vin: 'chassis', gccSpec: 'spec', saleMonth: 'month', saleYear: 'year' }
  await using sandbox = await start({ wire: wireSettings.parse({ vehicleData: { priceGuide } }) })
  const chassis = 'SAMPLEGCC00000001'

  const answers = [
    await guide(sandbox, { chassis, spec: true, month: 3, year: 2025 }),
    await guide(sandbox, { chassis, month: 4, year: 2026 }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 400])
})

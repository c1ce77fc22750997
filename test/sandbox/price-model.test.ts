import fc from 'fast-check'
import { expect, test } from 'vitest'
import { catalogue, describe, generatedModels, vehicleByCode } from '#src/sandbox/catalogue.ts'
import { decodeVin } from '#src/sandbox/find-vehicle.ts'
import { currencySymbol, modelPrices, type PriceRequest } from '#src/sandbox/price-model.ts'

const regions = ['AU', 'US', 'GCC'] as const
const asks: fc.Arbitrary<PriceRequest> = fc.record({
  vehicle: fc.constantFrom(...catalogue),
  year: fc.integer({ min: 1985, max: 2027 }),
  km: fc.option(fc.integer({ min: 0, max: 600_000 })),
  at: fc.date({ min: new Date('2021-01-01'), max: new Date('2031-01-01'), noInvalidDate: true }),
  currency: fc.constantFrom('AUD', 'USD', 'AED', 'KWD', 'BHD', 'OMR', 'SAR', 'QAR'),
  gccSpec: fc.boolean(),
})
const vins = fc.string({
  unit: fc.constantFrom(...'ABCDEFGHJKLMNPRSTUVWXYZ0123456789'),
  minLength: 17,
  maxLength: 17,
})

test('prices are whole, in order and within their ranges', () => {
  fc.assert(
    fc.property(asks, (ask) => {
      const { confidence, ...prices } = modelPrices(ask)

      const { quickSale, wholesale, buyToRetail, sweetSpot, retail } = prices
      const ladder = [0, quickSale, wholesale, buyToRetail, sweetSpot, retail]
      expect(ladder).toEqual([...new Set(ladder)].sort((a, b) => a - b))
      expect(Object.values(prices).every(Number.isInteger)).toBe(true)
      expect(prices.retailLow).toBeLessThan(retail)
      expect(prices.retailHigh).toBeGreaterThan(retail)
      expect(prices.wholesaleLow).toBeLessThan(wholesale)
      expect(prices.wholesaleHigh).toBeGreaterThan(wholesale)
      expect(prices.wholesalePerfectLow).toBeGreaterThan(prices.wholesaleLow)
      expect(prices.wholesalePerfectHigh).toBeGreaterThan(prices.wholesaleHigh)
      expect(['high', 'medium', 'low']).toContain(confidence)
    }),
  )
})

test('neither a year of age nor more kilometres raise a price', () => {
  fc.assert(
    fc.property(asks, fc.integer({ min: 1, max: 200_000 }), (ask, more) => {
      const { retail } = modelPrices(ask)

      const older = modelPrices({ ...ask, year: ask.year - 1 })
      const driven = modelPrices({ ...ask, km: (ask.km ?? 250_000) + more })
      expect(older.retail).toBeLessThanOrEqual(retail)
      expect(driven.retail).toBeLessThanOrEqual(retail)
    }),
  )
})

test('a vehicle that was not built for the GCC is worth less there', () => {
  const vehicle = vehicleByCode('GC0TOYLANDC01')!
  const ask = { vehicle, year: 2020, km: 90_000, at: new Date('2026-03-10'), currency: 'AED' }

  expect(modelPrices({ ...ask, gccSpec: false }).retail).toBeLessThan(modelPrices(ask).retail * 0.9)
})

test('the market changes each month and is constant within a month', () => {
  const vehicle = vehicleByCode('AU0TOYHILUX01')!
  const retailAt = (at: string) =>
    modelPrices({ vehicle, year: 2027, km: 0, at: new Date(at), currency: 'AUD' }).retail

  expect(retailAt('2026-03-01')).toBe(retailAt('2026-03-31'))
  expect(retailAt('2026-03-01')).not.toBe(retailAt('2026-04-01'))
})

test('a dinar is worth more than a dirham, and has no symbol but its code', () => {
  const vehicle = vehicleByCode('GC0NISPATRL01')!
  const ask = { vehicle, year: 2020, km: null, at: new Date('2026-03-10') }

  const [dinars, dirhams] = ['KWD', 'AED'].map((currency) => modelPrices({ ...ask, currency }))
  expect(dirhams!.retail / dinars!.retail).toBeCloseTo(11.97, 1)
  expect(['AUD', 'KWD'].map(currencySymbol)).toEqual(['$', 'KWD'])
})

test('every model of a generated world is in the catalogue, under a code of 13 characters', () => {
  const names = catalogue.map((one) => `${one.region} ${describe(one)}`)
  const wanted = regions.flatMap((region) =>
    generatedModels
      .filter(({ badge }) => badge.region === region)
      .flatMap(({ badge: { make, model }, variants }) =>
        variants.map(([variant]) => `${region} ${make} ${model} ${variant}`),
      ),
  )

  expect(names).toEqual(expect.arrayContaining(wanted))
  expect(new Set(names).size).toBe(catalogue.length)
  expect(new Set(catalogue.map(({ adcode }) => adcode)).size).toBe(catalogue.length)
  expect(catalogue.every(({ adcode }) => adcode.length === 13)).toBe(true)
})

test('a VIN decodes to vehicles of its region that were sold in its year', () => {
  fc.assert(
    fc.property(vins, fc.constantFrom(...regions), (vin, region) => {
      const decoded = decodeVin(vin, region)

      expect(decodeVin(` ${vin.toLowerCase()} `, region)).toEqual(decoded)
      if (decoded.kind === 'unknown') throw new Error(`${vin} is unknown in ${region}`)
      const vehicles = decoded.kind === 'single' ? [decoded.vehicle] : decoded.vehicles
      expect(vehicles.length > 1).toBe(decoded.kind === 'ambiguous')
      for (const { region: sold, firstYear, lastYear } of vehicles) {
        expect(sold).toBe(region)
        expect(firstYear <= decoded.year && decoded.year <= lastYear).toBe(true)
      }
    }),
  )
})

test('about one VIN in five is ambiguous', () => {
  for (const region of regions) {
    const kinds = fc.sample(vins, { numRuns: 2000, seed: 7 }).map((vin) => decodeVin(vin, region))

    const share = kinds.filter(({ kind }) => kind === 'ambiguous').length / kinds.length
    expect(share).toBeGreaterThan(0.15)
    expect(share).toBeLessThan(0.25)
  }
})

test('a text that cannot be a VIN is unknown', () => {
  for (const vin of ['', 'SHORT', 'IIIIIIIIIIIIIIIII', '1HGCM82633A0O4352', '1HGCM82633A00435é'])
    expect(decodeVin(vin, 'AU')).toEqual({ kind: 'unknown' })
})

import { expect } from 'vitest'
import { samples } from '#src/sandbox/samples.ts'
import type { ApiSession } from './api-session.ts'
import { at, guideFields, listAt, number, numberAt, text } from './patterns.ts'
import { type Send, table, vehicle } from './row.ts'

const path = '/v1/gccpriceguide'
const batchPath = '/v1/price-batch'
const adcode = 'AU0TOYHILUX01'
const guide = (fields: Record<string, string> = {}): Send =>
  vehicle(path, { adcode, market: 'AU', ...fields })
const currencies = [
  ['AU', 'AUD'],
  ['AE', 'AED'],
  ['sa', 'SAR'],
  ['QA', 'QAR'],
  ['KW', 'KWD'],
  ['BH', 'BHD'],
  ['OM', 'OMR'],
] as const
const fields = [
  'highRetail',
  'lowRetail',
  'highWholesale',
  'lowWholesale',
  'highWholesalePerfect',
  'lowWholesalePerfect',
]
const sold = (fields: Record<string, string> = {}): Send =>
  vehicle(path, { vin: samples.auSingle.vin, km: '90000', ...fields })
const lowerThan =
  (name: string) =>
  (answer: { body: unknown }, { last }: ApiSession) =>
    expect(numberAt(answer.body, name)).toBeLessThan(numberAt(last.body, name))

const stock = [
  { reference: 'S-1', adcode, km: 48_000 },
  { reference: 'S-2', vin: samples.auSingle.vin, km: 20_000 },
  { reference: 'S-3', adcode: 'NO0SUCHCODE00' },
]
const submit = (body: unknown): Send => ({
  method: 'POST',
  path: batchPath,
  json: body,
  isVehicleData: true,
})
const poll = (id: unknown): Send => ({
  method: 'GET',
  path: `${batchPath}/${id}`,
  isVehicleData: true,
})
const pollLast = ({ answers }: ApiSession) => poll(at(answers[0]?.body, 'batchId'))
const untilDone = [
  submit({ vehicles: stock, market: 'AU' }),
  (session: ApiSession) => session.advance(600),
]

export const vehiclePriceRows = [
  ...table('V §4 /v1/gccpriceguide', [
    {
      says: '`adcode`, `market` (two-letter country code), `km`: 200 price guide result',
      send: guide({ km: '48000' }),
      status: 200,
      body: { adcode, currency: 'AUD' },
    },
    {
      says: 'price by VIN instead of code is supported',
      send: vehicle(path, { vin: samples.auSingle.vin, market: 'AU', km: '48000' }),
      status: 200,
      body: { adcode: text, highRetail: number },
    },
    { says: '`km`: number', send: guide({ km: 'many' }), status: 400 },
    {
      says: 'neither code nor VIN (reading: 400)',
      send: vehicle(path, { market: 'AU' }),
      status: 400,
    },
    {
      says: '404: VIN not found [V §7]',
      send: vehicle(path, { vin: samples.undecodable.vin, market: 'AU' }),
      status: 404,
    },
    {
      says: '404: a code that no vehicle has (reading)',
      send: guide({ adcode: 'NO0SUCHCODE00' }),
      status: 404,
    },
  ]),
  ...table('V §2 price guide result', [
    {
      says: 'adcode: string; no field but those of the result',
      send: guide(),
      status: 200,
      body: { adcode },
      check: ({ body }) => expect(Object.keys(Object(body)).sort()).toEqual(guideFields),
    },
    ...fields.map((name) => ({
      says: `${name}: number`,
      send: guide(),
      status: 200,
      body: { [name]: number },
    })),
    {
      says: 'every range goes from low to high',
      send: guide(),
      status: 200,
      check: ({ body }) => {
        for (const range of ['Retail', 'Wholesale', 'WholesalePerfect'])
          expect(numberAt(body, `low${range}`)).toBeLessThan(numberAt(body, `high${range}`))
      },
    },
    {
      says: 'wholesale for perfect-condition vehicles is the higher one, below retail',
      send: guide(),
      status: 200,
      check: ({ body }) => {
        const [wholesale, perfect, lowPerfect, retail] = [
          'highWholesale',
          'highWholesalePerfect',
          'lowWholesalePerfect',
          'lowRetail',
        ].map((name) => numberAt(body, name))
        expect(perfect).toBeGreaterThan(Number(wholesale))
        expect(retail).toBeGreaterThan(Number(lowPerfect))
      },
    },
    {
      says: 'currency: string, currency code',
      send: guide(),
      status: 200,
      body: { currency: 'AUD' },
    },
  ]),
  ...table('V §1 prices a vehicle', [
    {
      says: 'adjusted for mileage: more of it, a lower price',
      given: [guide({ km: '10000' })],
      send: guide({ km: '200000' }),
      status: 200,
      check: lowerThan('highRetail'),
    },
    {
      says: 'adjusted for GCC/non-GCC spec',
      given: [
        vehicle(path, { vin: samples.gccSingle.vin, market: 'AE', km: '1000', gccSpec: 'true' }),
      ],
      send: vehicle(path, {
        vin: samples.gccSingle.vin,
        market: 'AE',
        km: '1000',
        gccSpec: 'false',
      }),
      status: 200,
      check: lowerThan('highRetail'),
    },
    ...currencies.map(([market, currency]) => ({
      says: `market choice, values are in local currency: ${market}`,
      send: vehicle(path, {
        market,
        vin: market === 'AU' ? samples.auSingle.vin : samples.gccSingle.vin,
      }),
      status: 200,
      body: { currency },
    })),
    ...['US', 'GB', 'IN', 'UAE', 'constructor'].map((market) => ({
      says: `coverage: Australia and the six GCC countries only: not ${market}`,
      send: guide({ market }),
      status: 400,
      body: { error: expect.stringContaining('AU, AE, SA, QA, KW, BH, OM') },
    })),
    {
      says: 'back-dating by sale month and year: a higher price; this month is as without',
      given: [sold(), sold({ saleMonth: '3', saleYear: '2026' })],
      send: sold({ saleMonth: '3', saleYear: '2021' }),
      status: 200,
      check: ({ body }, { answers, last }) => {
        expect(last.body).toEqual(answers[0]?.body)
        expect(numberAt(body, 'highRetail')).toBeGreaterThan(numberAt(last.body, 'highRetail'))
      },
    },
  ]),
  ...table('V §8 limits', [
    {
      says: 'price guide: `km` omitted: average mileage for the age is assumed',
      given: [guide({ km: '1' }), guide({ km: '900000' })],
      send: guide(),
      status: 200,
      check: ({ body }, { answers }) => {
        const price = numberAt(body, 'highRetail')
        expect(price).toBeLessThan(numberAt(answers[0]?.body, 'highRetail'))
        expect(price).toBeGreaterThan(numberAt(answers[1]?.body, 'highRetail'))
      },
    },
    {
      says: 'price guide: up to five years in the past',
      send: guide({ saleMonth: '3', saleYear: '2021' }),
      status: 200,
    },
    {
      says: 'price guide: not a month more',
      send: guide({ saleMonth: '2', saleYear: '2021' }),
      status: 400,
    },
    {
      says: 'price guide: in the past: not in the future',
      send: guide({ saleMonth: '4', saleYear: '2026' }),
      status: 400,
    },
    { says: 'coverage: Australia', send: guide(), status: 200 },
    {
      says: 'coverage: the six GCC countries',
      send: vehicle(path, { vin: samples.gccSingle.vin, market: 'OM' }),
      status: 200,
      body: { currency: 'OMR' },
    },
    {
      says: 'maximum batch size: as many as that (reading)',
      limits: { batchVehicles: 3 },
      send: submit({ vehicles: stock }),
      status: 200,
    },
    {
      says: 'maximum batch size: there is one, its value not shown (reading: 413)',
      limits: { batchVehicles: 2 },
      send: submit({ vehicles: stock }),
      status: 413,
    },
  ]),
  ...table('V §4 /v1/price-batch', [
    {
      says: "a stock list, each vehicle with the caller's stock reference",
      send: submit({ vehicles: stock, market: 'AU' }),
      status: 200,
      check: ({ body }) => expect(at(body, 'batchId')).toMatch(/\S/),
    },
    ...[{ vehicles: [] }, {}, { vehicles: 'S-1' }].map((body) => ({
      says: `no vehicles (reading: 400): ${JSON.stringify(body)}`,
      send: submit(body),
      status: 400,
    })),
    {
      says: 'a market without coverage (reading: 400)',
      send: submit({ vehicles: stock, market: 'FR' }),
      status: 400,
    },
    {
      says: 'a vehicle without a stock reference (reading: 400)',
      send: submit({ vehicles: [{ adcode }] }),
      status: 400,
    },
    { says: 'a batch that was not submitted is not found', send: poll('B-none'), status: 404 },
  ]),
  ...table('V §3 price batch', [
    {
      says: 'processed asynchronously: not complete at once',
      given: [submit({ vehicles: stock, market: 'AU' })],
      send: pollLast,
      status: 200,
      check: ({ body }) => expect(numberAt(body, 'percentComplete')).toBeLessThan(100),
    },
    {
      says: 'polled by reference: a percent-complete status that rises',
      given: [submit({ vehicles: stock, market: 'AU' }), pollLast, (session) => session.advance(1)],
      send: pollLast,
      status: 200,
      check: ({ body }, { last }) =>
        expect(numberAt(body, 'percentComplete')).toBeGreaterThan(
          numberAt(last.body, 'percentComplete'),
        ),
    },
    {
      says: 'full results when complete',
      given: untilDone,
      send: pollLast,
      status: 200,
      body: { percentComplete: 100 },
      check: ({ body }) => expect(listAt(body, 'results')).toHaveLength(3),
    },
    {
      says: 'full results when complete: not before',
      given: [submit({ vehicles: stock, market: 'AU' })],
      send: pollLast,
      status: 200,
      check: ({ body }) => expect(at(body, 'results.0')).toBeUndefined(),
    },
  ]),
  ...table('V §2 price batch record', [
    {
      says: "the caller's stock reference on every vehicle",
      given: untilDone,
      send: pollLast,
      status: 200,
      check: ({ body }) => {
        const references = listAt(body, 'results').map(({ reference }) => reference)
        expect(references.toSorted()).toEqual(['S-1', 'S-2', 'S-3'])
        // By nothing else: the order is another one (reading).
        expect(references).not.toEqual(['S-1', 'S-2', 'S-3'])
      },
    },
    {
      says: 'retail and wholesale prices, confidence ranges',
      given: untilDone,
      send: pollLast,
      status: 200,
      check: ({ body }) => {
        for (const reference of ['S-1', 'S-2'])
          expect(listAt(body, 'results')).toContainEqual({
            reference,
            retail: number,
            retailLow: number,
            retailHigh: number,
            wholesale: number,
            wholesaleLow: number,
            wholesaleHigh: number,
            currency: 'AUD',
          })
      },
    },
    {
      says: 'a vehicle that cannot be priced is named by its reference (reading)',
      given: untilDone,
      send: pollLast,
      status: 200,
      check: ({ body }) =>
        expect(listAt(body, 'results').find(({ reference }) => reference === 'S-3')).toMatchObject({
          error: text,
        }),
    },
  ]),
]

import { expect } from 'vitest'
import { at, number, numberAt, text } from './patterns.ts'
import { post, type Send, table } from './row.ts'
import { evals, who } from './world.ts'

const { us, gcc, wrong } = who
const price = (evalid: unknown = evals.done, query = '', by = who.one): Send => ({
  method: 'GET',
  path: `/pricingAi/payload/${evalid}${query}`,
  who: by,
})

const prices = {
  wholesale: number,
  wholesale_low: number,
  wholesale_high: number,
  buy_to_retail: number,
  retail: number,
  quick_sale: number,
  sweet_spot: number,
}

export const pricingRows = [
  ...table('A §4 /pricingAi/payload/{evalid}', [
    {
      says: 'response 200: PricingAiPayload',
      send: price(),
      status: 200,
      check: ({ body }) =>
        expect(body).toEqual({
          confidence: text,
          prediction_date: text,
          prices,
          currency_symbol: '$',
          evalId: evals.done,
        }),
    },
    {
      says: 'of another rooftop of the dealer group too (reading)',
      send: price(evals.sameCar),
      status: 200,
      body: { evalId: evals.sameCar },
    },
    {
      says: 'requires a Complete eval',
      send: price(evals.open),
      status: 400,
    },
    {
      says: 'requires an eval that has mileage',
      send: price(evals.withoutMileage),
      status: 400,
    },
    {
      says: '`reasoning` otherwise absent',
      send: price(),
      status: 200,
      lacks: ['reasoning'],
    },
    ...['?reasoning=1', '?reasoning=true'].map((query) => ({
      says: `\`reasoning\`: 1/true to include the reasoning block: ${query}`,
      send: price(evals.done, query),
      status: 200,
      body: { reasoning: { status: text } },
    })),
    ...['false', '0'].map((value) => ({
      says: `\`reasoning\`: ${value} is not true`,
      send: price(evals.done, `?reasoning=${value}`),
      status: 200,
      lacks: ['reasoning'],
    })),
    {
      says: '`reasoning`: neither true nor false (reading: 400)',
      send: price(evals.done, '?reasoning=perhaps'),
      status: 400,
    },
    { says: '400 evaluation not found', send: price(evals.unknown), status: 400 },
    {
      says: '400 evaluation not found: of another dealer group',
      send: price(evals.otherGroup),
      status: 400,
    },
    { says: '`evalid`: integer', send: price('abc'), status: 400 },
    { says: '`evalid`: above 0', send: price(0), status: 400 },
    { says: '403 invalid key', send: price(evals.done, '', wrong), status: 403 },
    {
      says: '403 forbidden: a rooftop the key is not authorised for',
      send: price(evals.done, '', { key: 'au-key', rooftop: 'au-foreign' }),
      status: 403,
    },
    {
      says: '429 sandbox quota',
      limits: { lookupsPerDay: 1 },
      given: [price()],
      send: price(evals.sameCar),
      status: 429,
    },
  ]),
  ...table('A §2 PricingAiPayload', [
    {
      says: 'confidence: string',
      send: price(),
      status: 200,
      body: { confidence: expect.stringMatching(/^(high|medium|low)$/) },
    },
    {
      says: 'prediction_date: string, date YYYY-MM-DD (reading: today)',
      send: price(),
      status: 200,
      body: { prediction_date: '2026-03-10' },
    },
    {
      says: 'prices: object with numeric wholesale, wholesale_low, wholesale_high and the others',
      send: price(),
      status: 200,
      body: { prices },
    },
    {
      says: 'prices: wholesale lies between low and high, retail above it',
      send: price(),
      status: 200,
      check: ({ body }) => {
        const of = (name: string) => numberAt(body, `prices.${name}`)
        expect(of('wholesale')).toBeGreaterThanOrEqual(of('wholesale_low'))
        expect(of('wholesale')).toBeLessThanOrEqual(of('wholesale_high'))
        expect(of('retail')).toBeGreaterThan(of('wholesale'))
      },
    },
    {
      says: 'currency_symbol: string: AU',
      send: price(),
      status: 200,
      body: { currency_symbol: '$' },
    },
    {
      says: 'currency_symbol: string: US',
      send: price(evals.us, '', us),
      status: 200,
      body: { currency_symbol: text },
    },
    {
      says: 'currency_symbol: string: GCC',
      send: price(evals.gcc, '', gcc),
      status: 200,
      body: { currency_symbol: expect.stringMatching(/^(?!\$).+/) },
    },
    {
      says: 'evalId: integer, of the evaluation',
      send: price(),
      status: 200,
      body: { evalId: evals.done },
    },
    {
      says: 'reasoning: status, dealer and customer',
      send: price(evals.done, '?reasoning=1'),
      status: 200,
      body: { reasoning: { status: text } },
      check: ({ body }) => {
        expect(at(body, 'reasoning')).toHaveProperty('dealer')
        expect(at(body, 'reasoning')).toHaveProperty('customer')
      },
    },
  ]),
  ...table('A §3 pricing reasoning', [
    {
      says: '`processing` first; dealer and customer are null while processing',
      send: price(evals.done, '?reasoning=1'),
      status: 200,
      body: { reasoning: { status: 'processing', dealer: null, customer: null } },
    },
    {
      says: '`processing` then `completed` or `unavailable`',
      given: [price(evals.done, '?reasoning=1'), (session) => session.advance(91)],
      send: price(evals.done, '?reasoning=1'),
      status: 200,
      body: { reasoning: { status: expect.stringMatching(/^(completed|unavailable)$/) } },
    },
    {
      says: '`completed`: dealer and customer are insight bullets',
      given: [
        post('/entervin', { vin: 'SAMPLEAU000000001' }),
        ({ evalId }) => post('/dcupdateeval', { evalid: evalId, km: 1000 }),
        ({ evalId }) => price(evalId, '?reasoning=1'),
        (session) => session.advance(90),
      ],
      send: ({ evalId }) => price(evalId, '?reasoning=1'),
      status: 200,
      check: ({ body }) => {
        expect(at(body, 'reasoning.status')).toBe('completed')
        const [dealer, customer] = [at(body, 'reasoning.dealer'), at(body, 'reasoning.customer')]
        expect(customer).toEqual([text, text, text])
        expect(dealer).toEqual([text, text, text, text])
        const retail = `AUD ${numberAt(body, 'prices.retail').toLocaleString('en')}`
        expect([dealer].flat().join(' ')).toContain(retail)
      },
    },
    {
      says: '`unavailable`: it ends without insights',
      given: [price(evals.reasoningUnavailable, '?reasoning=1'), (session) => session.advance(90)],
      send: price(evals.reasoningUnavailable, '?reasoning=1'),
      status: 200,
      body: { reasoning: { status: 'unavailable', dealer: null, customer: null } },
    },
    {
      says: 'prices are there while reasoning is processing',
      send: price(evals.done, '?reasoning=1'),
      status: 200,
      body: { prices: { retail: number }, reasoning: { status: 'processing' } },
    },
  ]),
  ...table('A §8 limits', [
    {
      says: 'reasoning takes 10-90 s: not before 10 s',
      given: [price(evals.done, '?reasoning=1'), (session) => session.advance(9.999)],
      send: price(evals.done, '?reasoning=1'),
      status: 200,
      body: { reasoning: { status: 'processing' } },
    },
    {
      says: 'reasoning: poll the same URL: within 3 minutes it is completed or unavailable',
      given: [
        price(evals.done, '?reasoning=1'),
        ...Array.from({ length: 11 }, () => [
          (session: { advance(seconds: number): void }) => session.advance(15),
          price(evals.done, '?reasoning=1'),
        ]).flat(),
      ],
      send: price(evals.done, '?reasoning=1'),
      status: 200,
      body: { reasoning: { status: expect.stringMatching(/^(completed|unavailable)$/) } },
    },
    {
      says: 'reasoning: polling the same URL is no further look-up of the quota (reading)',
      limits: { lookupsPerDay: 1 },
      given: [price(evals.done, '?reasoning=1'), (session) => session.advance(12)],
      send: price(evals.done, '?reasoning=1'),
      status: 200,
    },
    {
      says: 'sandbox real-lookup quota: one for /entervin and pricing AI together (reading)',
      limits: { lookupsPerDay: 1 },
      given: [price()],
      send: post('/entervin', { vin: '1HGCM82633A004352' }),
      status: 429,
    },
  ]),
]

import { expect } from 'vitest'
import { sandboxVehicleDataKey } from '#src/sandbox/client-config.ts'
import { samples } from '#src/sandbox/samples.ts'
import type { ApiSession } from './api-session.ts'
import { at, number, numberAt, text, vinImage } from './patterns.ts'
import { type Send, table, vehicle } from './row.ts'

const adcode = 'AU0TOYHILUX01'
const predict = (fields: Record<string, string> = {}): Send =>
  vehicle('/v1/prediction', { adcode, km: '48000', ...fields })
const old = (predictDate: string): Send =>
  vehicle('/v1/prediction', { vin: samples.auSingle.vin, km: '90000', predictDate })
const poll = (id: unknown): Send => ({
  method: 'GET',
  path: `/v1/prediction/${id}`,
  isVehicleData: true,
})
const pollFirst = ({ answers }: ApiSession) => poll(at(answers[0]?.body, 'requestId'))
const prices = {
  wholesale: number,
  retail: number,
  buyToRetail: number,
  quickSale: number,
  sweetSpot: number,
}

const predictionRows = [
  ...table('V §4 /v1/prediction', [
    {
      says: 'price prediction by code: 200, completed at once without reasoning',
      given: [predict()],
      send: pollFirst,
      status: 200,
      body: { ...prices, status: 'completed' },
      check: ({ body }, { last }) => expect(body).toEqual(last.body),
    },
    {
      says: 'or VIN',
      send: vehicle('/v1/prediction', { vin: samples.auSingle.vin, km: '48000' }),
      status: 200,
      body: prices,
    },
    {
      says: 'an explicit predict date allowed for past dates',
      given: [old('2026-03-10')],
      send: old('2019-03-10'),
      status: 200,
      check: ({ body }, { last }) =>
        expect(numberAt(body, 'retail')).toBeGreaterThan(numberAt(last.body, 'retail')),
    },
    {
      says: 'past dates: a future one is not allowed (reading: 400)',
      send: predict({ predictDate: '2026-03-11' }),
      status: 400,
    },
    {
      says: 'neither code nor VIN (reading: 400)',
      send: vehicle('/v1/prediction', { km: '1' }),
      status: 400,
    },
    {
      says: '404: VIN not found [V §7]',
      send: vehicle('/v1/prediction', { vin: samples.undecodable.vin }),
      status: 404,
    },
    {
      says: 'a code that no vehicle has (reading: 404)',
      send: predict({ adcode: 'NO0SUCHCODE00' }),
      status: 404,
    },
    { says: 'a request ID that was not given is not found', send: poll('P-none'), status: 404 },
  ]),
  ...table('V §2 prediction result', [
    {
      says: 'wholesale, retail, buy-to-retail, quick-sale, sweet-spot prices, confidence level',
      send: predict(),
      status: 200,
      body: { ...prices, confidence: expect.stringMatching(/^(high|medium|low)$/) },
    },
    {
      says: 'on request dealer and customer insight bullets: not without',
      send: predict(),
      status: 200,
      lacks: ['dealer', 'customer'],
    },
    {
      says: 'on request dealer and customer insight bullets',
      given: [predict({ reasoning: 'true' }), (session) => session.advance(90)],
      send: pollFirst,
      status: 200,
      check: ({ body }, { last }) => {
        const { dealer, customer, ...rest } = Object(body)
        expect({ ...rest, status: 'processing', dealer: null, customer: null }).toEqual(last.body)
        for (const bullets of [dealer, customer])
          expect(bullets).toEqual(expect.arrayContaining([expect.stringMatching(/\d/)]))
        expect(dealer).not.toEqual(customer)
      },
    },
  ]),
  ...table('V §3 reasoning generation', [
    {
      says: 'asynchronous: not there at once, polled with a request ID',
      send: predict({ reasoning: 'true' }),
      status: 200,
      body: { status: 'processing', requestId: text, dealer: null, customer: null },
    },
    {
      says: 'polled with a request ID: still processing at first',
      given: [predict({ reasoning: 'true' }), (session) => session.advance(9.999)],
      send: pollFirst,
      status: 200,
      check: ({ body }, { last }) => expect(body).toEqual(last.body),
    },
    {
      says: 'it may end unavailable, with the prices all the same (reading, as in the other document)',
      given: [
        vehicle('/v1/prediction', { vin: samples.reasoningUnavailable.vin, reasoning: 'true' }),
        (session) => session.advance(90),
      ],
      send: pollFirst,
      status: 200,
      check: ({ body }, { last }) =>
        expect(body).toEqual({ ...Object(last.body), status: 'unavailable' }),
    },
  ]),
  ...table('V §8 limits', [
    {
      says: 'reasoning generation: typically 10-90 seconds',
      given: [predict({ reasoning: 'true' }), (session) => session.advance(90)],
      send: pollFirst,
      status: 200,
      body: { status: 'completed' },
    },
  ]),
]

/** Every operation of the second document with a request that fits, and one that finds nothing where there is such. */
const operations: readonly Send[] = [
  vehicle('/v1/gccfactoryvinext', { vin: samples.gccSingle.vin }),
  vehicle('/v1/vindatabasic', { vin: samples.auSingle.vin }),
  vehicle('/v1/historyCheck', { vin: samples.usSingle.vin }),
  vehicle('/v1/ppsrNewSearch', { vin: samples.auSingle.vin }),
  vehicle('/v1/gccpriceguide', { adcode, market: 'AU' }),
  {
    method: 'POST',
    path: '/v1/price-batch',
    json: { vehicles: [{ reference: 'S-1', adcode }] },
    isVehicleData: true,
  },
  predict(),
  { method: 'GET', path: '/v1/ppsrNewSearch/PPSR-1', isVehicleData: true },
  { method: 'GET', path: '/v1/price-batch/B-1', isVehicleData: true },
  { method: 'GET', path: '/v1/prediction/P-1', isVehicleData: true },
]
const named = ({ method, path }: Send) => `${method} ${path}`

const keyRows = [
  ...table('V §5 authentication', [
    ...operations.map((send) => ({
      says: `a missing key yields 401 (reading): ${named(send)}`,
      send: { ...send, key: null },
      status: 401,
    })),
    ...operations.map((send) => ({
      says: `a wrong key yields 403 (reading): ${named(send)}`,
      send: { ...send, key: 'wrong-key' },
      status: 403,
    })),
    {
      says: 'the Authorization header whose value is the API key: nothing before it',
      send: { ...predict(), key: `Bearer ${sandboxVehicleDataKey}` },
      status: 403,
    },
  ]),
  ...table('V §7 errors', [
    ...operations
      .filter(({ method }) => method === 'POST')
      .map((send) => ({ says: `200 success: ${named(send)}`, send, status: 200 })),
    {
      says: '404 VIN not found: by an image',
      send: vehicle('/v1/gccfactoryvinext', {}, [vinImage(samples.undecodable.vin)]),
      status: 404,
    },
    { says: '401 key error', send: { ...predict(), key: null }, status: 401 },
    { says: '403 key error', send: { ...predict(), key: 'wrong-key' }, status: 403 },
  ]),
  ...table('V §4 responses are JSON', [
    {
      says: 'responses are JSON',
      send: predict(),
      status: 200,
      check: ({ headers }) => expect(headers.get('content-type')).toContain('application/json'),
    },
    {
      says: 'the form is multipart form data: a URL-encoded one is taken too (reading)',
      given: [
        async (session) => {
          const response = await fetch(`${session.sandbox.vehicleDataUrl}/v1/gccpriceguide`, {
            method: 'POST',
            headers: { authorization: session.sandbox.vehicleDataKey },
            body: new URLSearchParams({ adcode, market: 'AU' }),
          })
          expect(response.status).toBe(200)
        },
      ],
      send: predict(),
      status: 200,
    },
  ]),
  ...table('V §9 versioning', [
    {
      says: 'all paths carry the prefix /v1: without it nothing answers',
      send: { ...predict(), path: '/prediction' },
      status: 404,
    },
  ]),
  ...table('V §6 events', [
    {
      says: 'no webhook events are defined for these APIs: nothing to subscribe to',
      send: { method: 'GET', path: '/v1/partner/webhooks', isVehicleData: true },
      status: 404,
    },
  ]),
]

export const vehiclePredictionRows = [...predictionRows, ...keyRows]

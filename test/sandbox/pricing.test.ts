import { expect, test } from 'vitest'
import { type PricingPayload, pricingPayload } from '#src/contract/appraisal/shapes.ts'
import { anEvaluation, aRooftop, type EvaluationDraft, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { SandboxLimits } from '#src/sandbox/limits.ts'
import { statusOf } from '#src/sandbox/reasoning.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import type { AskAs } from './ask.ts'

const now = new Date('2026-03-10T23:59:00Z')
const rooftops = [
  aRooftop(),
  aRooftop({ uid: 'rooftop-2', dealerId: 102 }),
  aRooftop({ uid: 'rooftop-3', groupId: 'group-3' }),
  aRooftop({ uid: 'kuwait', groupId: 'gulf', region: 'GCC', currency: 'KWD' }),
  aRooftop({ uid: 'muscat', groupId: 'gulf', region: 'GCC', currency: 'OMR' }),
  aRooftop({ uid: 'chicago', groupId: 'lake', region: 'US', currency: 'USD' }),
]

function start(evaluations: readonly EvaluationDraft[], limits: Partial<SandboxLimits> = {}) {
  const world = worldOf({ rooftops, evaluations: evaluations.map(anEvaluation) })
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world, clock, limits })
}

async function price(
  sandbox: Sandbox,
  evalId: number | string,
  query = '',
  { key = 'partner-au', rooftop = 'rooftop-1' }: AskAs = {},
) {
  const response = await fetch(`${sandbox.baseUrl}/pricingAi/payload/${evalId}${query}`, {
    headers: { authorization: key!, 'x-dealer-id': rooftop! },
  })
  const json = (await response.json()) as PricingPayload & { error?: string }
  return { status: response.status, json }
}

test('the payload has exactly the documented fields', async () => {
  await using sandbox = await start([{}])

  const { status, json } = await price(sandbox, 1001)
  expect(status).toBe(200)
  expect(pricingPayload.safeParse(json).success).toBe(true)
  expect(json).toEqual({
    confidence: expect.stringMatching(/^(high|medium|low)$/),
    prediction_date: '2026-03-10',
    prices: {
      wholesale: expect.any(Number),
      wholesale_low: expect.any(Number),
      wholesale_high: expect.any(Number),
      buy_to_retail: expect.any(Number),
      retail: expect.any(Number),
      quick_sale: expect.any(Number),
      sweet_spot: expect.any(Number),
    },
    currency_symbol: '$',
    evalId: 1001,
  })
})

test('the same evaluation is priced the same, one with more kilometres lower', async () => {
  await using sandbox = await start([{}, { evalId: 2, odometer: 180_000 }])

  const first = (await price(sandbox, 1001)).json
  const driven = (await price(sandbox, 2)).json
  expect((await price(sandbox, 1001)).json).toEqual(first)
  expect(driven.prices.retail).toBeLessThan(first.prices.retail!)
})

test('prices are in the currency of the rooftop', async () => {
  const patrol = { make: 'Nissan', model: 'Patrol', variant: 'SE', year: 2021, odometer: 80_000 }
  await using sandbox = await start([
    { evalId: 1, rooftopUid: 'kuwait', ...patrol },
    { evalId: 2, rooftopUid: 'muscat', ...patrol },
  ])
  const as = { key: 'partner-gcc', rooftop: 'kuwait' }

  const kuwait = (await price(sandbox, 1, '', as)).json
  const muscat = (await price(sandbox, 2, '', as)).json
  expect([kuwait.currency_symbol, muscat.currency_symbol]).toEqual(['KWD', 'OMR'])
  expect(muscat.prices.retail! / kuwait.prices.retail!).toBeCloseTo(1.25, 1)
})

test('an American odometer reads miles', async () => {
  const civic = { make: 'Honda', model: 'Civic', variant: 'EX', year: 2021, odometer: 60_000 }
  const inUs = { rooftopUid: 'chicago', vin: samples.usSingle.vin, ...civic }
  await using sandbox = await start([{ evalId: 1, ...inUs }])
  const as = { key: 'partner-us', rooftop: 'chicago' }

  await price(sandbox, 1, '?reasoning=1', as)
  sandbox.clock.advance(90_000)
  const { json } = await price(sandbox, 1, '?reasoning=1', as)
  expect(JSON.stringify(json.reasoning?.dealer)).toMatch(/60,000 mi, above the [\d,]+ mi/)
})

test('a vehicle that the catalogue lacks and one without a year have prices too', async () => {
  await using sandbox = await start([
    { evalId: 1, make: 'Trabant', model: '601', variant: null, vin: null },
    { evalId: 2, year: null, make: null, model: undefined },
  ])

  for (const evalId of [1, 2])
    expect(pricingPayload.parse((await price(sandbox, evalId)).json).prices.retail).toBeGreaterThan(
      0,
    )
})

test.each([
  ['is not there', 999],
  ['is of another group', 2],
  ['is in progress', 3],
  ['has vanished', 4],
  ['has no mileage', 5],
])('an evaluation that %s is a 400', async (_reason, evalId) => {
  await using sandbox = await start([
    { evalId: 2, rooftopUid: 'rooftop-3' },
    { evalId: 3, completedAt: null },
    { evalId: 4, vanishedAt: '2026-03-10T00:00:00Z' },
    { evalId: 5, odometer: null },
  ])

  const { status, json } = await price(sandbox, evalId)
  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.any(String) })
})

test('an evaluation id that is none and a wrong reasoning are a 400', async () => {
  await using sandbox = await start([{}])

  expect((await price(sandbox, 'abc')).status).toBe(400)
  expect((await price(sandbox, 0)).status).toBe(400)
  expect((await price(sandbox, 1001, '?reasoning=perhaps')).status).toBe(400)
})

test('an invalid key is a 403', async () => {
  await using sandbox = await start([{}])

  expect((await price(sandbox, 1001, '', { key: 'wrong' })).status).toBe(403)
})

test('another rooftop of the group may price an evaluation', async () => {
  await using sandbox = await start([{}])

  expect((await price(sandbox, 1001, '', { rooftop: 'rooftop-2' })).status).toBe(200)
})

test('reasoning is processing for 10 to 90 seconds, then has bullets with figures', async () => {
  await using sandbox = await start([{ vin: samples.auSingle.vin }])

  const first = await price(sandbox, 1001, '?reasoning=true')
  sandbox.clock.advance(9_999)
  const early = await price(sandbox, 1001, '?reasoning=1')
  sandbox.clock.advance(80_001)
  const late = await price(sandbox, 1001, '?reasoning=1')
  const processing = { status: 'processing', dealer: null, customer: null }
  expect([first.json.reasoning, early.json.reasoning]).toEqual([processing, processing])
  const { status, dealer, customer } = late.json.reasoning!
  expect(status).toBe('completed')
  expect(dealer).toHaveLength(4)
  expect(customer).toHaveLength(3)
  expect([dealer].flat().join(' ')).toContain(
    `AUD ${late.json.prices.retail!.toLocaleString('en')}`,
  )
  expect((await price(sandbox, 1001, '?reasoning=0')).json).not.toHaveProperty('reasoning')
})

test('reasoning on its sample ends unavailable', async () => {
  await using sandbox = await start([{ vin: samples.reasoningUnavailable.vin }])

  await price(sandbox, 1001, '?reasoning=1')
  sandbox.clock.advance(90_000)
  const { json } = await price(sandbox, 1001, '?reasoning=1')
  expect(json.reasoning).toEqual({ status: 'unavailable', dealer: null, customer: null })
})

test('about one reasoning in twenty ends unavailable', () => {
  const ends = Array.from({ length: 2000 }, (_, at) => statusOf(`subject ${at}`, null, 90_001))

  const share = ends.filter((status) => status === 'unavailable').length / ends.length
  expect(share).toBeGreaterThan(0.03)
  expect(share).toBeLessThan(0.07)
  expect(ends).not.toContain('processing')
})

test('the quota is shared with /entervin; samples and polls while reasoning runs use none', async () => {
  const evaluations = [{}, { evalId: 2, vin: samples.auSingle.vin }]
  await using sandbox = await start(evaluations, { lookupsPerDay: 1 })

  const real = await price(sandbox, 1001, '?reasoning=1')
  const poll = await price(sandbox, 1001, '?reasoning=1')
  const again = await price(sandbox, 1001)
  const sample = await price(sandbox, 2)
  expect([real, poll, again, sample].map(({ status }) => status)).toEqual([200, 200, 429, 200])
  sandbox.clock.advance(60_000)
  expect((await price(sandbox, 1001)).json.prediction_date).toBe('2026-03-11')
})

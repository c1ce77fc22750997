import { expect, test } from 'vitest'
import { type PricingPayload, pricingPayload } from '#src/api/contract/appraisal/shapes.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import type { SandboxLimits } from '#src/sandbox/limits.ts'
import { reasoningStatus } from '#src/sandbox/reasoning.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { anEvaluation, aRooftop, type EvaluationDraft, worldOf } from '../support/build-world.ts'
import type { AskAs } from './ask.ts'

const now = new Date('2026-03-10T23:59:00Z')
const rooftops = [
  aRooftop(),
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
  evalId: number,
  query = '',
  { key = 'partner-au', rooftop = 'rooftop-1' }: AskAs = {},
) {
  const response = await fetch(`${sandbox.baseUrl}/pricingAi/payload/${evalId}${query}`, {
    headers: { authorization: key!, 'x-dealer-id': rooftop! },
  })
  const json = (await response.json()) as PricingPayload & { error?: string }
  return { status: response.status, json }
}

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

test('about one reasoning in twenty ends unavailable', () => {
  const ends = Array.from({ length: 2000 }, (_, at) =>
    reasoningStatus(`subject ${at}`, null, 90_001),
  )

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

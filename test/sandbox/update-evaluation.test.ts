import { expect, test } from 'vitest'
import { evaluation, pricingPayload } from '#src/contract/appraisal/shapes.ts'
import {
  aKey,
  anEvaluation,
  aRooftop,
  aUser,
  type EvaluationDraft,
  worldOf,
} from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'
import { type AskAs, ask, listIds, readOne } from './ask.ts'

const now = new Date('2026-03-10T04:05:06.700Z')
const gcc = { key: 'partner-gcc', rooftop: 'gulf' }

function start(draft: EvaluationDraft = {}, options: SandboxOptions = {}) {
  const rooftops = [
    aRooftop(),
    aRooftop({ uid: 'rooftop-2', dealerId: 102 }),
    aRooftop({ uid: 'rooftop-3', groupId: 'group-3', dealerId: 103 }),
    aRooftop({ uid: 'gulf', groupId: 'gulf', region: 'GCC', currency: 'KWD' }),
  ]
  const users = [
    aUser(),
    aUser({ userId: 2, name: 'Sam', email: 'sam@example.com' }),
    aUser({ userId: 3, email: 'gone@example.com', active: false }),
    aUser({ userId: 4, email: 'link@link-capture.invalid', generated: true }),
    aUser({ userId: 5, groupId: 'group-3', email: 'other@example.com' }),
  ]
  const keys = [
    aKey({ value: 'partner-au', rooftopUids: ['rooftop-1', 'rooftop-2', 'rooftop-3'] }),
    aKey({ value: 'unlinked', linkedUserId: null }),
    aKey({ value: 'partner-gcc', region: 'GCC', rooftopUids: ['gulf'] }),
  ]
  const evaluations = [
    anEvaluation({ completedAt: null, ...draft }),
    anEvaluation({ evalId: 2, rooftopUid: 'rooftop-3' }),
    anEvaluation({ evalId: 3, vanishedAt: '2026-03-09T00:00:00Z' }),
    anEvaluation({ evalId: 4, rooftopUid: 'gulf', make: 'Nissan', model: 'Patrol', variant: 'SE' }),
  ]
  const world = worldOf({ rooftops, users, keys, evaluations })
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world, clock, ...options })
}

async function update(sandbox: Sandbox, fields: object, as?: AskAs) {
  const { status, json } = await ask(sandbox, '/dcupdateeval', { evalid: 1001, ...fields }, as)
  return { status, json: json as Record<string, unknown> & { error?: string } }
}

test('the first call completes an evaluation that was begun with a VIN', async () => {
  await using sandbox = await start()
  const begun = await ask(sandbox, '/entervin', { vin: samples.auSingle.vin })
  const evalid = (begun.json as { EvalID: number }).EvalID
  sandbox.clock.advance(60_000)

  const { status, json } = await update(sandbox, { evalid, km: 61_000, price: 31_500 })
  expect(status).toBe(200)
  expect(evaluation.safeParse(json).success).toBe(true)
  expect(json).toMatchObject({
    EvalID: evalid,
    CreatedAt: '2026-03-10T04:05:06.700Z',
    CompletedAt: '2026-03-10T04:06:06.700Z',
    UpdatedAt: '2026-03-10T04:06:06.700Z',
    Odometer: 61_000,
    FinalPrice: 31_500,
    UserPrices: [],
    UserEmail: 'alex@example.com',
  })
  expect(json).not.toHaveProperty('pricingAi')
  expect(json).toEqual(await readOne(sandbox, evalid))
  expect(await listIds(sandbox)).toEqual([evalid])
})

test('a later call overwrites what it names and leaves CompletedAt and the rest', async () => {
  await using sandbox = await start()
  await update(sandbox, { km: 50_000, notes: 'First.', cName: 'Kim', cPhone: '1', sparekey: 1 })
  sandbox.clock.advance(1000)

  const { json } = await update(sandbox, { km: 50_100, condition: 0, cPhone: '2', financed: 0 })
  expect(json).toMatchObject({
    CompletedAt: '2026-03-10T04:05:06.700Z',
    UpdatedAt: '2026-03-10T04:05:07.700Z',
    Odometer: 50_100,
    Condition: 0,
    Notes: 'First.',
    CustomerName: 'Kim',
    CustomerPhone: '2',
    sparekey: 1,
    financed: 0,
  })
})

test('every customer and history field comes back', async () => {
  await using sandbox = await start({ extra: { AuctionLot: 'L-1' } })
  const returned = {
    sparekey: 0,
    service: 6,
    financed: 1,
    financename: 'Bank',
    financeamt: 9000,
    financepmt: 300,
    wtymth: 5,
    wtyyear: 2027,
    svcmth: 1,
    svcyear: 2026,
  }

  const { json } = await update(sandbox, {
    km: 1,
    vin: ' samplezz000000001 ',
    cName: 'Kim Ng',
    cPhone: '0491 570 156',
    cEmail: 'kim@example.org',
    cPCode: '0800',
    cState: 'NT',
    cAddress: '2 Example Street',
    cSuburb: 'Darwin',
    ...returned,
  })
  expect(json).toMatchObject({
    VIN: 'SAMPLEZZ000000001',
    CustomerName: 'Kim Ng',
    CustomerPhone: '0491 570 156',
    CustomerEmail: 'kim@example.org',
    CustomerPostcode: '0800',
    CustomerState: 'NT',
    CustomerAddress: '2 Example Street',
    CustomerSuburb: 'Darwin',
    AuctionLot: 'L-1',
    ...returned,
  })
})

test('reconditioning amounts become a line each and the total follows them', async () => {
  await using sandbox = await start({ reconTotal: 9999 })

  const { json } = await update(sandbox, {
    km: 1,
    recondetail: 120.5,
    reconrims: 200,
    reconpaint: 300,
    reconint: 40,
    reconrego: 50,
    reconscreen: 60,
    reconrwc: 70,
    recontyres: 2,
  })
  const lines = json['reconditioning_list'] as { type: string; cost: number; value: unknown }[]
  expect(lines.map(({ type, cost }) => [type, cost]).slice(0, 7)).toEqual([
    ['detail', 120.5],
    ['rims', 200],
    ['paint', 300],
    ['interior', 40],
    ['rego', 50],
    ['screen', 60],
    ['rwc', 70],
  ])
  expect(lines[7]).toMatchObject({ type: 'tyres', value: 2, cost: expect.any(Number) })
  expect(json['Reconditioning']).toBe(840.5 + lines[7]!.cost)
})

test('a new amount replaces the lines of its type, 0 removes them, other lines stay', async () => {
  const line = (type: string | null, cost: number) => ({ type, source: null, cost, value: null })
  const reconditioning = [line('paint', 100), line(null, 5), line('info', 0), line('tyres', 400)]
  await using sandbox = await start({ reconditioning })

  const { json } = await update(sandbox, { km: 1, reconpaint: 80, recontyres: 0 })
  expect(json).toMatchObject({
    Reconditioning: 85,
    reconditioning_list: [
      { type: null, cost: 5 },
      { type: 'info', cost: 0 },
      { type: 'paint', cost: 80 },
    ],
  })
})

test('a call without reconditioning leaves the lines and an overwritten total', async () => {
  await using sandbox = await start({ reconTotal: 777, reconditioning: null })

  const { json } = await update(sandbox, { km: 1 })
  expect(json).toMatchObject({ Reconditioning: 777, reconditioning_list: null })
})

test('custom fields are set by their exact names, an unknown name changes nothing', async () => {
  const customFields = {
    'Lead source': { type: 'select', options: ['Web'], value: null },
    constructor: { type: 'text', options: null, value: 'a' },
  }
  await using sandbox = await start({ customFields })

  for (const name of ['lead source', 'toString']) {
    const { status, json } = await update(sandbox, { km: 1, customFields: { [name]: 'Web' } })
    expect([status, json.error]).toEqual([400, expect.stringContaining('customFields')])
  }
  expect(await listIds(sandbox)).toEqual([])
  const sent = { 'Lead source': 'Web', constructor: 'b' }
  const { json } = await update(sandbox, { km: 1, customFields: sent })
  expect(json['customFields']).toEqual({
    'Lead source': { type: 'select', options: ['Web'], value: 'Web' },
    constructor: { type: 'text', options: null, value: 'b' },
  })
})

test('a custom field of the dealer group can be set on an evaluation that came without it', async () => {
  await using sandbox = await start()
  const customFields = { Lane: { type: 'text', options: null, value: 'A' } }
  sandbox.world.add(anEvaluation({ evalId: 50, customFields }))

  const { json } = await update(sandbox, { km: 1, customFields: { Lane: 'B' } })
  expect(json['customFields']).toEqual({ Lane: { type: 'text', options: null, value: 'B' } })
})

test.each(['price', 'finalprice', 'FinalPrice'])('%s is stored as FinalPrice', async (name) => {
  await using sandbox = await start({ finalPrice: null })

  const { json } = await update(sandbox, { km: 1, [name]: 0 })
  expect(json).toMatchObject({ FinalPrice: 0, UserPrices: [] })
})

test('userEmail gives the evaluation to a salesperson, and later to another one', async () => {
  await using sandbox = await start()

  const first = await update(sandbox, { km: 1, userEmail: 'SAM@example.com' })
  const untouched = await update(sandbox, { km: 2 })
  const second = await update(sandbox, { km: 3, userEmail: 'alex@example.com' })
  expect([first, untouched, second].map(({ json }) => json['UserEmail'])).toEqual([
    'sam@example.com',
    'sam@example.com',
    'alex@example.com',
  ])
})

test('without a linked user the first call leaves the salesperson as it is', async () => {
  await using sandbox = await start({ userId: 2 })

  const { json } = await update(sandbox, { km: 1 }, { key: 'unlinked' })
  expect(json['UserEmail']).toBe('sam@example.com')
})

test.each([
  'nobody@example.com',
  'other@example.com',
  'gone@example.com',
  'link@link-capture.invalid',
  '2',
])('userEmail %s is not on the user list, so nothing is written', async (userEmail) => {
  await using sandbox = await start()

  const { status, json } = await update(sandbox, { km: 1, userEmail })
  expect([status, json.error]).toEqual([400, expect.stringContaining('userEmail')])
  expect(await listIds(sandbox)).toEqual([])
})

test('a later call without km leaves the odometer as it is', async () => {
  await using sandbox = await start()
  await update(sandbox, { km: 51_000 })

  const { status, json } = await update(sandbox, { price: 9000 })

  expect([status, json]).toEqual([
    200,
    expect.objectContaining({ Odometer: 51_000, FinalPrice: 9000 }),
  ])
})

test.each([
  [{}, 'km'],
  [{ km: 1.5 }, 'km'],
  [{ km: '48000' }, 'km'],
  [{ km: 1, condition: 11 }, 'condition'],
  [{ km: 1, sparekey: 2 }, 'sparekey'],
  [{ km: 1, service: 7 }, 'service'],
  [{ km: 1, price: 10.5 }, 'price'],
  [{ km: 1, customFields: { a: 1 } }, 'customFields'],
  [{ km: 1, evalid: '1001' }, 'evalid'],
])('%j is a 400 that names the field', async (fields, name) => {
  await using sandbox = await start()

  const { status, json } = await update(sandbox, fields)
  expect([status, json.error]).toEqual([400, expect.stringContaining(name)])
})

test('another group gets 403; an evaluation that is not there or has vanished is a 400', async () => {
  await using sandbox = await start()

  const statuses: number[] = []
  for (const evalid of [2, 999, 3]) statuses.push((await update(sandbox, { evalid, km: 1 })).status)
  expect(statuses).toEqual([403, 400, 400])
})

test('another rooftop of the group may complete an evaluation, which stays where it was', async () => {
  await using sandbox = await start()

  const { status, json } = await update(sandbox, { km: 1 }, { rooftop: 'rooftop-2' })
  expect(status).toBe(200)
  expect(json['DealerID']).toBe(101)
})

test('the call that completes is an ON_COMPLETE, a later one is not', async () => {
  await using sandbox = await start()
  const subscription = { rooftopUid: 'rooftop-1', type: 'eval', event: 'ON_COMPLETE' } as const
  const unsigned = { authHeaderName: null, authHeaderValue: null }
  sandbox.webhooks.plan = () => 'lose'
  sandbox.webhooks.add({ ...subscription, url: 'https://example.com/hook', ...unsigned })

  await update(sandbox, { km: 1 })
  await update(sandbox, { km: 2 })
  expect(sandbox.webhooks.deliveries()).toMatchObject([{ event: 'ON_COMPLETE', evalId: 1001 }])
})

test('pricingAi puts the payload on the answer, reasoning its block', async () => {
  await using sandbox = await start()

  const plain = (await update(sandbox, { km: 48_000, pricingAi: true })).json['pricingAi']
  const reasoned = await update(sandbox, { km: 48_000, pricingAi: true, reasoning: true })
  const ignored = await update(sandbox, { km: 48_000, reasoning: true })
  expect(pricingPayload.parse(plain)).toMatchObject({ evalId: 1001, currency_symbol: '$' })
  expect(plain).not.toHaveProperty('reasoning')
  expect(reasoned.json['pricingAi']).toMatchObject({ reasoning: { status: 'processing' } })
  expect(ignored.json).not.toHaveProperty('pricingAi')
})

test('prices of the answer are where the wire settings say', async () => {
  const wire = wireSettings.parse({
    appraisal: { updateEval: { pricing: 'Ai.Prices', gccPricing: 'Guide' } },
  })
  await using sandbox = await start({}, { wire })

  const prices = { pricingAi: true, gccPriceGuide: true }
  const { json } = await update(sandbox, { evalid: 4, km: 90_000, ...prices }, gcc)
  expect(json).toMatchObject({ Ai: { Prices: { evalId: 4 } }, Guide: { currency: 'KWD' } })
})

test('gccPriceGuide gives GCC keys the price guide and is ignored for others', async () => {
  await using sandbox = await start()

  const { json } = await update(sandbox, { evalid: 4, km: 90_000, gccPriceGuide: true }, gcc)
  const other = await update(sandbox, { km: 90_000, gccPriceGuide: true })
  expect(json['gccPriceGuide']).toEqual({
    adcode: 'GC0NISPATRL02',
    highRetail: expect.any(Number),
    lowRetail: expect.any(Number),
    highWholesale: expect.any(Number),
    lowWholesale: expect.any(Number),
    highWholesalePerfect: expect.any(Number),
    lowWholesalePerfect: expect.any(Number),
    currency: 'KWD',
  })
  expect(other.status).toBe(200)
  expect(other.json).not.toHaveProperty('gccPriceGuide')
})

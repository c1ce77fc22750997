import { expect, test } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { decodeVin } from '#src/sandbox/find-vehicle.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'
import {
  aKey,
  anEvaluation,
  aRooftop,
  aUser,
  type EvaluationDraft,
  worldOf,
} from '../support/build-world.ts'
import { type AskAs, ask, listIds } from './ask.ts'

// What /entervin, /manualcarentry and /dcupdateeval do beyond the rows of test/conformance.

const now = new Date('2026-03-10T04:05:06.700Z')
const gcc = { key: 'partner-gcc', rooftop: 'gulf' }

function start(evaluations: readonly EvaluationDraft[] = [], options: SandboxOptions = {}) {
  const world = worldOf({
    rooftops: [
      aRooftop(),
      aRooftop({ uid: 'gulf', groupId: 'gulf', region: 'GCC', currency: 'KWD' }),
    ],
    users: [aUser(), aUser({ userId: 2, name: 'Sam', email: 'sam@example.com' })],
    keys: [
      aKey({ value: 'partner-au' }),
      aKey({ value: 'unlinked', linkedUserId: null }),
      aKey({ value: 'partner-gcc', region: 'GCC', rooftopUids: ['gulf'] }),
    ],
    evaluations: evaluations.map((draft) => anEvaluation({ completedAt: null, ...draft })),
  })
  return startSandbox({ world, clock: new VirtualClock({ start: now, frozen: true }), ...options })
}

/** A VIN that is not a sample and decodes to one vehicle. */
const singleVin = Array.from({ length: 50 }, (_, at) => `1HGCM82633A0${10_000 + at}`).find(
  (vin) => decodeVin(vin, 'AU').kind === 'single',
)!

async function post(sandbox: Sandbox, path: string, body: object, as?: AskAs) {
  const { status, json } = await ask(sandbox, path, body, as)
  return { status, json: json as Record<string, unknown> & { error?: string } }
}

const update = (sandbox: Sandbox, fields: object, as?: AskAs) =>
  post(sandbox, '/dcupdateeval', { evalid: 1001, km: 1, ...fields }, as)

test('a VIN begins an evaluation of the vehicle that it decodes to, under the next EvalID', async () => {
  await using sandbox = await start([{ evalId: 7000 }])
  const decoded = decodeVin(singleVin, 'AU')
  if (decoded.kind !== 'single') throw new Error('not a single vehicle')

  const first = await post(sandbox, '/entervin', { vin: singleVin })
  const second = await post(sandbox, '/entervin', { vin: singleVin })

  const { make, model, variant } = decoded.vehicle
  expect(first.json).toMatchObject({
    EvalID: 7001,
    CreatedAt: '2026-03-10T04:05:06.700Z',
    EntryDate: '2026-03-10 04:05:06',
    Make: make,
    Model: model,
    Variant: variant,
    Year: decoded.year,
    customFields: { 'Lead source': { value: null } },
  })
  expect(second.json['EvalID']).toBe(7002)
})

test('a plate gives the VIN of the evaluation with this plate in that state', async () => {
  await using sandbox = await start([
    { evalId: 1, registration: 'AB 12 CD', vin: singleVin },
    { evalId: 2, registration: 'AB12CD', registrationState: 'VIC' },
    { evalId: 3, registration: 'AB12CD', vin: null },
  ])

  const { json } = await post(sandbox, '/entervin', { vin: 'ab-12 cd', state: 'NSW' })
  expect(json).toMatchObject({
    VIN: singleVin,
    Registration: 'AB12CD',
    RegistrationState: 'NSW',
  })
})

test('an unknown plate always gives the same VIN', async () => {
  await using sandbox = await start()

  const vins: unknown[] = []
  for (const state of ['NSW', 'NSW', 'VIC']) {
    const { json } = await ask(sandbox, '/entervin', { vin: 'ZZT417', state })
    vins.push(([json].flat()[0] as { VIN: string }).VIN)
  }
  expect(vins[0]).toMatch(/^[A-HJ-NPR-Z0-9]{17}$/)
  expect(vins[1]).toBe(vins[0])
  expect(vins[2]).not.toBe(vins[0])
})

test('a description alone begins an evaluation without a VIN, a year in front counts', async () => {
  await using sandbox = await start()
  const enter = (desc: string) => post(sandbox, '/manualcarentry', { desc })

  const newest = await enter(' toyota hilux  workmate ')
  const older = await enter('2019 Toyota HiLux Workmate')
  expect(newest.json).toMatchObject({ VIN: null, Variant: 'Workmate', Year: 2026 })
  expect(older.json).toMatchObject({ VIN: null, Variant: 'Workmate', Year: 2019 })
})

test('a new amount replaces the lines of its type, 0 removes them, other lines stay, and the total follows', async () => {
  const line = (type: string | null, cost: number) => ({ type, source: null, cost, value: null })
  const reconditioning = [line('paint', 100), line(null, 5), line('info', 0), line('tyres', 400)]
  await using sandbox = await start([{ reconTotal: 9999, reconditioning }])

  const { json } = await update(sandbox, { reconpaint: 80, recontyres: 0 })
  expect(json).toMatchObject({
    Reconditioning: 85,
    reconditioning_list: [
      { type: null, cost: 5 },
      { type: 'info', cost: 0 },
      { type: 'paint', cost: 80 },
    ],
  })
})

test('a call without them leaves reconditioning, an overwritten total and unknown fields', async () => {
  const extra = { AuctionLot: 'L-1' }
  await using sandbox = await start([{ reconTotal: 777, reconditioning: null, extra }])

  const { json } = await update(sandbox, {})
  expect(json).toMatchObject({ Reconditioning: 777, reconditioning_list: null, AuctionLot: 'L-1' })
})

test('custom fields are set by their exact names, an unknown name changes nothing', async () => {
  const customFields = {
    'Lead source': { type: 'select', options: ['Web'], value: null },
    constructor: { type: 'text', options: null, value: 'a' },
  }
  await using sandbox = await start([{ customFields }])
  const begun = await post(sandbox, '/entervin', { vin: singleVin })

  for (const name of ['lead source', 'toString']) {
    const { status, json } = await update(sandbox, { customFields: { [name]: 'Web' } })
    expect([status, json.error]).toEqual([400, expect.stringContaining('customFields')])
  }
  expect(await listIds(sandbox)).toEqual([])
  const { json } = await update(sandbox, {
    customFields: { 'Lead source': 'Web', constructor: 'b' },
  })
  expect(json['customFields']).toEqual({
    'Lead source': { type: 'select', options: ['Web'], value: 'Web' },
    constructor: { type: 'text', options: null, value: 'b' },
  })
  expect(begun.json['customFields']).toEqual({
    'Lead source': { type: 'select', options: ['Web'], value: null },
    constructor: { type: 'text', options: null, value: null },
  })
})

test('without a linked user the first call leaves the salesperson as it is', async () => {
  await using sandbox = await start([{ userId: 2 }])

  const { json } = await update(sandbox, {}, { key: 'unlinked' })
  expect(json['UserEmail']).toBe('sam@example.com')
})

test('options and prices are where the wire settings say', async () => {
  const wire = wireSettings.parse({
    appraisal: {
      enterVin: { options: 'Choice.List', description: 'Text' },
      updateEval: { pricing: 'Ai.Prices', gccPricing: 'Guide' },
    },
  })
  const patrol = { rooftopUid: 'gulf', make: 'Nissan', model: 'Patrol', variant: 'SE' }
  await using sandbox = await start([patrol], { wire })

  const choice = await post(sandbox, '/entervin', { vin: samples.auAmbiguous.vin })
  const prices = { pricingAi: true, gccPriceGuide: true }
  const { json } = await update(sandbox, prices, gcc)
  expect(choice.json).toMatchObject([
    { Choice: { List: expect.arrayContaining([{ Text: 'Toyota HiLux Workmate' }]) } },
  ])
  expect(json).toMatchObject({
    Ai: { Prices: { evalId: 1001 } },
    Guide: { adcode: 'GC0NISPATRL02', currency: 'KWD' },
  })
})

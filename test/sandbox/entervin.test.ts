import { expect, test } from 'vitest'
import { decodeAnswer, evaluation, styleChoice } from '#src/contract/appraisal/shapes.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { decodeVin } from '#src/sandbox/find-vehicle.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { wireSettings } from '#src/values/wire.ts'
import {
  aKey,
  anEvaluation,
  aRooftop,
  aUser,
  type WorldDraft,
  worldOf,
} from '../support/build-world.ts'
import { ask, listIds } from './ask.ts'

const now = new Date('2026-03-10T04:05:06.700Z')
const us = { key: 'us-key', rooftop: null }
const gcc = { key: 'gcc-key', rooftop: 'gulf' }
const rooftops = [
  aRooftop(),
  aRooftop({ uid: 'lake', groupId: 'lakeside', dealerId: 201, region: 'US', currency: 'USD' }),
  aRooftop({ uid: 'gulf', groupId: 'gulf', dealerId: 301, region: 'GCC', currency: 'KWD' }),
]
const keys = [
  aKey({ name: 'au', value: 'partner-au' }),
  aKey({ name: 'us', value: 'us-key', kind: 'dedicated', region: 'US', rooftopUids: ['lake'] }),
  aKey({ name: 'gcc', value: 'gcc-key', region: 'GCC', rooftopUids: ['gulf'], linkedUserId: null }),
]

function start(draft: WorldDraft = {}, options: SandboxOptions = {}) {
  const world = worldOf({ rooftops, keys, users: [aUser()], ...draft })
  const clock = new VirtualClock({ start: now, frozen: true })
  return startSandbox({ world, clock, ...options })
}

/** A VIN that is no sample and decodes to one vehicle, and one that is ambiguous. */
const plainVins = Array.from({ length: 50 }, (_, at) => `1HGCM82633A0${String(10_000 + at)}`)
const singleVin = plainVins.find((vin) => decodeVin(vin, 'AU').kind === 'single')!
const ambiguousVin = plainVins.find((vin) => decodeVin(vin, 'US').kind === 'ambiguous')!

test('a VIN that decodes begins an evaluation in progress with every documented field', async () => {
  await using sandbox = await start()

  const { status, json } = await ask(sandbox, '/entervin', { vin: singleVin.toLowerCase() })
  const decoded = decodeVin(singleVin, 'AU')
  if (decoded.kind !== 'single') throw new Error('not a single vehicle')
  expect(status).toBe(201)
  expect(evaluation.safeParse(json).success).toBe(true)
  expect(json).toMatchObject({
    EvalID: expect.any(Number),
    VIN: singleVin,
    CreatedAt: '2026-03-10T04:05:06.700Z',
    CompletedAt: null,
    UpdatedAt: '2026-03-10T04:05:06.700Z',
    EntryDate: '2026-03-10 04:05:06',
    FinalPrice: null,
    UserPrices: [],
    UserName: 'Alex Example',
    UserEmail: 'alex@example.com',
    Reconditioning: 0,
    reconditioning_list: [],
    CarPics: [],
    Photos: [],
    customFields: { 'Lead source': { value: null } },
    Make: decoded.vehicle.make,
    Model: decoded.vehicle.model,
    Variant: decoded.vehicle.variant,
    Year: decoded.year,
    DealerID: 101,
  })
})

test('an evaluation in progress takes photos and checks but cannot be read or listed', async () => {
  await using sandbox = await start()

  const { json } = await ask(sandbox, '/entervin', { vin: samples.auSingle.vin })
  const evalid = (json as { EvalID: number }).EvalID
  const statuses = [
    await ask(sandbox, '/imagelist', { evalid }),
    await ask(sandbox, '/ppsrsearch', { evalid }),
    await ask(sandbox, '/geteval', { evalid }),
    await ask(sandbox, '/geteval', { vin: samples.auSingle.vin }),
  ]
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 400, 400])
  expect(await listIds(sandbox)).toEqual([])
})

test('EvalIDs rise above every one that the world has', async () => {
  await using sandbox = await start({ evaluations: [anEvaluation({ evalId: 7000 })] })

  const first = await ask(sandbox, '/entervin', { vin: singleVin })
  const second = await ask(sandbox, '/entervin', { vin: singleVin })
  expect([first, second].map(({ json }) => (json as { EvalID: number }).EvalID)).toEqual([
    7001, 7002,
  ])
})

test('an Australian sample answers 200', async () => {
  await using sandbox = await start()

  const { status, json } = await ask(sandbox, '/entervin', { vin: samples.auSingle.vin })
  expect(status).toBe(200)
  expect(json).toMatchObject({ EvalID: expect.any(Number), Make: 'Toyota', Model: 'HiLux' })
})

test('an ambiguous Australian VIN gives descriptions, no EvalID, and begins nothing', async () => {
  await using sandbox = await start()

  const { json } = await ask(sandbox, '/entervin', { vin: samples.auAmbiguous.vin })
  expect(decodeAnswer.safeParse(json).success).toBe(true)
  const [item] = json as Record<string, unknown>[]
  expect(item).not.toHaveProperty('EvalID')
  expect(item).toMatchObject({
    VIN: samples.auAmbiguous.vin,
    VechielDescriptions: expect.arrayContaining([{ Description: 'Toyota HiLux SR5 Double Cab' }]),
  })
  expect(sandbox.world.size).toBe(0)
})

test('the options of an Australian VIN are where the wire settings say', async () => {
  const wire = wireSettings.parse({
    appraisal: { enterVin: { options: 'Choice.List', description: 'Text' } },
  })
  await using sandbox = await start({}, { wire })

  const { json } = await ask(sandbox, '/entervin', { vin: samples.auAmbiguous.vin })
  expect(json).toMatchObject([
    { Choice: { List: expect.arrayContaining([{ Text: 'Toyota HiLux Workmate' }]) } },
  ])
})

test('an ambiguous US VIN gives styles on an evaluation that is begun', async () => {
  await using sandbox = await start()

  const { status, json } = await ask(sandbox, '/entervin', { vin: ambiguousVin }, us)
  expect(status).toBe(201)
  const { EvalID, VIN, descriptionOptions } = styleChoice.parse(json)
  expect(VIN).toBe(ambiguousVin)
  expect(descriptionOptions.length).toBeGreaterThan(1)
  expect(new Set(descriptionOptions.map(({ code }) => code)).size).toBe(descriptionOptions.length)
  expect(descriptionOptions[0]).toMatchObject({
    codeType: expect.stringMatching(/^Provider/),
    fullDescription: expect.stringMatching(/^20\d\d /),
    highlight: expect.any(String),
  })
  expect(sandbox.world.evaluation(EvalID)).toMatchObject({ rooftopUid: 'lake', completedAt: null })
})

test('an ambiguous GCC VIN gives ADCodes of 13 characters with ADData', async () => {
  await using sandbox = await start()

  const { json } = await ask(sandbox, '/entervin', { vin: samples.gccAmbiguous.vin }, gcc)
  const { descriptionOptions } = styleChoice.parse(json)
  expect(descriptionOptions).toMatchObject([
    { code: expect.stringMatching(/^.{13}$/), codeType: 'ADData' },
    { code: expect.stringMatching(/^.{13}$/), codeType: 'ADData' },
  ])
})

test('what cannot be decoded is a success with an error and no EvalID', async () => {
  await using sandbox = await start()

  const answers = [
    await ask(sandbox, '/entervin', { vin: samples.undecodable.vin }),
    await ask(sandbox, '/entervin', { vin: samples.undecodable.vin }, us),
    await ask(sandbox, '/entervin', { vin: 'IIIIIIIIIIIIIIIII' }),
    await ask(sandbox, '/entervin', { vin: samples.auSingle.vin }, gcc),
    await ask(sandbox, '/entervin', { vin: '***', state: 'NSW' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 201, 201, 201, 201])
  for (const { json } of answers) expect(json).toEqual({ error: expect.any(String) })
  expect(sandbox.world.size).toBe(0)
})

test('a plate gives the VIN of the evaluation with this plate in that state', async () => {
  const evaluations = [
    anEvaluation({ evalId: 1, registration: 'AB 12 CD', vin: singleVin }),
    anEvaluation({ evalId: 2, registration: 'AB12CD', registrationState: 'VIC' }),
    anEvaluation({ evalId: 3, registration: 'AB12CD', vin: null }),
  ]
  await using sandbox = await start({ evaluations })

  const { status, json } = await ask(sandbox, '/entervin', { vin: 'ab-12 cd', state: 'NSW' })
  expect(status).toBe(201)
  expect(json).toMatchObject({
    VIN: singleVin,
    Registration: 'AB12CD',
    RegistrationState: 'NSW',
    CompletedAt: null,
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

test('a plate without a state, a malformed state and a missing VIN are refused', async () => {
  await using sandbox = await start()

  const bodies = [
    { vin: 'ABC123' },
    { vin: 'ABC123', state: 'nsw' },
    { vin: 'ABC123', state: 'N.S' },
    { vin: 'ABC123', state: 'N' },
    { vin: '' },
    { state: 'NSW' },
  ]
  for (const body of bodies) {
    const { status, json } = await ask(sandbox, '/entervin', body)
    expect(status).toBe(400)
    expect(json).toEqual({ error: expect.stringMatching(/vin|state/) })
  }
})

test('the quota of real look-ups is per key and day, and samples do not use it', async () => {
  await using sandbox = await start({}, { limits: { lookupsPerDay: 2 } })
  const enter = async (vin: string, as?: typeof us) =>
    (await ask(sandbox, '/entervin', { vin }, as)).status

  const real = [await enter(singleVin), await enter('IIIIIIIIIIIIIIIII'), await enter(singleVin)]
  expect(real).toEqual([201, 201, 429])
  expect(await enter(samples.auSingle.vin)).toBe(200)
  expect(await enter(singleVin, us)).toBe(201)
  sandbox.clock.advance(86_400_000)
  expect(await enter(singleVin)).toBe(201)
})

test('an evaluation of a key without a linked user has no salesperson yet', async () => {
  await using sandbox = await start()

  const { json } = await ask(sandbox, '/entervin', { vin: samples.gccSingle.vin }, gcc)
  expect(json).toMatchObject({ UserName: null, UserEmail: null, DealerID: 301 })
})

test('a new evaluation has the custom fields of its dealer group, without values', async () => {
  const customFields = {
    Lane: { type: 'select', options: ['A', 'B'], value: 'A' },
    constructor: { type: 'text', options: null, value: 'x' },
  }
  await using sandbox = await start({ evaluations: [anEvaluation({ customFields })] })

  const { json } = await ask(sandbox, '/entervin', { vin: singleVin })
  expect((json as { customFields: unknown }).customFields).toEqual({
    Lane: { type: 'select', options: ['A', 'B'], value: null },
    constructor: { type: 'text', options: null, value: null },
  })
})

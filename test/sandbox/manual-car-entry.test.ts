import { expect, test } from 'vitest'
import { evaluation, styleChoice } from '#src/contract/appraisal/shapes.ts'
import { manualCarEntry } from '#src/contract/appraisal/creation.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { samples } from '#src/sandbox/samples.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { type AskAs, ask } from './ask.ts'

const now = new Date('2026-03-10T04:05:06.700Z')
const us = { key: 'partner-us', rooftop: 'lake' }
const gcc = { key: 'partner-gcc', rooftop: 'gulf' }
const usVin = samples.usAmbiguous.vin
const gccVin = samples.gccAmbiguous.vin

function start() {
  const usPlace = { region: 'US', currency: 'USD', groupId: 'lakeside' } as const
  const rooftops = [
    aRooftop(),
    aRooftop({ uid: 'lake', ...usPlace }),
    aRooftop({ uid: 'far', ...usPlace, groupId: 'far' }),
    aRooftop({ uid: 'gulf', groupId: 'gulf', region: 'GCC', currency: 'AED' }),
  ]
  const keys = [
    aKey({ name: 'au', value: 'partner-au' }),
    aKey({ name: 'us', value: 'partner-us', region: 'US', rooftopUids: ['lake', 'far'] }),
    aKey({ name: 'gcc', value: 'partner-gcc', region: 'GCC', rooftopUids: ['gulf'] }),
  ]
  const evaluations = [
    anEvaluation({ evalId: 10, rooftopUid: 'far', completedAt: null, vin: usVin }),
    anEvaluation({ evalId: 11, rooftopUid: 'lake', vin: usVin }),
  ]
  const world = worldOf({ rooftops, keys, evaluations })
  return startSandbox({ world, clock: new VirtualClock({ start: now, frozen: true }) })
}

async function optionsOf(sandbox: Sandbox, vin: string, as: AskAs) {
  const { json } = await ask(sandbox, '/entervin', { vin }, as)
  const { EvalID, descriptionOptions } = styleChoice.parse(json)
  return { evalid: EvalID, first: descriptionOptions[0]!, second: descriptionOptions[1]! }
}

const enter = (sandbox: Sandbox, body: unknown, as?: AskAs) =>
  ask(sandbox, '/manualcarentry', body, as)

test('AU: the chosen description begins an evaluation of the VIN, with the year of the VIN', async () => {
  await using sandbox = await start()

  const { status, json } = await enter(sandbox, manualCarEntry.example)
  expect(status).toBe(201)
  expect(evaluation.safeParse(json).success).toBe(true)
  expect(json).toMatchObject({
    EvalID: 12,
    VIN: samples.auAmbiguous.vin,
    CreatedAt: '2026-03-10T04:05:06.700Z',
    CompletedAt: null,
    UpdatedAt: '2026-03-10T04:05:06.700Z',
    Make: 'Toyota',
    Model: 'HiLux',
    Variant: 'SR5 Double Cab',
    Year: 2016,
  })
})

test('AU: a description alone begins one without a VIN, a year in front counts', async () => {
  await using sandbox = await start()

  const newest = await enter(sandbox, { desc: ' toyota hilux  workmate ' })
  const older = await enter(sandbox, { desc: '2019 Toyota HiLux Workmate' })
  expect(newest.json).toMatchObject({ VIN: null, Variant: 'Workmate', Year: 2026 })
  expect(older.json).toMatchObject({ VIN: null, Variant: 'Workmate', Year: 2019 })
})

test('AU: no description, an unknown one and one that is no option of the VIN are refused', async () => {
  await using sandbox = await start()
  const vin = samples.auAmbiguous.vin

  for (const body of [{}, { vin }, { desc: 'Trabant 601' }, { vin, desc: 'Mazda CX-5 Akera' }]) {
    const { status, json } = await enter(sandbox, body)
    expect(status).toBe(400)
    expect(json).toEqual({ error: expect.any(String) })
  }
  expect(sandbox.world.size).toBe(2)
})

test('US: evalid, code and codeType choose the style of the same evaluation', async () => {
  await using sandbox = await start()
  const { evalid, second } = await optionsOf(sandbox, usVin, us)
  sandbox.clock.advance(60_000)

  const { code, codeType } = second
  const { status, json } = await enter(sandbox, { evalid, code, codeType }, us)
  expect(status).toBe(201)
  expect(json).toMatchObject({
    EvalID: evalid,
    VIN: usVin,
    Model: 'F-150',
    Variant: 'Lariat',
    CreatedAt: '2026-03-10T04:05:06.700Z',
    CompletedAt: null,
    UpdatedAt: '2026-03-10T04:06:06.700Z',
  })
})

test('US: a codeType that is left out is inferred from the options of the VIN', async () => {
  await using sandbox = await start()
  const { evalid, first } = await optionsOf(sandbox, usVin, us)

  const { json } = await enter(sandbox, { evalid, code: first.code }, us)
  expect(json).toMatchObject({ EvalID: evalid, Variant: first.highlight })
})

test('US: without evalid the newest evaluation that waits for a style is taken, and then the one before', async () => {
  await using sandbox = await start()
  const earlier = await optionsOf(sandbox, usVin, us)
  sandbox.clock.advance(1000)
  const later = await optionsOf(sandbox, usVin, us)
  const { code } = later.second

  const taken: unknown[] = []
  for (let at = 0; at < 2; at++) {
    const { json } = await enter(sandbox, { vin: usVin, code }, us)
    taken.push((json as { EvalID: number }).EvalID)
  }
  expect(taken).toEqual([later.evalid, earlier.evalid])
  // No evaluation waits for a style, but the decode is known: a new one begins, as with codeType.
  const begun = await enter(sandbox, { vin: usVin, code }, us)
  expect(begun).toMatchObject({ status: 201, json: { EvalID: expect.any(Number) } })
  expect(taken).not.toContain((begun.json as { EvalID: number }).EvalID)
})

test('US: a codeType of another provider, an unknown code and an uninferable codeType are refused', async () => {
  await using sandbox = await start()
  const { evalid, first } = await optionsOf(sandbox, usVin, us)
  const { code, codeType } = first

  for (const body of [
    { evalid, code, codeType: 'ADData' },
    { evalid, code: '999999', codeType },
    { evalid, codeType },
    { code },
  ]) {
    const { status, json } = await enter(sandbox, body, us)
    expect(status).toBe(400)
    expect(json).toEqual({ error: expect.stringMatching(/^code/) })
  }
})

test('an evaluation of another group is 403; one that is not there or is Complete is 400', async () => {
  await using sandbox = await start()
  const { first } = await optionsOf(sandbox, usVin, us)
  const { code, codeType } = first

  const statuses: number[] = []
  for (const evalid of [10, 999, 11])
    statuses.push((await enter(sandbox, { evalid, code, codeType }, us)).status)
  expect(statuses).toEqual([403, 400, 400])
})

test('a VIN that is not that of the evaluation is refused', async () => {
  await using sandbox = await start()
  const { evalid, first } = await optionsOf(sandbox, usVin, us)
  const { code, codeType } = first

  const { status } = await enter(sandbox, { evalid, code, codeType, vin: samples.usSingle.vin }, us)
  expect(status).toBe(400)
})

test('GCC: evalid, ADCode and ADData choose the style', async () => {
  await using sandbox = await start()
  const { evalid, second } = await optionsOf(sandbox, gccVin, gcc)

  const { json } = await enter(sandbox, { evalid, code: second.code, codeType: 'ADData' }, gcc)
  expect(json).toMatchObject({ EvalID: evalid, VIN: gccVin, Variant: 'VXR 5.7' })
})

test('GCC: code and ADData alone begin an evaluation without a VIN', async () => {
  await using sandbox = await start()

  const body = { code: 'GC0TOYLANDC02', codeType: 'ADData' }
  const { status, json } = await enter(sandbox, body, gcc)
  expect(status).toBe(201)
  expect(json).toMatchObject({ VIN: null, Variant: 'VXR 5.7', Year: 2022, CompletedAt: null })
})

test('GCC: ADCode as codeType, none, and a code of another length are refused', async () => {
  await using sandbox = await start()
  const code = 'GC0TOYLANDC02'

  const answers = [
    await enter(sandbox, { code, codeType: 'ADCode' }, gcc),
    await enter(sandbox, { code }, gcc),
    await enter(sandbox, { code: '12345', codeType: 'ADData' }, gcc),
    await enter(sandbox, { code: 'GC0NOSUCHCAR1', codeType: 'ADData' }, gcc),
  ]
  expect(answers.map(({ status, json }) => [status, (json as { error: string }).error])).toEqual([
    [400, expect.stringContaining('ADData')],
    [400, expect.stringContaining('ADData')],
    [400, expect.stringContaining('13-character')],
    [400, expect.stringContaining('no style')],
  ])
})

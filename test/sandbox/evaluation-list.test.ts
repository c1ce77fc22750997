import { expect, test } from 'vitest'
import { aKey, anEvaluation, aRooftop, aUser, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import type { World } from '#src/sandbox/world.ts'
import { defaultWire } from '#src/values/wire.ts'
import { ask, listIds, seconds } from './ask.ts'

const clockAt = (iso: string) => new VirtualClock({ start: new Date(iso), frozen: true })
const startWith = (world: World, now = '2026-03-10T00:00:00Z') =>
  startSandbox({ world, clock: clockAt(now) })

const midnight = '2026-03-02T00:00:00Z'
const threeSeconds = () =>
  worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt: '2026-03-01T23:59:59.999Z' }),
      anEvaluation({ evalId: 2, createdAt: midnight }),
      anEvaluation({ evalId: 3, createdAt: '2026-03-02T00:00:00.500Z' }),
      anEvaluation({ evalId: 4, createdAt: '2026-03-02T00:00:01Z' }),
    ],
  })

test('startdate is exclusive, to the second of EntryDate', async () => {
  await using sandbox = await startWith(threeSeconds())

  expect(await listIds(sandbox, { startdate: seconds(midnight) - 1 })).toEqual([2, 3, 4])
  expect(await listIds(sandbox, { startdate: seconds(midnight) })).toEqual([4])
  expect(await listIds(sandbox, { startdate: seconds(midnight) + 1 })).toEqual([])
})

test('enddate is exclusive, to the second of EntryDate', async () => {
  await using sandbox = await startWith(threeSeconds())

  expect(await listIds(sandbox, { enddate: seconds(midnight) })).toEqual([1])
  expect(await listIds(sandbox, { enddate: seconds(midnight) + 1 })).toEqual([1, 2, 3])
})

test('both bounds around one second name what was begun in it, and nothing else', async () => {
  await using sandbox = await startWith(threeSeconds())
  const second = seconds(midnight)

  expect(await listIds(sandbox, { startdate: second - 1, enddate: second + 1 })).toEqual([2, 3])
  expect(await listIds(sandbox, { startdate: second, enddate: second + 1 })).toEqual([])
  expect(await listIds(sandbox, { startdate: second + 5, enddate: second - 5 })).toEqual([])
})

test('the body is optional, and without bounds everything is listed', async () => {
  await using sandbox = await startWith(threeSeconds())

  expect(await listIds(sandbox)).toEqual([1, 2, 3, 4])
  expect(await listIds(sandbox, {})).toEqual([1, 2, 3, 4])
})

test('a late completion appears under its creation time once the clock has passed it', async () => {
  const world = worldOf({
    evaluations: [
      anEvaluation({ evalId: 1, createdAt: midnight, completedAt: '2026-03-20T09:00:00Z' }),
      anEvaluation({ evalId: 2, createdAt: midnight, completedAt: null }),
    ],
  })
  await using sandbox = await startWith(world, '2026-03-20T08:59:59Z')
  const around = { startdate: seconds(midnight) - 1, enddate: seconds(midnight) + 1 }

  expect(await listIds(sandbox, around)).toEqual([])
  expect((await ask(sandbox, '/geteval', { evalid: 1 })).status).toBe(400)
  sandbox.clock.advance(1000)
  expect(await listIds(sandbox, around)).toEqual([1])
  expect((await ask(sandbox, '/geteval', { evalid: 1 })).status).toBe(200)
  world.complete(2, new Date('2026-03-20T09:00:00Z'))
  expect(await listIds(sandbox, around)).toEqual([1, 2])
})

test('an edit changes UpdatedAt, and no bound finds it', async () => {
  await using sandbox = await startWith(
    worldOf({ evaluations: [anEvaluation({ evalId: 1, createdAt: midnight })] }),
  )
  sandbox.world.edit(1, new Date('2026-03-09T12:00:00Z'), { finalPrice: 1 })

  const { json } = await ask(sandbox, '/getevallist')
  expect(json).toEqual([{ EvalID: 1, UpdatedAt: '2026-03-09T12:00:00.000Z' }])
  expect(await listIds(sandbox, { startdate: seconds('2026-03-09T00:00:00Z') })).toEqual([])
})

const twoGroups = () =>
  worldOf({
    rooftops: [
      aRooftop({ uid: 'rooftop-1', dealerId: 101 }),
      aRooftop({ uid: 'rooftop-2', dealerId: 102 }),
      aRooftop({ uid: 'rooftop-3', dealerId: 103, groupId: 'group-2' }),
    ],
    users: [aUser({ userId: 7, email: 'Seven@example.com' }), aUser({ userId: 8, email: 'e@x.y' })],
    evaluations: [
      anEvaluation({ evalId: 1, userId: 7 }),
      anEvaluation({ evalId: 2, rooftopUid: 'rooftop-2', userId: 8 }),
      anEvaluation({ evalId: 3, rooftopUid: 'rooftop-3', userId: 7 }),
    ],
  })

test('the list is of the whole dealer group of the rooftop, and of no other group', async () => {
  await using sandbox = await startWith(twoGroups())

  expect(await listIds(sandbox)).toEqual([1, 2])
  expect(await listIds(sandbox, undefined, { rooftop: 'rooftop-2' })).toEqual([1, 2])
  expect(await listIds(sandbox, undefined, { rooftop: 'rooftop-3' })).toEqual([3])
})

test('dealerId, a string that holds a JSON array, narrows the list within the group', async () => {
  await using sandbox = await startWith(twoGroups())

  expect(await listIds(sandbox, { dealerId: '[102]' })).toEqual([2])
  expect(await listIds(sandbox, { dealerId: '[101, 102]' })).toEqual([1, 2])
  expect(await listIds(sandbox, { dealerId: '[103]' })).toEqual([])
})

test('user narrows the list to one salesperson, by id or by email', async () => {
  await using sandbox = await startWith(twoGroups())

  expect(await listIds(sandbox, { user: '7' })).toEqual([1])
  expect(await listIds(sandbox, { user: 'seven@example.com' })).toEqual([1])
  expect(await listIds(sandbox, { user: 'nobody@example.com' })).toEqual([])
})

test.each([
  ['startdate as text', { startdate: '1772409600' }],
  ['startdate with a fraction', { startdate: 1.5 }],
  ['dealerId as a number', { dealerId: 101 }],
  ['dealerId as an array', { dealerId: [101] }],
  ['dealerId as text that is no array', { dealerId: '101' }],
  ['dealership ids as text', { dealerId: '["101"]' }],
  ['user as a number', { user: 7 }],
  ['from and to date strings', { from: '2026-03-01', to: '2026-03-02' }],
  ['an array as body', [1]],
  ['malformed JSON', '{"startdate": 1'],
])('%s is a 400 with an error', async (_name, body) => {
  await using sandbox = await startWith(twoGroups())

  const { status, json } = await ask(sandbox, '/getevallist', body)
  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.any(String) })
})

test('the order is neither by time nor by id, and always the same', async () => {
  await using sandbox = await startWith(
    worldOf({
      evaluations: Array.from({ length: 30 }, (_, index) => anEvaluation({ evalId: index + 1 })),
    }),
  )

  const first = await ask(sandbox, '/getevallist')
  const ids = (first.json as { EvalID: number }[]).map(({ EvalID }) => EvalID)
  expect((await ask(sandbox, '/getevallist')).text).toBe(first.text)
  expect(ids).toHaveLength(30)
  expect(ids).not.toEqual(ids.toSorted((a, b) => a - b))
})

test('the wire settings name the envelope and the parts of an item', async () => {
  const evalList = { items: 'data.evals', id: 'id', updatedAt: 'times.updated' }
  const wire = { ...defaultWire, appraisal: { ...defaultWire.appraisal, evalList } }
  const world = worldOf({ evaluations: [anEvaluation({ evalId: 9, createdAt: midnight })] })
  await using sandbox = await startSandbox({ world, wire, clock: clockAt('2026-03-10T00:00:00Z') })

  const { json } = await ask(sandbox, '/getevallist')
  expect(json).toEqual({
    data: { evals: [{ id: 9, times: { updated: '2026-03-02T00:30:00.000Z' } }] },
  })
})

test('the update time can be left out, and an id path of "" makes bare ids', async () => {
  const world = worldOf({ evaluations: [anEvaluation({ evalId: 9 })] })
  const bare = { items: '', id: '', updatedAt: 'UpdatedAt' }
  const clock = clockAt('2026-03-10T00:00:00Z')
  const wire = { ...defaultWire, appraisal: { ...defaultWire.appraisal, evalList: bare } }
  await using silent = await startSandbox({ world, clock, listCarriesUpdatedAt: false })
  await using plain = await startSandbox({ world, clock, wire })

  expect((await ask(silent, '/getevallist')).json).toEqual([{ EvalID: 9 }])
  expect((await ask(plain, '/getevallist')).json).toEqual([9])
})

test('a vanished evaluation leaves the list, unless it was made to stay', async () => {
  const gone = { vanishedAt: '2026-03-05T00:00:00Z' }
  const world = worldOf({
    keys: [aKey({ value: 'partner-au' })],
    evaluations: [
      anEvaluation({ evalId: 1, ...gone }),
      anEvaluation({ evalId: 2, ...gone, vanishedStaysListed: true }),
      anEvaluation({ evalId: 3 }),
    ],
  })
  await using sandbox = await startWith(world, '2026-03-04T23:59:59Z')

  expect(await listIds(sandbox)).toEqual([1, 2, 3])
  sandbox.clock.set(new Date('2026-03-05T00:00:00Z'))
  expect(await listIds(sandbox)).toEqual([2, 3])
  expect((await ask(sandbox, '/geteval', { evalid: 2 })).status).toBe(400)
})

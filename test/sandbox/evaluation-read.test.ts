import { expect, test } from 'vitest'
import { aKey, anEvaluation, aRooftop, aUser, worldOf } from '../support/build-world.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import type { World } from '#src/sandbox/world.ts'
import { evaluation } from '#src/contract/appraisal/shapes.ts'
import { defaultWire } from '#src/values/wire.ts'
import { truthAt } from '../support/truth.ts'
import { ask, readOne } from './ask.ts'

const now = new Date('2026-03-10T00:00:00Z')
const startWith = (world: World) =>
  startSandbox({ world, clock: new VirtualClock({ start: now, frozen: true }) })

test('an evaluation carries every documented field', async () => {
  await using sandbox = await startWith(
    worldOf({
      users: [aUser({ userId: 7, name: 'Sam', email: 'sam@example.com' })],
      evaluations: [
        anEvaluation({
          evalId: 5,
          createdAt: '2026-03-02T13:05:09.250Z',
          completedAt: '2026-03-02T14:00:00Z',
          userId: 7,
          finalPrice: 4250.125,
          reconditioning: [
            { type: 'info', source: 'Tesla', cost: 0, value: '87%' },
            { type: 'tyres', source: null, cost: 480.5, value: 4 },
          ],
          userPrices: [{ amount: 4000, currency: 'KWD', note: null }],
          customFields: { Source: { type: 'select', options: ['Web'], value: 'Web' } },
          photos: [{ id: 70, order: 1 }],
          extra: { AuctionLot: 'L-1' },
        }),
      ],
    }),
  )

  const body = await readOne(sandbox, 5)
  expect(evaluation.safeParse(body).success).toBe(true)
  expect(body).toMatchObject({
    EvalID: 5,
    VIN: 'JTMDFREV90D123456',
    CreatedAt: '2026-03-02T13:05:09.250Z',
    CompletedAt: '2026-03-02T14:00:00.000Z',
    UpdatedAt: '2026-03-02T14:00:00.000Z',
    EntryDate: '2026-03-02 13:05:09',
    FinalPrice: 4250.125,
    UserPrices: [{ price: 4000, currency: 'KWD', note: null }],
    UserName: 'Sam',
    UserEmail: 'sam@example.com',
    Reconditioning: 480.5,
    reconditioning_list: [
      { type: 'info', source: 'Tesla', cost: 0, value: '87%' },
      { type: 'tyres', source: null, cost: 480.5, value: 4 },
    ],
    customFields: { Source: { type: 'select', options: ['Web'], value: 'Web' } },
    Photos: [{ id: 70, order: 1, hero: true, heroSource: 'default', angle: null }],
    CarPics: [{ ID: '70', order: 1, hero: true, heroSource: 'default' }],
    DealerID: 101,
    Odometer: 48_000,
    CustomerName: 'Pat Example',
    AuctionLot: 'L-1',
  })
})

test('null is sent as null and what is undefined is left out', async () => {
  await using sandbox = await startWith(
    worldOf({ evaluations: [anEvaluation({ vin: null, finalPrice: undefined, notes: null })] }),
  )

  const body = await readOne(sandbox, 1001)
  expect(body).toMatchObject({ VIN: null, Notes: null, UserName: null, UserPrices: [] })
  expect(body).not.toHaveProperty('FinalPrice')
})

test('zero bytes and lone surrogates arrive as JSON escapes', async () => {
  const awkward = 'a\u0000b \ud800 "\\\n 🚗 سيارة'
  await using sandbox = await startWith(
    worldOf({ evaluations: [anEvaluation({ notes: awkward })] }),
  )

  const { text } = await ask(sandbox, '/geteval', { evalid: 1001 })
  expect(text).toContain('a\\u0000b \\ud800 ')
  expect((await readOne(sandbox, 1001)).Notes).toBe(awkward)
})

const sameCar = () =>
  worldOf({
    rooftops: [
      aRooftop({ uid: 'rooftop-1' }),
      aRooftop({ uid: 'rooftop-2' }),
      aRooftop({ uid: 'rooftop-3', groupId: 'group-2' }),
    ],
    users: [aUser({ userId: 7 }), aUser({ userId: 8, groupId: 'group-2', email: 'b@x.y' })],
    keys: [
      aKey({ value: 'partner-au', rooftopUids: ['rooftop-1', 'rooftop-2', 'rooftop-3'] }),
      aKey({ name: 'strict', value: 'strict', linkedUserId: null, user: 'alex@example.com' }),
    ],
    evaluations: [
      anEvaluation({ evalId: 1 }),
      anEvaluation({ evalId: 2, rooftopUid: 'rooftop-2', registrationState: 'QLD' }),
      anEvaluation({ evalId: 3, rooftopUid: 'rooftop-3' }),
      anEvaluation({ evalId: 4, completedAt: null }),
      anEvaluation({ evalId: 5, vin: 'ANOTHER0000000000', registration: 'XYZ999' }),
    ],
  })

const idsOf = (json: unknown) => (json as { EvalID: number }[]).map(({ EvalID }) => EvalID)

test.each([
  ['VIN', { vin: 'JTMDFREV90D123456' }, [1, 2]],
  ['reg', { reg: 'ABC123' }, [1, 2]],
  ['registration', { registration: 'abc 123' }, [1, 2]],
  ['reg and state', { reg: 'ABC123', state: 'QLD' }, [2]],
  ['evalid of another rooftop of the group', { evalid: 2 }, [2]],
])('%s reads the completed evaluations of the dealer group', async (_name, body, expected) => {
  await using sandbox = await startWith(sameCar())

  const { status, json } = await ask(sandbox, '/geteval', body)
  expect(status).toBe(200)
  expect(idsOf(json)).toEqual(expected)
})

test.each([
  ['unknown', { evalid: 999 }],
  ['of another group', { evalid: 3 }],
  ['in progress', { evalid: 4 }],
  ['negative', { evalid: -1 }],
  ['an unknown VIN', { vin: 'NOSUCHVIN' }],
  ['a plate of another state', { reg: 'ABC123', state: 'WA' }],
  ['not named at all', {}],
  ['not named, and no body', undefined],
  ['named as text', { evalid: '1' }],
  ['of a state in lower case', { reg: 'ABC123', state: 'nsw' }],
  ['malformed', '{'],
])('an evaluation that is %s is a 400', async (_name, body) => {
  await using sandbox = await startWith(sameCar())

  const { status, json } = await ask(sandbox, '/geteval', body)
  expect(status).toBe(400)
  expect(json).toEqual({ error: expect.any(String) })
})

test('a key without a linked user needs `user`, of the same dealer group', async () => {
  await using sandbox = await startWith(sameCar())
  const read = (user?: string) => {
    const body = user === undefined ? { evalid: 1 } : { evalid: 1, user }
    return ask(sandbox, '/geteval', body, { key: 'strict' })
  }

  expect((await read()).status).toBe(400)
  expect((await read('7')).status).toBe(200)
  expect((await read('alex@example.com')).status).toBe(200)
  expect((await read('b@x.y')).status).toBe(403)
  expect((await ask(sandbox, '/geteval', { evalid: 2, user: '7' })).status).toBe(200)
})

test('an edit holds from its instant on, and moves UpdatedAt', async () => {
  await using sandbox = await startWith(worldOf({ evaluations: [anEvaluation()] }))
  const at = new Date('2026-03-11T00:00:00Z')
  sandbox.world.edit(1001, at, { finalPrice: 99, customer: { phone: null }, vin: 'NEWVIN' })

  expect(await readOne(sandbox, 1001)).toMatchObject({
    FinalPrice: 23_500,
    VIN: 'JTMDFREV90D123456',
  })
  sandbox.clock.set(at)
  expect(await readOne(sandbox, 1001)).toMatchObject({
    FinalPrice: 99,
    VIN: 'NEWVIN',
    CustomerPhone: null,
    CustomerName: 'Pat Example',
    UpdatedAt: at.toISOString(),
  })
  expect((await ask(sandbox, '/geteval', { vin: 'JTMDFREV90D123456' })).status).toBe(400)
  expect((await ask(sandbox, '/geteval', { vin: 'newvin' })).status).toBe(200)
})

test('edits that arrive out of order hold in order of their instants', async () => {
  await using sandbox = await startWith(worldOf({ evaluations: [anEvaluation()] }))
  sandbox.world.edit(1001, new Date('2026-03-09T00:00:00Z'), { notes: 'second' })
  sandbox.world.edit(1001, new Date('2026-03-08T00:00:00Z'), { notes: 'first' })

  expect((await readOne(sandbox, 1001)).Notes).toBe('second')
})

test('a body that is read twice differs only in the query strings of the signed links', async () => {
  await using sandbox = await startWith(
    worldOf({ evaluations: [anEvaluation({ photos: [{ id: 1 }, { id: 2 }] })] }),
  )

  const first = (await ask(sandbox, '/geteval', { evalid: 1001 })).text
  sandbox.clock.advance(1)
  const second = (await ask(sandbox, '/geteval', { evalid: 1001 })).text
  const unsigned = (text: string) => text.replaceAll(/\?[^"]*/g, '')
  expect(second).not.toBe(first)
  expect(unsigned(second)).toBe(unsigned(first))
})

test('a poisoned record is served wrong until the poison is removed, and the truth says so', async () => {
  await using sandbox = await startWith(worldOf({ evaluations: [anEvaluation()] }))
  sandbox.world.poison(1001, { FinalPrice: { wrong: true }, VIN: undefined })

  const poisoned = await readOne(sandbox, 1001)
  expect(evaluation.safeParse(poisoned).success).toBe(false)
  expect(poisoned).not.toHaveProperty('VIN')
  expect(truthAt(sandbox.world, now)).toMatchObject([{ poisoned: true, finalPrice: 23_500 }])
  sandbox.world.removePoison(1001)
  expect((await readOne(sandbox, 1001)).FinalPrice).toBe(23_500)
})

test('the wire settings name the fields that the document does not show', async () => {
  const wire = {
    ...defaultWire.appraisal,
    evaluation: {
      ...defaultWire.appraisal.evaluation,
      make: 'vehicle.maker',
      odometer: 'vehicle.km',
    },
  }
  await using sandbox = await startSandbox({
    wire: { ...defaultWire, appraisal: wire },
    world: worldOf({ evaluations: [anEvaluation()] }),
    now,
  })

  expect((await readOne(sandbox, 1001)).vehicle).toEqual({ maker: 'Toyota', km: 48_000 })
})

import { expect, test } from 'vitest'
import { evaluation } from '#src/api/contract/appraisal/shapes.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { startSandbox } from '#src/sandbox/server.ts'
import type { World } from '#src/sandbox/world.ts'
import { defaultWire } from '#src/values/wire.ts'
import { aKey, anEvaluation, worldOf } from '../support/build-world.ts'
import { truthAt } from '../support/truth.ts'
import { ask, listIds, readOne, seconds } from './ask.ts'

// What the list and /geteval do beyond the rows of test/conformance.

const now = new Date('2026-03-10T00:00:00Z')
const clockAt = (at: Date | string) => new VirtualClock({ start: new Date(at), frozen: true })
const startWith = (world: World, at: Date | string = now) =>
  startSandbox({ world, clock: clockAt(at) })

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

test('both bounds around one second name what was begun in it, and nothing else', async () => {
  await using sandbox = await startWith(threeSeconds())
  const second = seconds(midnight)

  expect(await listIds(sandbox, { startdate: second - 1, enddate: second + 1 })).toEqual([2, 3])
  expect(await listIds(sandbox, { startdate: second, enddate: second + 1 })).toEqual([])
  expect(await listIds(sandbox, { startdate: second + 5, enddate: second - 5 })).toEqual([])
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

/** Paths, what they are sent beside `evalid`, and their status for an evaluation that is not there. */
const missing = [
  ['/geteval', {}, 400],
  ['/dcupdateeval', { km: 1 }, 400],
  ['/imagelist', {}, 403],
  ['/imageorder', { ids: [1] }, 403],
  ['/imagehero', { imgid: null }, 403],
  ['/ppsrsearch', {}, 404],
  ['/carhistory', {}, 404],
  ['/getpastppsrsearch', {}, 404],
  ['/getpastcarhistory', {}, 404],
  ['/ppsrwatch', {}, 404],
] as const

test('an evaluation is there for every operation from its creation until it vanishes', async () => {
  const evaluations = [anEvaluation({ photos: [{ id: 1 }], vanishedAt: '2026-03-04T00:00:00Z' })]
  await using sandbox = await startWith(worldOf({ evaluations }), '2026-03-02T00:59:59Z')
  const statuses = async () => {
    const answers = missing.map(([path, body]) => ask(sandbox, path, { evalid: 1001, ...body }))
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  const headers = { authorization: 'partner-au', 'x-dealer-id': 'rooftop-1' }
  const body = new FormData()
  body.append('evalid', '1001')
  const upload = { method: 'POST', headers, body }

  expect(await statuses()).toEqual(missing.map(([, , status]) => status))
  sandbox.clock.set(new Date('2026-03-02T01:00:00Z'))
  expect((await ask(sandbox, '/imagelist', { evalid: 1001 })).status).toBe(200)
  sandbox.clock.set(new Date('2026-03-03T00:00:00Z'))
  expect(new Set(await statuses())).toEqual(new Set([200]))
  sandbox.clock.set(new Date('2026-03-04T00:00:00Z'))
  expect(await statuses()).toEqual(missing.map(([, , status]) => status))
  expect((await fetch(`${sandbox.baseUrl}/pricingAi/payload/1001`, { headers })).status).toBe(400)
  const refused = await fetch(`${sandbox.baseUrl}/imageupload`, upload)
  expect(await refused.json()).toEqual({ error: expect.stringContaining('does not exist') })
})

test('amounts, price notes, milliseconds and fields beyond the documents are served as they are', async () => {
  await using sandbox = await startWith(
    worldOf({
      evaluations: [
        anEvaluation({
          createdAt: '2026-03-02T13:05:09.250Z',
          finalPrice: 4250.125,
          userPrices: [{ amount: 4000, currency: 'KWD', note: null }],
          extra: { AuctionLot: 'L-1' },
        }),
      ],
    }),
  )

  expect(await readOne(sandbox, 1001)).toMatchObject({
    CreatedAt: '2026-03-02T13:05:09.250Z',
    UpdatedAt: '2026-03-02T13:35:09.250Z',
    EntryDate: '2026-03-02 13:05:09',
    FinalPrice: 4250.125,
    UserPrices: [{ price: 4000, currency: 'KWD', note: null }],
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

test('the wire settings name the header and the text before the key', async () => {
  const wire = { ...defaultWire.appraisal, authHeader: 'X-Api-Key', authPrefix: 'Key ' }
  await using sandbox = await startSandbox({
    world: worldOf({ keys: [aKey({ value: 'own', kind: 'dedicated' })] }),
    wire: { ...defaultWire, appraisal: wire },
  })
  const list = (headers: Record<string, string>) =>
    fetch(`${sandbox.baseUrl}/getevallist`, { method: 'POST', headers })

  expect((await list({ 'x-api-key': 'Key own' })).status).toBe(200)
  expect((await list({ 'x-api-key': 'own' })).status).toBe(403)
  expect((await list({ authorization: 'Key own' })).status).toBe(403)
})

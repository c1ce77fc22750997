import { expect, test } from 'vitest'
import {
  evaluation as evaluationShape,
  user as userShape,
} from '#src/api/contract/appraisal/shapes.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { defaultWire } from '#src/values/wire.ts'
import { caseCount } from '../support/cases.ts'
import { truthAt } from '../support/truth.ts'
import { type AskAs, ask } from './ask.ts'

const now = new Date('2026-06-30T10:20:30Z')
const start = (options: { seed?: number; evaluations?: number; rooftops?: number } = {}) =>
  startSandbox({ ...options, clock: new VirtualClock({ start: now, frozen: true }) })

/** As each rooftop's configured key. */
function callers(sandbox: Sandbox): { as: AskAs; user: string | null; dealerId: number }[] {
  const { keys, rooftops } = sandbox.clientConfig()
  return rooftops.map(({ uid, key, dealerId }) => ({
    as: { key: keys[key]!.value, rooftop: keys[key]!.kind === 'dedicated' ? null : uid },
    user: keys[key]!.user,
    dealerId,
  }))
}

async function readAll(sandbox: Sandbox): Promise<Map<number, Record<string, unknown>>> {
  const read = new Map<number, Record<string, unknown>>()
  for (const { as, user, dealerId } of callers(sandbox)) {
    const list = await ask(sandbox, '/getevallist', { dealerId: `[${dealerId}]` }, as)
    for (const { EvalID: evalid } of list.json as { EvalID: number }[]) {
      const body = user === null ? { evalid } : { evalid, user }
      const { status, json } = await ask(sandbox, '/geteval', body, as)
      if (status === 200) read.set(evalid, (json as Record<string, unknown>[])[0]!)
    }
  }
  return read
}

test('what is listed and read is the truth, and fits the contract', async () => {
  await using sandbox = await start({ evaluations: caseCount(2000, 300) })
  const truth = truthAt(sandbox.world, now)

  const read = await readAll(sandbox)
  expect([...read.keys()].sort((a, b) => a - b)).toEqual(truth.map(({ evalId }) => evalId))
  for (const known of truth) {
    const body = read.get(known.evalId)!
    expect(evaluationShape.safeParse(body).error).toBeUndefined()
    expect([
      body.VIN,
      body.CreatedAt,
      body.UpdatedAt,
      body.FinalPrice ?? null,
      body.Reconditioning ?? null,
      body.Notes ?? null,
      (body.Photos as unknown[]).length,
      body.UserEmail,
    ]).toEqual([
      known.vin,
      known.createdAt.toISOString(),
      known.updatedAt.toISOString(),
      known.finalPrice,
      known.reconTotal,
      known.notes,
      known.photos.length,
      known.userEmail,
    ])
  }
})

test('the same seed gives the same bytes, another seed does not', async () => {
  const bytes = async (seed: number) => {
    await using sandbox = await start({ seed, evaluations: 120 })
    const text = JSON.stringify([...(await readAll(sandbox))])
    return text.replaceAll(/"http[^"]*"/g, '""')
  }

  const first = await bytes(7)
  expect(await bytes(7)).toBe(first)
  expect(await bytes(8)).not.toBe(first)
})

test('the world holds every awkward case', async () => {
  await using sandbox = await start()
  const all = [...sandbox.world.evaluations()]
  const truth = truthAt(sandbox.world, now)
  const some = (wanted: (one: (typeof all)[0]) => unknown) => all.filter(wanted).length
  const second = (one: (typeof all)[0]) => Math.floor(one.createdAt.getTime() / 1000)

  expect(new Set(all.map(({ evalId }) => evalId)).size).toBe(2000)
  expect(some((one) => one.completedAt === null)).toBeGreaterThan(20)
  expect(some((one) => one.completedAt !== null && one.completedAt > now)).toBeGreaterThan(10)
  expect(some((one) => one.edits.length > 0)).toBeGreaterThan(100)
  expect(some((one) => one.vanishedAt !== null && one.vanishedAt < now)).toBeGreaterThan(3)
  expect(some((one) => one.vanishedStaysListed)).toBeGreaterThan(1)
  expect(some((one) => second(one) % 86_400 === 0)).toBeGreaterThan(3)
  expect(some((one) => second(one) % 86_400 === 86_399)).toBeGreaterThan(3)
  expect(some((one) => one.createdAt.getUTCMilliseconds() > 0)).toBeGreaterThan(20)
  expect(new Set(all.map((one) => `${one.rooftopUid} ${second(one)}`)).size).toBeLessThan(1950)
  expect(some((one) => one.notes?.includes('\u0000'))).toBeGreaterThan(0)
  expect(some((one) => one.notes && !one.notes.isWellFormed())).toBeGreaterThan(0)
  expect(some((one) => (one.notes?.length ?? 0) > 50_000)).toBeGreaterThan(1)
  expect(some((one) => one.finalPrice === 0)).toBeGreaterThan(10)
  expect(some((one) => one.vin === null)).toBeGreaterThan(10)
  expect(some((one) => one.userPrices.length > 0)).toBeGreaterThan(100)
  expect(some((one) => Object.keys(one.customFields).length > 3)).toBeGreaterThan(100)
  expect(truth.filter(({ heroSource }) => heroSource === 'manual').length).toBeGreaterThan(100)
  expect(truth.filter(({ heroSource }) => heroSource === null).length).toBeGreaterThan(50)
  expect(
    truth.some(({ reconditioning }) =>
      reconditioning.some(
        ({ type, cost, value }) => type === 'info' && cost === 0 && /%$/.test(`${value}`),
      ),
    ),
  ).toBe(true)
  expect(truth.some(({ finalPrice }) => finalPrice !== null && (finalPrice * 100) % 1 !== 0)).toBe(
    true,
  )
})

test('six rooftops cover the regions, currencies and both kinds of key', async () => {
  await using sandbox = await start({ evaluations: 0 })
  const { keys, rooftops } = sandbox.clientConfig()

  expect(rooftops.map(({ region, currency, key }) => `${region} ${currency} ${key}`)).toEqual([
    'AU AUD au',
    'AU AUD au',
    'AU AUD au',
    'US USD us',
    'GCC KWD gcc',
    'GCC AED gcc',
  ])
  expect(Object.entries(keys).map(([name, { kind, user }]) => [name, kind, user !== null])).toEqual(
    [
      ['au', 'partner', false],
      ['us', 'dedicated', false],
      ['gcc', 'partner', true],
    ],
  )
  expect(sandbox.world.groups.map(({ id }) => id)).toEqual([
    'harbour',
    'outback',
    'lakeside',
    'gulf',
  ])
})

test('generated accounts follow the wire settings and are never listed', async () => {
  await using sandbox = await start({ evaluations: 0 })
  const { namePrefix, emailSuffix } = defaultWire.appraisal.generatedUser
  const generated = sandbox.world.users.filter((one) => one.generated)

  expect(generated).toHaveLength(6)
  for (const { name, email } of generated) {
    expect(name.startsWith(namePrefix)).toBe(true)
    expect(email.endsWith(emailSuffix)).toBe(true)
  }
  for (const { as } of callers(sandbox)) {
    const { json } = await ask(sandbox, '/getuserlist', { includeInactive: true }, as)
    const users = (json as unknown[]).map((one) => userShape.parse(one))
    expect(users.length).toBeGreaterThan(6)
    expect(users.filter(({ Email }) => Email.endsWith(emailSuffix))).toEqual([])
    expect(users.some(({ Name }) => Name?.startsWith(namePrefix))).toBe(true)
  }
})

test('future evaluations appear as the clock advances', async () => {
  await using sandbox = await start()
  const { world } = sandbox
  const before = new Set(truthAt(world, now).map(({ evalId }) => evalId))
  const late = truthAt(world, new Date('2026-12-31T00:00:00Z'))

  expect(late.filter(({ evalId }) => !before.has(evalId)).length).toBeGreaterThan(10)
})

test('as many rooftops as asked, each under a key, with a uid of its own', async () => {
  await using sandbox = await start({ rooftops: 20, evaluations: 50 })
  const { rooftops } = sandbox.clientConfig()

  expect(new Set(rooftops.map(({ uid }) => uid)).size).toBe(20)
  expect(new Set(rooftops.map(({ dealerId }) => dealerId)).size).toBe(20)
  await expect(start({ rooftops: 0 })).rejects.toThrow(
    'rooftops has to be a whole number from 1 on',
  )
})

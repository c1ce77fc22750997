import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStreams } from '#src/streams/all.ts'
import { dayMs, openFixture } from '../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

let console: ConsoleFixture

beforeAll(async () => {
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const start = new Date(now.getTime() - 8 * dayMs).toISOString()
  const sandbox = { seed: 7, evaluations: 40, days: 8, now }
  const fixture = await openFixture({ sandbox, sync: { start }, streams: allStreams })
  await fixture.night()
  console = await openConsole({ fixture })
})

afterAll(async () => await console[Symbol.asyncDispose]())

interface Problem {
  readonly word: string
  readonly what: string
  readonly detail: string
  readonly why: string
}

interface Key {
  readonly key: string
  readonly refusal: {
    readonly rooftops: string[]
    readonly all: number
  } | null
}

const problems = async () => (await console.json<{ problems: Problem[] }>('/')).problems
const keys = async () => (await console.json<{ keys: Key[] }>('/work')).keys
const refused = async () =>
  (await keys()).flatMap(({ key, refusal }) => (refusal === null ? [] : key))

test('a refused key is one row of the morning, is refused on every page, and open after the next good run', async () => {
  const { fixture } = console
  const name = Object.keys(console.config.keys).find(
    (key) => console.config.rooftops.filter((rooftop) => rooftop.key === key).length > 1,
  )!
  const own = console.config.rooftops.filter(({ key }) => key === name)
  const other = console.config.rooftops.find(({ key }) => key !== name)!
  expect(await refused()).toEqual([])
  const dead = own.map(({ uid }) =>
    fixture.sandbox.faults.add({
      match: { rooftopUid: uid },
      fault: { kind: 'status', status: 401, body: { error: 'Invalid API key' } },
    }),
  )

  await fixture.nightAfter(1)
  const [first, ...others] = await problems()
  const work = await console.get('/work')
  const page = await console.get(`/rooftops/${own[0]!.uid}`)
  const good = await console.get(`/rooftops/${other.uid}`)
  const state = (await keys()).find(({ key }) => key === `appraisal/${name}`)!

  expect(others.filter(({ why }) => /401/.test(why))).toEqual([])
  expect(first).toMatchObject({
    word: 'Key refused',
    detail: `key “appraisal/${name}”, at all ${own.length} rooftops`,
    why: expect.stringMatching(/answered 401: "Invalid API key".*Check the value of key/s),
  })
  expect(await refused()).toEqual([`appraisal/${name}`])
  expect(state.refusal!.rooftops.toSorted()).toEqual(own.map((one) => one.name).toSorted())
  for (const { text } of [work, page]) {
    expect(text).toContain('<span class="badge bad">refused</span>')
    expect(text).toContain(`at all ${own.length} rooftops`)
  }
  expect(good.text).toContain('not refused, never slowed down')

  for (const fault of dead) fault.remove()
  await fixture.night()

  expect((await problems()).filter(({ word }) => word === 'Key refused')).toEqual([])
  expect(await refused()).toEqual([])
})

test('a key that is refused at one of its rooftops says at which', async () => {
  const { fixture } = console
  const [rooftop] = console.config.rooftops.filter(
    ({ key }, _, all) => all.filter((other) => other.key === key).length > 1,
  )
  const fault = fixture.sandbox.faults.add({
    match: { rooftopUid: rooftop!.uid },
    fault: { kind: 'status', status: 401 },
  })
  await fixture.nightAfter(1)
  const [first] = await problems()
  fault.remove()
  await fixture.night()

  expect(first).toMatchObject({ word: 'Key refused', what: rooftop!.name })
  expect(first!.detail).toMatch(/at 1 of its \d+ rooftops$/)
})

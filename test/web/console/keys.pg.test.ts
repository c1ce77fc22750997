import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pollPriceBatch } from '#src/api/contract/vehicle-data/prices.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { allStreams } from '#src/streams/all.ts'
import { WarehouseMetrics } from '#src/web/operations/warehouse-metrics.ts'
import { someOf } from '../../support/cases.ts'
import { runInProcess } from '../../support/cli.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

// One definition of the state of a key: the pages, `status`, its JSON and the metrics say the same.

/** In days. What was read at an instant is not read again at the same. */
const minute = 1 / 1440

let console: ConsoleFixture
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let file: string

beforeAll(async () => {
  const now = new Date(Math.floor(Date.now() / 1000) * 1000)
  const start = new Date(now.getTime() - 8 * dayMs).toISOString()
  const sandbox = { seed: 7, evaluations: 40, days: 8, now }
  const fixture = await openFixture({ sandbox, sync: { start }, streams: allStreams })
  await fixture.night()
  console = await openConsole({ fixture })
  folder = await temporaryFolder()
  file = join(folder.path, 'forecourt.yaml')
  const keys = Object.fromEntries(
    Object.entries(fixture.sandbox.clientConfig().keys).map(([name, key]) => [
      name,
      { ...key, value: `\${KEY_${name.replaceAll('-', '_')}}` },
    ]),
  )
  const input: ConfigInput = {
    ...fixture.sandbox.clientConfig(),
    ...{ keys, warehouse: { url: fixture.database.url }, http: { maxRetries: 0 } },
    sync: { start },
  }
  await writeFile(file, JSON.stringify(input))
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

interface Key {
  readonly key: string
  readonly state: string
  readonly refusal: {
    readonly rooftops: string[]
    readonly all: number
    readonly calls: number
    readonly status: number
    readonly since: string
    readonly goodAt: string | null
  } | null
}

interface Problem {
  readonly word: string
  readonly what: string
  readonly detail: string
  readonly why: string
}

const status = async (...args: string[]) => {
  const env = Object.fromEntries(
    Object.entries(console.config.keys).map(([name, { value }]) => [
      `KEY_${name.replaceAll('-', '_')}`,
      value,
    ]),
  )
  return await runInProcess(['--config', file, 'status', ...args], { cwd: folder.path, env })
}

/** The state of every key, as each face says it. */
async function everywhere() {
  const { config, fixture, context } = console
  const work = (await console.json<{ keys: Key[] }>('/work')).keys
  const json = JSON.parse((await status('--json')).stdout) as { keys: Record<string, Key> }
  const metrics = new WarehouseMetrics({
    ...{ config, log: context.log, pool: fixture.database.pool, jobs: [] },
  })
  const samples = await metrics.samples()
  const short = (key: string) => key.replace('appraisal/', '')
  const states = {
    work: Object.fromEntries(work.map(({ key, state }) => [short(key), state])),
    json: Object.fromEntries(Object.entries(json.keys).map(([key, { state }]) => [key, state])),
    metrics: Object.fromEntries(
      samples.flatMap(({ gauge, labels, value }) =>
        gauge === 'forecourt_key_state' && value === 1 ? [[labels!['key'], labels!['state']]] : [],
      ),
    ),
  }
  const { problems } = await console.json<{ problems: Problem[] }>('/')
  return { states, work, json: json.keys, samples, problems, text: (await status()).stdout }
}

const openKeys = () =>
  Object.fromEntries(
    [...Object.keys(console.config.keys), 'vehicleData'].sort().map((name) => [name, 'open']),
  )

/** The key of several rooftops, and those. */
function sharedKey() {
  const { rooftops, keys } = console.config
  const name = Object.keys(keys).find(
    (key) => rooftops.filter((rooftop) => rooftop.key === key).length > 1,
  )!
  return { name, own: rooftops.filter(({ key }) => key === name) }
}

/** After the next good answers nothing is left of the refusal, on any page or in any text. */
async function expectNoTrace() {
  const { states, problems, text, samples } = await everywhere()
  const open = openKeys()
  expect(states).toEqual({ work: open, json: open, metrics: open })
  expect(problems.filter(({ word }) => /key/i.test(word))).toEqual([])
  expect(text).toContain('All objectives are met.')
  expect(
    samples.filter(({ gauge, value }) => /^forecourt_key_refused/.test(gauge) && value > 0),
  ).toEqual([])
  const pages = [
    '/',
    '/work',
    '/links',
    ...console.config.rooftops.map(({ uid }) => `/rooftops/${uid}`),
  ]
  for (const page of pages) {
    const answer = await console.get(page)
    expect([page, answer.text.match(/Invalid API key|answered 40[13]|badge bad">refused/)]).toEqual(
      [page, null],
    )
  }
}

test.for(someOf([401, 403], 1))(
  'a key that is refused with %i is one cause on every page and in status, and leaves no trace',
  { timeout: 120_000 },
  async (code) => {
    const { fixture, config } = console
    const { name, own } = sharedKey()
    const other = config.rooftops.find(({ key }) => key !== name)!
    const dead = own.map(({ uid }) =>
      fixture.sandbox.faults.add({
        match: { rooftopUid: uid },
        fault: { kind: 'status', status: code, body: { error: 'Invalid API key' } },
      }),
    )
    // More nights than one: failed reads are put off longer each time, but not past the day when the key is corrected.
    await fixture.nightAfter(1)
    await fixture.nightAfter(1)
    const found = await everywhere()
    const pages = {
      work: (await console.get('/work')).text,
      rooftop: (await console.get(`/rooftops/${own[0]!.uid}`)).text,
      links: (await console.get('/links')).text,
      good: (await console.get(`/rooftops/${other.uid}`)).text,
    }
    for (const fault of dead) fault.remove()
    await fixture.nightAfter(minute)

    const expected = { ...openKeys(), [name]: 'refused' }
    expect(found.states).toEqual({ work: expected, json: expected, metrics: expected })
    expect(found.json[name]!.refusal).toMatchObject({
      ...{ status: code, all: own.length, rooftops: own.map(({ uid }) => uid).toSorted() },
      ...{ since: expect.any(String), goodAt: expect.any(String) },
    })
    expect(found.json[name]!.refusal!.calls).toBeGreaterThan(own.length)
    expect(
      found.samples.find(
        ({ gauge, labels }) =>
          gauge === 'forecourt_key_refused_rooftops' && labels!['key'] === name,
      )!.value,
    ).toBe(own.length)
    const ofKey = found.problems.filter(({ why }) => /answered 40/.test(why))
    expect(ofKey).toMatchObject([
      { word: 'Key refused', detail: `key “${name}”, at all ${own.length} rooftops` },
    ])
    const flat = found.text.replaceAll(/\s+/g, ' ')
    expect(flat).toMatch(
      new RegExp(`Key ${name} is refused since 20[0-9 :-]+ UTC, at all ${own.length} rooftops`),
    )
    expect(flat).toContain(
      `Cure: Correct the value of key ${name} (the environment variable KEY_${name.replaceAll('-', '_')}, named in forecourt.yaml), then run "forecourt check".`,
    )
    expect(flat).toContain('"Change a key" in src/web/operations/README.md')
    expect(flat.match(/Invalid API key/g)).toHaveLength(1)
    expect(flat).not.toContain('Run "forecourt sync"')
    for (const page of [pages.work, pages.rooftop]) {
      expect(page.match(/badge bad">refused/g)).toHaveLength(1)
      expect(page.match(/Invalid API key/g)).toHaveLength(1)
      expect(page).toContain(`at all ${own.length} rooftops`)
    }
    expect(pages.links).not.toContain('Invalid API key')
    expect(pages.good).toContain('not refused, never slowed down')
    await expectNoTrace()
  },
)

test('a key that is refused at one of its rooftops says at which', {
  tags: 'ci',
  timeout: 120_000,
}, async () => {
  const { fixture } = console
  const { name, own } = sharedKey()
  const [rooftop] = own
  const fault = fixture.sandbox.faults.add({
    match: { rooftopUid: rooftop!.uid },
    fault: { kind: 'status', status: 403 },
  })
  await fixture.nightAfter(1)
  const found = await everywhere()
  fault.remove()
  await fixture.nightAfter(minute)

  expect(found.problems[0]).toMatchObject({
    ...{ word: 'Key refused', what: rooftop!.name },
    detail: `key “${name}”, at 1 of its ${own.length} rooftops`,
  })
  expect(found.states.json[name]).toBe('refused')
  expect(found.json[name]!.refusal!.rooftops).toEqual([rooftop!.uid])
  const flat = found.text.replaceAll(/\s+/g, ' ')
  expect(flat).toContain(`at 1 of its ${own.length} rooftops`)
  expect(flat).toContain(`Check that key ${name} may read this rooftop (uid, X-Dealer-Id)`)
  await expectNoTrace()
})

test.for(someOf([403, 401], 1))(
  'a refused key of the vehicle-data APIs is the same: %i',
  async (code) => {
    const { fixture } = console
    const poll = async () =>
      await fixture.context.services
        .call(pollPriceBatch, { fields: { batchId: 'none' } })
        .catch(() => undefined)
    const fault = fixture.sandbox.faults.add({
      match: { path: '/price-batch/{batchId}' },
      fault: { kind: 'status', status: code, body: { error: 'bad key' } },
    })
    await poll()
    await fixture.context.storeKeyAnswers()
    const found = await everywhere()
    fault.remove()
    await poll()
    await fixture.context.storeKeyAnswers()

    const expected = { ...openKeys(), vehicleData: 'refused' }
    expect(found.states).toEqual({ work: expected, json: expected, metrics: expected })
    expect(found.problems[0]).toMatchObject({
      word: 'Key refused',
      why: expect.stringContaining('bad key'),
    })
    expect(found.text.replaceAll(/\s+/g, ' ')).toContain(
      'Cure: Correct vehicleData.apiKey (vehicleData.apiKey of forecourt.yaml)',
    )
    await expectNoTrace()
  },
)

test('a quota that is used up and a slowed key are states of their own', {
  tags: 'ci',
}, async () => {
  const { fixture } = console
  const { name, own } = sharedKey()
  const quota = own.map(({ uid }) =>
    fixture.sandbox.faults.add({
      match: { rooftopUid: uid, path: '/pricingAi/payload/{evalid}' },
      fault: { kind: 'tooMany', retryAfter: null },
    }),
  )
  const { pool } = fixture.database
  await fixture.nightAfter(1)
  for (const fault of quota) fault.remove()
  const parked = await everywhere()
  await pool.query('delete from ops.parked')
  await fixture.nightAfter(1)
  await pool.query(
    `insert into ops.rate_budget (key_name, rate, throttled_at) values ($1, 4.5, now())
     on conflict (key_name) do update set rate = 4.5, throttled_at = now(), blocked_until = null`,
    [`appraisal/${name}`],
  )
  const slowed = await everywhere()
  await pool.query(`update ops.rate_budget set blocked_until = now() + interval '1 hour'`)
  const resting = await everywhere()
  await pool.query(
    'update ops.rate_budget set blocked_until = null, throttled_at = null, rate = null',
  )

  expect(parked.states.work[name]).toBe('quotaUsed')
  expect(slowed.states.work[name]).toBe('slowed')
  expect(resting.states.work[name]).toBe('resting')
  for (const { states } of [parked, slowed, resting]) {
    expect(states.json).toEqual(states.work)
    expect(states.metrics).toEqual(states.work)
  }
  expect(parked.text.replaceAll(/\s+/g, ' ')).toMatch(
    new RegExp(
      `Key ${name}: the daily quota is used up until 20[0-9 :-]+ UTC Stops pricing of .* 429`,
    ),
  )
  expect(slowed.text).toContain('was slowed to 4.5 requests a second')
  expect(resting.text).toMatch(/rests until 20[0-9 :-]+ UTC/)
  await expectNoTrace()
})

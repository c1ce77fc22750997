import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole, serveConsole } from './console-fixture.ts'
import { openWorker, untilRunsEnded } from './worker.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let console: ConsoleFixture
const now = new Date()

/** Two rooftops with six evaluations each; five of them do not fit, for two reasons. */
beforeAll(async () => {
  const uids = ['north', 'south']
  const createdAt = new Date(now.getTime() - dayMs)
  const world = worldOf({
    rooftops: uids.map((uid, at) => aRooftop({ uid, name: `The ${uid}`, dealerId: 101 + at })),
    keys: [aKey({ name: 'one', value: 'canary-key-one', rooftopUids: uids })],
    evaluations: uids.flatMap((rooftopUid, at) =>
      Array.from({ length: 6 }, (_, index) =>
        anEvaluation({ evalId: 1000 + 100 * at + index, rooftopUid, createdAt }),
      ),
    ),
  })
  const start = new Date(now.getTime() - 4 * dayMs).toISOString()
  const fixture = await openFixture({ sandbox: { world, now }, sync: { start } })
  for (const id of [1000, 1001, 1100]) world.poison(id, { UpdatedAt: 'never' })
  for (const id of [1002, 1101])
    world.poison(id, { FinalPrice: 'a lot', CustomerName: 'Canary Person', Notes: 'canary note' })
  await fixture.night()
  console = await openConsole({ fixture })
})

afterAll(async () => await console[Symbol.asyncDispose]())

interface CausesData {
  readonly causes: readonly { cause: string; path: string; records: number; retriable: number }[]
  readonly list: { readonly entries: readonly { id: number }[]; readonly hasMore: boolean } | null
  readonly retriable: number
}

const read = async (query = '') => await console.json<CausesData>(`/quarantine${query}`)

test('records that do not fit for one reason are one row, with a count equal to SQL', async () => {
  const { status, title, text } = await console.get('/quarantine')
  const { causes, list, retriable } = await read()
  const rows = await console.rows<{ path: string; records: number }>(
    `select issues -> 0 ->> 'path' as path, count(*)::int as records from ops.quarantine
     where resolved_at is null group by 1 order by 2 desc`,
  )

  expect({ status, title }).toEqual({ status: 200, title: 'Quarantine' })
  expect(text).toContain('What did not fit, why, and does it fit now?')
  expect(causes.map(({ path, records }) => ({ path, records }))).toEqual(rows)
  expect(rows.map(({ records }) => records)).toEqual([3, 2])
  expect([list, retriable]).toEqual([null, 5])
  expect(text).toContain('Retry 5 records')
  expect(text).toContain('The north, The south')
})

test('the filters count by stream and rooftop, and a cause shows its records', async () => {
  const south = await read('?rooftop=south')
  const [cause] = (await read()).causes
  const list = await read(`?cause=${cause!.cause}`)
  const page = await console.get(`/quarantine?cause=${cause!.cause}&rooftop=south`)

  expect(south.causes.map(({ records }) => records)).toEqual([1, 1])
  expect((await read('?stream=users')).causes).toEqual([])
  expect((await read('?rooftop=nowhere')).retriable).toBe(0)
  expect(list.list!.entries).toHaveLength(3)
  expect(page.text).toContain('Retry 1 record<')
  expect(page.text).toContain(`<code>${cause!.path}</code>`)
  expect((await console.get('/quarantine?stream=users')).text).toContain('Nothing fits this filter')
})

test('a record shows its issues beside its payload, without its customer', async () => {
  const [row] = await console.rows<{ id: number }>(
    "select quarantine_id as id from ops.quarantine where natural_key = '1002'",
  )
  const { status, title, text } = await console.get(`/quarantine/${row!.id}`)
  const json = await console.get(`/quarantine/${row!.id}`, {
    headers: { accept: 'application/json' },
  })

  expect({ status, title }).toEqual({ status: 200, title: `Quarantine ${row!.id}` })
  expect(text).toContain('Why does this record not fit?')
  expect(text).toMatch(/<code>FinalPrice<\/code> <span class="badge bad">/)
  expect(text).toContain('<small>hidden</small>')
  for (const answer of [text, json.text]) expect(answer).not.toMatch(/canary/i)
  expect(JSON.parse(json.text).record.payload).toBeUndefined()
  expect((await console.get('/quarantine/99999')).status).toBe(404)
  expect((await console.get('/quarantine/1e3')).status).toBe(404)
})

test('what cannot be masked is not shown', async () => {
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'evaluations', rooftop_id, key, '[{"path":"$","message":"is not JSON"}]', payload, 1
     from core.rooftop, (values ('9001', '{"CustomerName": "Canary Person"'), ('item 9002', '"x"'),
       ('9003', repeat('[', 5000) || repeat(']', 5000)), ('9004', repeat('x', 1000001)), ('9005', null)) as planted (key, payload)
     where rooftop_uid = 'north'`,
  )
  const rows = await console.rows<{ id: number; key: string }>(
    "select quarantine_id as id, natural_key as key from ops.quarantine where natural_key ~ '900' order by 2",
  )
  const shown = await Promise.all(
    rows.map(async ({ id }) => (await console.get(`/quarantine/${id}`)).text),
  )

  const [broken, deep, large, none, item] = shown
  expect(broken).toContain('It is not JSON')
  expect(broken).not.toContain('Canary')
  expect(deep).toContain('nested too deeply')
  expect(large).toContain('1,000,001 characters')
  expect(none).toContain('None was received')
  expect(item).toContain('the next sync lists its window again')
  expect(item).not.toContain('Retry this record')
  expect((await read()).retriable).toBe(9)
  await console.rows("delete from ops.quarantine where natural_key ~ '900'")
})

test('what left quarantine is shown no further back than retention leaves it', async () => {
  const usual = await console.get('/quarantine?tab=resolved')
  const { config } = console.fixture
  const retention = { ...config.retention, rawDays: 30 }
  await using short = await serveConsole({ ...console.fixture, config: { ...config, retention } })
  const { text } = await short.get('/quarantine?tab=resolved')

  expect(usual.text).toContain('No record has left quarantine in 90 days.')
  expect(text).toContain('Resolved in 30 days')
  expect(text).toContain('No record has left quarantine in 30 days.')
})

test('fifty records a page, each once', async () => {
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id)
     select 'pricing', rooftop_id, n::text, jsonb_build_array(jsonb_build_object('path', 'reconditioning_list.' || n || '.cost', 'message', 'has ' || 100000 + n || ' characters')), 1
     from core.rooftop, generate_series(1, 120) as n where rooftop_uid = 'north'`,
  )
  const { causes } = await read('?stream=pricing')
  const found: number[] = []
  for (let after = ''; ; ) {
    const { list } = await read(`?stream=pricing&list=1${after}`)
    found.push(...list!.entries.map(({ id }) => id))
    if (!list!.hasMore) break
    after = `&after=${found.at(-1)}`
  }

  expect(causes).toMatchObject([
    { path: 'reconditioning_list[*].cost', message: 'has … characters', records: 120 },
  ])
  expect(found).toHaveLength(120)
  expect(new Set(found).size).toBe(120)
  await console.rows("delete from ops.quarantine where stream = 'pricing'")
})

test('a viewer retries nothing', async () => {
  expect((await console.get('/quarantine', { role: 'viewer' })).text).not.toContain('Retry')
  const post = await console.post(
    '/quarantine',
    { action: 'retry', count: '5' },
    { role: 'viewer' },
  )

  expect(post.status).toBe(403)
})

test('a retry is refused when the number has moved, or when nothing is left', async () => {
  const retry = async (form: Record<string, string>) =>
    await console.post('/quarantine', { action: 'retry', ...form })
  const moved = await retry({ count: '3' })
  const missing = await retry({})
  const none = await retry({ stream: 'users', count: '5' })
  const unknown = await retry({ cause: '0123456789ab', count: '1' })

  expect([moved, missing, none, unknown].map(({ status }) => status)).toEqual([409, 409, 409, 409])
  expect(moved.text).toContain('The page showed 3, and now 5 records can be retried')
  expect(missing.text).toContain('load the page again')
  expect(none.text).toContain('None of these records is left to retry')
  expect(await console.rows('select from ops.run where command <> $1', ['sync'])).toEqual([])
})

test('two people retry one cause: one run, which a worker does, and the records are loaded', async () => {
  const { world } = console.fixture.sandbox
  for (const id of [1000, 1001, 1100]) world.removePoison(id)
  const [cause] = (await read()).causes
  const form = { action: 'retry', cause: cause!.cause, count: '3' }
  const [one, two] = await Promise.all([
    console.post('/quarantine', form),
    console.post('/quarantine', form),
  ])
  const [first, second] = one.status === 303 ? [one, two] : [two, one]

  expect([first.status, second.status]).toEqual([303, 409])
  expect(second.text).toMatch(
    /Run \d+ is at work on evaluations of .* Wait for the workers to end it\./,
  )
  expect(first.location).toMatch(/^\/console\/runs\/\d+$/)
  const waiting = (await console.get('/quarantine')).text
  expect(waiting).toContain('No worker is alive')
  expect(waiting).toContain('<code>forecourt quarantine retry</code>')
  expect(waiting).not.toContain('summary bad')
  {
    await using _worker = await openWorker(console.fixture)
    await untilRunsEnded(console.fixture)
    expect((await console.get('/quarantine')).text).not.toContain('No worker is alive')
  }
  const loaded = await console.rows<{ id: number }>(
    'select eval_id as id from core.evaluation where eval_id = any($1::bigint[]) order by 1',
    [[1000, 1001, 1100, 1002]],
  )
  expect(loaded.map(({ id }) => id)).toEqual([1000, 1001, 1100])
  expect((await read()).causes.map(({ records }) => records)).toEqual([2])
  expect((await read('?tab=resolved')).causes.map(({ records }) => records)).toEqual([3])
  const [action] = await console.rows(
    "select shown_count, outcome, run_id from ops.console_action where action = 'retry' and outcome = 'done'",
  )
  expect(action).toMatchObject({
    shown_count: 3,
    run_id: Number(first.location!.split('/').at(-1)),
  })
  const late = await console.post('/quarantine', form)
  expect([late.status, late.text]).toEqual([
    409,
    expect.stringContaining('None of these records is left'),
  ])
})

test('one record is retried by its id, and counts an attempt while it does not fit', {
  tags: 'ci',
}, async () => {
  const [row] = await console.rows<{ id: number }>(
    "select quarantine_id as id from ops.quarantine where natural_key = '1002' and resolved_at is null",
  )
  const page = `/quarantine/${row!.id}`
  const { status, location } = await console.post(page, { action: 'retry', count: '1' })
  {
    await using _worker = await openWorker(console.fixture)
    await untilRunsEnded(console.fixture)
  }
  const [run] = await console.rows(
    'select status, arguments -> $2 as only from ops.run where run_id = $1',
    [Number(location!.split('/').at(-1)), 'only'],
  )

  expect(status).toBe(303)
  expect(run).toEqual({ status: 'partial', only: [row!.id] })
  expect(
    await console.rows(
      'select natural_key, attempts from ops.quarantine where resolved_at is null order by 1',
    ),
  ).toEqual([
    { natural_key: '1002', attempts: 2 },
    { natural_key: '1101', attempts: 1 },
  ])
})

test('a detached retry that no worker takes blocks no nightly sync', async () => {
  const { status, location } = await console.post('/quarantine', { action: 'retry', count: '2' })
  const id = Number(location!.split('/').at(-1))
  await expect(console.fixture.night()).rejects.toThrow('is at work on')
  await console.rows(
    "update ops.run set heartbeat_at = now() - interval '2 minutes' where run_id = $1",
    [id],
  )
  await console.fixture.night()

  const [run] = await console.rows('select status from ops.run where run_id = $1', [id])
  expect([status, run!['status']]).toEqual([303, 'abandoned'])
  expect((await console.get(`/runs/${id}`)).text).toContain('another run has taken the work over')
})

test('a hundred thousand open records are grouped and retried within the limits of a page', {
  tags: 'ci',
}, async () => {
  await console.rows(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, payload, run_id)
     select 'pricing', rooftop_id, n::text, jsonb_build_array(jsonb_build_object('path', 'a', 'message', 'cause ' || n % 7)), repeat('x', 500), 1
     from core.rooftop, generate_series(1, 100000) as n where rooftop_uid = 'south'`,
  )
  await console.rows('analyze ops.quarantine')
  const from = performance.now()
  const { status, text } = await console.get('/quarantine')
  const seconds = (performance.now() - from) / 1000
  const { causes } = await read()
  const list = await console.get(`/quarantine?cause=${causes[0]!.cause}`)

  expect(status).toBe(200)
  expect(text).toContain('More than 10,000 records fit this filter')
  expect(text).toContain('Retry 100,002 records')
  expect(list.text).toContain('Retry 5,000 records')
  expect(seconds).toBeLessThan(3)
  const plan = await console.rows<{ 'QUERY PLAN': string }>(
    `explain select quarantine_id from ops.quarantine where resolved_at is null and cause = '0123456789ab' order by 1`,
  )
  expect(plan.map((line) => line['QUERY PLAN']).join(' ')).toMatch(
    /Index (Only )?Scan (using|on) quarantine_cause/,
  )
  await console.rows("delete from ops.quarantine where stream = 'pricing'")
})

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { openWorker, untilRunsEnded } from './worker.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let console: ConsoleFixture
const now = new Date()

/** Three rooftops with an evaluation each: a good night, then one in which a record does not fit and a key is refused. */
beforeAll(async () => {
  const uids = ['north', 'south', 'rival']
  const createdAt = new Date(now.getTime() - dayMs)
  const world = worldOf({
    rooftops: uids.map((uid, at) => aRooftop({ uid, name: `The ${uid}`, dealerId: 101 + at })),
    keys: [aKey({ name: 'one', value: 'canary-key-one', rooftopUids: uids })],
    evaluations: uids.map((rooftopUid, at) =>
      anEvaluation({ evalId: 1001 + at, rooftopUid, createdAt }),
    ),
  })
  const start = new Date(now.getTime() - 4 * dayMs).toISOString()
  const fixture = await openFixture({ sandbox: { world, now }, sync: { start } })
  world.poison(1002, { UpdatedAt: 'never' })
  await fixture.night()
  refuse('/getevallist', fixture.sandbox)
  await fixture.night()
  console = await openConsole({ fixture })
})

afterAll(async () => await console[Symbol.asyncDispose]())

function refuse(path: string, { faults } = console.fixture.sandbox) {
  return faults.add({
    match: { path, rooftopUid: 'rival' },
    fault: { kind: 'status', status: 403 },
  })
}

interface ListData {
  readonly runs: readonly { readonly runId: number; readonly status: string }[]
  readonly hasMore: boolean
}

async function listed(query: string): Promise<number[]> {
  return (await console.json<ListData>(`/runs${query}`)).runs.map(({ runId }) => runId)
}

test('the list shows the newest runs, and those that are not ok alone, below the nights', async () => {
  const { status, title, text } = await console.get('/runs')
  const rows = await console.rows<{ id: number; inserted: number }>(
    `select run_id as id, sum(inserted)::int as inserted from ops.run join ops.run_stream using (run_id)
     where run.status <> 'ok' group by 1 order by max(run.finished_at) desc`,
  )

  expect({ status, title }).toEqual({ status: 200, title: 'Runs' })
  expect(text).toContain('What ran, how did it end, and what did it do?')
  expect(await listed('')).toEqual([2, 1])
  expect(await listed('?status=bad')).toEqual(rows.map(({ id }) => id))
  expect(text).toContain('How the streams of all rooftops ended')
  expect(rows.map(({ id }) => id)).toEqual([2, 1])
  expect(text).toMatch(/2 ok, 1 failed|1 ok, 1 partial, 1 failed/)
  expect(text).toContain('403')
})

test('the filters act on all runs, and what does not exist shows nothing', async () => {
  await console.rows(
    `insert into ops.run (command, arguments, source_started_at, status, started_at, finished_at)
     values ('run nightly', '{"mode":"sync","from":0}', now(), 'ok', now() - interval '40 days', now() - interval '39 days'),
       ('sync', '{"mode":"sync","from":0}', now(), 'failed', now() - interval '30 days', now() - interval '29 days')`,
  )
  const day = new Date(now.getTime() - 35 * dayMs).toISOString().slice(0, 10)

  expect(await listed('?status=all')).toEqual([2, 1, 4, 3])
  expect(await listed('?status=failed')).toEqual([4])
  expect(await listed('?status=all&command=run+nightly')).toEqual([3])
  expect(await listed(`?status=all&from=${day}`)).toEqual([2, 1, 4])
  expect(await listed(`?status=bad&from=${day}`)).toEqual([2, 1, 4])
  expect(await listed('')).toEqual([2, 1, 4, 3])
  expect(await listed('?status=all&rooftop=north')).toEqual([2, 1])
  expect(await listed('?status=all&rooftop=nowhere')).toEqual([])
  expect(await listed('?status=all&stream=pricing')).toEqual([])
  expect(await listed("?status='&after=x&from=2024-13-45")).toEqual([2, 1, 4, 3])
})

test('a run that reads other services than the config is shown with them', async () => {
  const [source] = await console.rows<{ id: number }>(
    `insert into ops.source (appraisal_url, vehicle_data_url, is_sandbox)
     values ('http://127.0.0.1:59999/v1', 'http://127.0.0.1:59998', true) returning source_id as id`,
  )
  const [run] = await console.rows<{ id: number }>(
    `insert into ops.run (command, arguments, source_started_at, status, is_detached, heartbeat_at, source_id)
     values ('links refresh', '{"mode":"links","from":0}', now(), 'running', true, now() - interval '2 minutes', ${source!.id}) returning run_id as id`,
  )

  const list = await console.get('/runs?status=all')
  const page = await console.get(`/runs/${run!.id}`)
  const morning = await console.get('/')
  await console.rows(`delete from ops.run where run_id = ${run!.id}`)

  const services = 'http://127.0.0.1:59999/v1 and http://127.0.0.1:59998 (sandbox of a demo)'
  expect(list.text.split(services)).toHaveLength(2)
  expect(page.text).toContain(`It waits for a worker whose config names ${services}`)
  expect(morning.text).toContain(
    `No worker is alive whose config names ${services}: start one there, or start the same work again with this config, which takes it over.`,
  )
  // No worker of this config takes it.
  expect(page.text).not.toContain('forecourt worker')
})

test('fifty runs a page, and the older ones follow without one twice or missing', async () => {
  await console.rows(
    `insert into ops.run (command, arguments, source_started_at, status, started_at, finished_at)
     select 'links refresh', '{"mode":"links","from":0}', now(), 'failed', now() - interval '20 days', now() - interval '20 days'
     from generate_series(1, 120)`,
  )
  const query = '?status=all&command=links+refresh'
  const found: number[] = []
  for (let after = ''; ; ) {
    const { runs, hasMore } = await console.json<ListData>(`/runs${query}${after}`)
    expect(runs.length).toBeLessThanOrEqual(50)
    found.push(...runs.map(({ runId }) => runId))
    if (!hasMore) break
    after = `&after=${found.at(-1)}`
  }

  const rows = await console.rows<{ id: number }>(
    `select run_id as id from ops.run where command = 'links refresh' order by run_id desc`,
  )
  expect(found).toEqual(rows.map(({ id }) => id))
  expect((await console.get(`/runs${query}`)).text).toContain('Older runs')
})

test('the lists of runs are read by an index', async () => {
  await console.rows(
    `insert into ops.run (command, arguments, source_started_at, status, started_at, finished_at)
     select 'webhooks', '{"mode":"hints","from":0}', now(), 'ok', at, at from generate_series(now() - interval '300 days', now() - interval '250 days', '3 minutes') as at`,
  )
  await console.rows('analyze ops.run')
  const ended = "coalesce(finished_at, 'infinity'::timestamptz)"
  const plans = await Promise.all(
    [
      `select * from ops.run where ${ended} >= now() - interval '14 days' and status <> 'ok' order by ${ended} desc, run_id desc limit 51`,
      `select * from ops.run where (${ended}, run_id) < ((select ${ended} from ops.run where run_id = 9000), 9000::bigint)
       order by ${ended} desc, run_id desc limit 51`,
    ].map((query) => console.rows<{ 'QUERY PLAN': string }>(`explain ${query}`)),
  )

  for (const plan of plans) {
    const text = plan.map((row) => row['QUERY PLAN']).join('\n')
    expect(text).toMatch(/Index Scan.* using run_(not_ok|ended)/)
    expect(text).not.toMatch(/Seq Scan|Sort/)
  }
  await console.rows("delete from ops.run where command = 'webhooks'")
})

test('a run shows each rooftop and stream with its reason, and links to what it counts', async () => {
  const { status, title, text } = await console.get('/runs/2')
  const { parts } = await console.json<{ parts: { uid: string; stream: string }[] }>('/runs/2')
  const [sum] = await console.rows<{ listed: number }>(
    'select sum(listed)::int as listed from ops.run_stream where run_id = 2',
  )

  expect({ status, title }).toEqual({ status: 200, title: 'Run 2 sync' })
  expect(text).toContain('How did it go, stream by stream?')
  expect(parts).toHaveLength(6)
  expect(parts[0]).toMatchObject({ uid: 'rival', stream: 'evaluations', status: 'failed' })
  expect(text).toContain('/console/quarantine?stream=evaluations&#38;rooftop=south')
  expect(text).toMatch(
    new RegExp(
      `evaluations(?:<label.*?</label>)?</th>\\s*<td[^>]*><span[^>]*>Listed</span>${sum!.listed}<`,
    ),
  )
  // The log of this test is silent.
  expect(text).toContain('No line is stored')
  expect(text).toMatch(
    /<svg class="chart" role="img" aria-label="[^"]*evaluations, The rival failed/,
  )
  expect((await console.get('/runs/77777')).status).toBe(404)
  expect((await console.get('/runs/2x')).status).toBe(404)
})

test('only an engineer sees and does actions', async () => {
  const { text } = await console.get('/runs/2', { role: 'viewer' })

  expect(text).not.toContain('<button class="main">')
  expect(
    (await console.post('/runs/2', { action: 'retry', count: '1' }, { role: 'viewer' })).status,
  ).toBe(403)
})

test('what failed is synced again by a worker, once', async () => {
  const shown = await console.get('/runs/2')
  expect(shown.text).toContain('Sync 1 failed rooftop again')
  expect(shown.text).toContain('forecourt sync evaluations --rooftop rival')
  console.fixture.sandbox.faults.clear()

  const form = { action: 'retry', count: '1' }
  const [one, two] = await Promise.all([
    console.post('/runs/2', form),
    console.post('/runs/2', form),
  ])
  const [first, second] = one.status === 303 ? [one, two] : [two, one]

  expect([first.status, second.status]).toEqual([303, 409])
  expect(second.text).toContain('is at work on evaluations of The rival')
  const waiting = await console.get(first.location!.slice('/console'.length))
  expect(waiting.text).toContain('No worker is alive')
  expect(waiting.text).toContain('kim@example.com, in the console')
  {
    await using _worker = await openWorker(console.fixture)
    await untilRunsEnded(console.fixture)
  }
  const [row] = await console.rows<{ count: number }>(
    'select count(*)::int as count from core.evaluation where eval_id = 1003',
  )
  expect(row!.count).toBe(1)
  const { text } = await console.get('/runs/2')
  expect(text).toContain('All that failed here was done well since, by')
  const late = await console.post('/runs/2', form)
  expect([late.status, late.text]).toEqual([
    409,
    expect.stringContaining('Nothing is left to do again'),
  ])
  const actions = await console.rows(
    'select action, outcome, shown_count from ops.console_action order by 2',
  )
  expect(actions).toMatchObject([
    { action: 'retry', outcome: 'done', shown_count: 1 },
    // By a viewer, by the second person, and too late.
    ...Array.from({ length: 3 }, () => ({ action: 'retry', outcome: 'refused' })),
  ])
})

test('a run that is gone, or a number that is missing, is refused', async () => {
  const gone = await console.post('/runs/77777', { action: 'retry', count: '1' })
  const missing = await console.post('/runs/77777', { action: 'pause', run: '' })

  expect([gone.status, missing.status]).toEqual([409, 409])
  expect(gone.text).toContain('Run 77777 is not in the warehouse any more')
})

test('a backfill is paused once and resumed once, and its chain is shown', {
  tags: 'ci',
}, async () => {
  const { context } = console
  const { startDetached } = await import('#src/sync/run/run-streams.ts')
  const { evaluations } = await import('#src/streams/evaluations/evaluations.ts')
  const from = Math.floor(now.getTime() / 1000) - 30 * 86_400
  const plan = {
    command: 'backfill',
    mode: 'backfill',
    lane: 'background',
    from,
    until: null,
  } as const
  const request = { plan, streams: [evaluations], rooftops: context.config.rooftops }
  const { run } = await startDetached(context, request)
  const page = `/runs/${run.runId}`
  expect((await console.get(page)).text).toContain(`Pause backfill ${run.runId}`)

  const form = { run: String(run.runId) }
  const pause = () => console.post(page, { action: 'pause', ...form })
  const paused = await Promise.all([pause(), pause()])
  const shown = await console.get(page)
  const resume = () => console.post(page, { action: 'resume', ...form })
  const resumed = await Promise.all([resume(), resume()])

  expect(paused.map(({ status }) => status).sort()).toEqual([303, 409])
  expect(shown.text).toContain('no new slice starts until another run resumes it')
  expect(shown.text).toMatch(/Resume backfill \d+: \d+ windows left/)
  expect(resumed.map(({ status }) => status).sort()).toEqual([303, 409])
  {
    await using _worker = await openWorker(console.fixture)
    await untilRunsEnded(console.fixture)
  }
  const next = run.runId + 1
  const { text } = await console.get(`/runs/${next}`)
  expect(text).toMatch(
    new RegExp(`href="/console/runs/${run.runId}">${run.runId}</a>, resumed as <strong>\\d+`),
  )
  expect(text).toContain('Windows a minute')
  expect((await resume()).text).toContain('has resumed it before you')
  const [left] = await console.rows<{ gap: boolean }>(
    `select bool_or(not isempty(wanted - covered - coalesce((select range_agg(tstzrange(window_from, window_until))
       from ops.window_certificate as c where c.rooftop_id = coverage.rooftop_id and c.stream = coverage.stream), '{}'))) as gap
     from ops.coverage`,
  )
  expect(left!.gap).toBe(false)
})

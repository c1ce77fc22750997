import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { evaluations } from '#src/streams/evaluations/evaluations.ts'
import { startDetached } from '#src/sync/run/run-streams.ts'
import { until } from '../../support/child.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'
import { openWorker, untilRunsEnded } from './worker.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let console: ConsoleFixture
const now = new Date()

beforeAll(async () => {
  const start = new Date(now.getTime() - 4 * dayMs).toISOString()
  const sandbox = { now, rooftops: 2, evaluations: 40, days: 20 }
  const fixture = await openFixture({ sandbox, sync: { start, windowHours: 6 } })
  console = await openConsole({ fixture })
})

afterAll(async () => await console[Symbol.asyncDispose]())

async function startBackfill(days = 20): Promise<number> {
  const from = Math.floor(now.getTime() / 1000) - days * 86_400
  const plan = {
    command: 'backfill',
    mode: 'backfill',
    lane: 'background',
    from,
    until: null,
  } as const
  const request = { plan, streams: [evaluations], rooftops: console.context.config.rooftops }
  return (await startDetached(console.context, request)).run.runId
}

interface WorkData {
  readonly queue: readonly { stream: string; lane: string; waiting: number; active: number }[]
  readonly processes: readonly { command: string; processId: number }[]
  readonly runs: readonly { runId: number }[]
  readonly keys: readonly { key: string; blockedUntil: string | null; users: unknown[] }[]
}

test('a warehouse without work has nothing to do, and no backfill', async () => {
  const { status, title, text } = await console.get('/work')
  const backfills = await console.get('/backfills')

  expect({ status, title }).toEqual({ status: 200, title: 'Work' })
  expect(text).toContain('Is work moving, and who does it?')
  expect(text).toContain('There is nothing to do.')
  expect(backfills.title).toBe('Backfills')
  expect(backfills.text).toContain('No backfill was started yet')
})

test('work that no worker takes is loud, and moves once one does', async () => {
  const id = await startBackfill()
  const before = await console.json<WorkData>('/work')
  const [queued] = await console.rows<{ count: number }>(
    "select count(*)::int as count from pgboss.job where name like 'rooftop.sync.%' and state < 'active'",
  )
  const page = await console.get('/work')
  const list = await console.get('/backfills')

  expect(page.text).toContain('Work waits, and no worker is alive.')
  expect(page.text).toContain('forecourt worker')
  expect(list.text).toContain('No worker is alive')
  expect(before.queue).toMatchObject([
    { stream: 'evaluations', lane: 'background', waiting: queued!.count, active: 0 },
  ])
  expect(queued!.count).toBe(2)
  expect(before.processes).toEqual([])

  const slow = console.fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 40 },
  })
  await using _worker = await openWorker(console.fixture)
  await until(async () => {
    const { queue, keys } = await console.json<WorkData>('/work')
    return queue.some(({ active }) => active > 0) && keys.some(({ users }) => users.length > 0)
  })
  const during = await console.json<WorkData>('/work')
  const moving = await console.get('/work')
  const running = await console.get('/backfills')
  slow.remove()

  expect(moving.text).toContain('Work is moving.')
  expect(during.processes).toMatchObject([{ command: 'worker', processId: process.pid }])
  expect(during.runs.map(({ runId }) => runId)).toEqual([id])
  expect(running.text).toContain(`Pause backfill ${id}`)
  expect(running.text).not.toContain('No worker is alive')
  await untilRunsEnded(console.fixture)
  const done = await console.json<{ backfills: { windows: { done: number; left: number } }[] }>(
    '/backfills',
  )
  const [sum] = await console.rows<{ windows: number }>(
    'select sum(windows)::int as windows from ops.run_stream where run_id = $1',
    [id],
  )
  expect(done.backfills[0]!.windows).toEqual({ done: sum!.windows, left: 0 })
})

test('a key that the source has blocked, and one whose quota is used up, are named', async () => {
  const [key] = Object.keys(console.config.keys)
  await console.rows(
    `insert into ops.rate_budget (key_name, rate, throttled_at, blocked_until)
     values ($1, 2.5, now() - interval '5 minutes', now() + interval '10 minutes')
     on conflict (key_name) do update set blocked_until = excluded.blocked_until, rate = 2.5, throttled_at = excluded.throttled_at`,
    [`appraisal/${key}`],
  )
  await console.rows(
    "insert into ops.parked (key_name, stream, until, reason) values ($1, 'pricing', now() + interval '3 hours', 'quota')",
    [key],
  )
  const { text } = await console.get('/work')
  expect(text).toMatch(/<span class="badge warn">blocked<\/span> until <time/)
  expect(text).toContain('pricing: its daily quota is used up until')
  await console.rows("update ops.rate_budget set blocked_until = now() - interval '1 minute'")
  await console.rows('delete from ops.parked')
  expect((await console.get('/work')).text).toContain('cut to 2.5 requests a second')
})

test('a backfill is paused and resumed from the list, each once', async () => {
  const id = await startBackfill(40)
  const act = async (action: string) =>
    await console.post('/backfills', { action, run: String(id) })
  const paused = await act('pause')
  const again = await act('pause')
  const list = await console.get('/backfills')
  const { backfills } = await console.json<{
    backfills: { state: string; windows: { left: number } }[]
  }>('/backfills')
  const resumed = await act('resume')
  const twice = await act('resume')

  expect([paused.status, again.status, resumed.status, twice.status]).toEqual([303, 409, 303, 409])
  expect(again.text).toContain('somebody has paused it before you')
  expect(list.text).toContain(`Resume backfill ${id}: ${backfills[0]!.windows.left} windows left`)
  expect(resumed.location).toBe(`/console/runs/${id + 1}`)
  expect((await console.post('/backfills', { action: 'pause' })).status).toBe(409)
  expect(
    (await console.post('/backfills', { action: 'pause', run: '1' }, { role: 'viewer' })).status,
  ).toBe(403)
  expect((await console.get('/backfills', { role: 'viewer' })).text).not.toContain('Pause backfill')
})

test('a backfill that has done a little of its windows is not at 0 %', async () => {
  await console.rows(
    `with run as (
       insert into ops.run (command, arguments, lane, is_detached, status, source_started_at, finished_at)
       values ('backfill', '{"mode":"backfill","from":0,"until":1000000000,"streams":["evaluations"],"rooftops":[]}', 'background', true, 'paused', now(), now())
       returning run_id)
     insert into ops.run_stream (run_id, rooftop_id, stream, status, windows)
       select run_id, min(rooftop_id), 'evaluations', 'waiting', 3 from run, core.rooftop group by 1`,
  )
  const { text } = await console.get('/backfills')
  await console.rows(
    `delete from ops.run_stream where run_id = (select max(run_id) from ops.run);
     delete from ops.run where run_id = (select max(run_id) from ops.run)`,
  )

  expect(text).toContain('aria-label="Windows">&#60; 1 %</progress>')
})

test('the rooftops of a backfill may have left the config', async () => {
  await console.rows(
    `insert into ops.run (command, arguments, lane, is_detached, status, source_started_at, finished_at)
     values ('backfill', '{"mode":"backfill","from":0,"until":1,"streams":["evaluations"],"rooftops":["gone"]}', 'background', true, 'paused', now(), now())`,
  )
  const [row] = await console.rows<{ id: number }>('select max(run_id) as id from ops.run')
  const refused = await console.post('/backfills', { action: 'resume', run: String(row!.id) })

  expect(refused.status).toBe(409)
  expect(refused.text).toContain('none of its rooftops is in the config')
})

/** What a backfill was asked for; times in Unix seconds. */
interface Asked {
  readonly streams: readonly string[]
  readonly from: number
  readonly until: number
  readonly relists?: boolean
}

/** A backfill that was paused, with its part at each rooftop, the first one first. */
async function plantBackfill(
  asked: Asked,
  parts: readonly { status: string; windows: number }[],
): Promise<number> {
  const rooftops = console.config.rooftops.map(({ uid }) => uid)
  const [run] = await console.rows<{ id: number }>(
    `insert into ops.run (command, arguments, lane, is_detached, status, source_started_at, finished_at)
     values ('backfill', $1, 'background', true, 'paused', now(), now()) returning run_id as id`,
    [JSON.stringify({ mode: 'backfill', ...asked, rooftops })],
  )
  await console.rows(
    `insert into ops.run_stream (run_id, rooftop_id, stream, status, windows)
     select $1, rooftop_id, stream, status, windows
     from (select rooftop_id, row_number() over (order by rooftop_id) as at from core.rooftop) as rooftop
     join rows from (jsonb_to_recordset($2) as (status text, windows int)) with ordinality as part (status, windows, at) using (at)
     cross join unnest($3::text[]) as stream`,
    [run!.id, JSON.stringify(parts), asked.streams],
  )
  return run!.id
}

async function shownBackfill(runId: number) {
  const { backfills } = await console.json<{
    backfills: {
      runId: number
      rooftops: { done: number; all: number }
      windows: { done: number; left: number | null }
    }[]
  }>('/backfills')
  const { rooftops, windows } = backfills.find((one) => one.runId === runId)!
  const { text } = await console.get('/backfills')
  return { rooftops, windows, text }
}

test('what failed or is parked is left, and its rooftop is not done, also after retention has deleted its parts', async () => {
  const until = Math.floor(now.getTime() / 1000) - 50 * 86_400
  const span = { streams: ['evaluations'], from: until - 10 * 86_400, until }
  await console.rows(
    `update ops.coverage set covered = covered + tstzmultirange(tstzrange(to_timestamp($1), to_timestamp($2)))
     where stream = 'evaluations' and rooftop_id = (select min(rooftop_id) from core.rooftop)`,
    [span.from, span.until],
  )
  for (const status of ['failed', 'parked']) {
    const id = await plantBackfill(span, [
      { status: 'ok', windows: 40 },
      { status, windows: 8 },
    ])
    const shown = await shownBackfill(id)
    await console.rows(
      `update ops.run set summary = '{"rooftops": {"all": 2, "failed": 1}, "streams": {"evaluations": {"windows": 48, "inserted": 0, "updated": 0}}}'
       where run_id = $1`,
      [id],
    )
    await console.rows('delete from ops.run_stream where run_id = $1', [id])
    const old = await shownBackfill(id)

    for (const { rooftops, windows, text } of [shown, old]) {
      expect({ rooftops, windows }).toEqual({
        rooftops: { done: 1, all: 2 },
        windows: { done: 48, left: 40 },
      })
      expect(text).toContain('55 % of the windows, 1 of 2 rooftops')
    }
  }
})

test('a stream without windows has no share of them', async () => {
  const until = Math.floor(now.getTime() / 1000)
  const id = await plantBackfill(
    { streams: ['vehicle-checks'], from: until - 86_400, until },
    Array(2).fill({ status: 'waiting', windows: 0 }),
  )
  const { windows, text } = await shownBackfill(id)

  expect(windows).toEqual({ done: 0, left: null })
  expect(text).toContain('</span><small>0 of 2 rooftops</small></td>')
  expect(text).toContain(`Resume backfill ${id}<`)
})

test('of covered days that are listed again, only what the run has listed is done', async () => {
  const [first] = await console.rows<{ from: number }>(
    `select extract(epoch from window_from)::float8 as "from" from ops.window_certificate
     where settled order by rooftop_id, window_from offset 3 limit 1`,
  )
  const { from } = first!
  const id = await plantBackfill(
    { streams: ['evaluations'], from, until: from + 86_400, relists: true },
    Array(2).fill({ status: 'waiting', windows: 0 }),
  )
  const before = await shownBackfill(id)
  await console.rows(
    `update ops.window_certificate set run_id = $1 where window_from = to_timestamp($2)`,
    [id, from],
  )
  await console.rows('update ops.run_stream set windows = 1 where run_id = $1', [id])
  const after = await shownBackfill(id)

  expect(before.windows).toEqual({ done: 0, left: 8 })
  expect(before.text).toContain('0 % of the windows, 0 of 2 rooftops')
  expect(after.windows).toEqual({ done: 2, left: 6 })
})

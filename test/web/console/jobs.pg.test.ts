import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { until } from '../../support/child.ts'
import { dayMs, openFixture } from '../../support/fixture.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let console: ConsoleFixture
const now = new Date()

beforeAll(async () => {
  const start = new Date(now.getTime() - 3 * dayMs).toISOString()
  const fixture = await openFixture({
    sandbox: { now, rooftops: 2, evaluations: 12, days: 3 },
    sync: { start },
  })
  console = await openConsole({ fixture })
})

afterAll(async () => await console[Symbol.asyncDispose]())

interface JobsData {
  readonly jobs: Readonly<
    Record<string, { status: string; nextSlotAt: string; last: { status: string } | null }>
  >
  readonly nights: readonly { job: string; day: string; runs: number; worst: string }[]
}

async function ended(): Promise<void> {
  await until(
    async () =>
      (await console.rows("select from ops.job_fire where status = 'running'")).length === 0,
  )
}

test('every job is listed with its next slot, and that no scheduler runs is loud', async () => {
  const { status, title, text } = await console.get('/jobs')
  const { jobs } = await console.json<JobsData>('/jobs')

  expect({ status, title }).toEqual({ status: 200, title: 'Jobs' })
  expect(text).toContain('What runs when, and was it on time?')
  expect(text).toContain('No scheduler is alive')
  expect(Object.keys(jobs)).toContain('nightly')
  expect(Date.parse(jobs['nightly']!.nextSlotAt)).toBeGreaterThan(now.getTime())
  expect(text).toContain('Run nightly now')
  expect((await console.get('/jobs', { role: 'viewer' })).text).not.toContain('Run nightly now')
})

test('a job runs once when two people start it, and its page shows its run', async () => {
  const slow = console.fixture.sandbox.faults.add({
    match: { path: '/getevallist' },
    fault: { kind: 'slow', ms: 100 },
  })
  const start = () => console.post('/jobs', { action: 'run', job: 'hourly' })
  const [one, two] = await Promise.all([start(), start()])
  const [first, second] = one.status === 303 ? [one, two] : [two, one]
  const during = await console.get('/jobs/hourly')
  const again = await console.post('/jobs/hourly', { action: 'run' })
  slow.remove()
  await ended()

  expect([first.status, first.location, second.status, again.status]).toEqual([
    303,
    '/console/jobs/hourly',
    409,
    409,
  ])
  expect(again.text).toMatch(/hourly is at work \(job run 1, manual/)
  expect(during.title).toBe('Job hourly')
  expect(during.text).toContain('data-live')
  const rows = await console.rows<{ cause: string; status: string; ids: number[] }>(
    'select cause, status, run_ids as ids from ops.job_fire',
  )
  expect(rows).toMatchObject([{ cause: 'manual', status: 'ok' }])
  const page = await console.get('/jobs/hourly')
  expect(page.text).toContain(`<a href="/console/runs/${rows[0]!.ids[0]}">`)
  expect(page.text).not.toContain('data-live')
  const run = await console.get(`/runs/${rows[0]!.ids[0]}`)
  expect(run.text).toContain('the job <a href="/console/jobs/hourly">hourly</a>, by hand')
  const [count] = await console.rows<{ count: number }>(
    'select count(*)::int as count from core.evaluation',
  )
  expect(count!.count).toBeGreaterThan(0)
})

test('a job that does not exist, cannot run or is not for the person is refused', async () => {
  const unknown = await console.post('/jobs', { action: 'run', job: 'nightli' })
  const missing = await console.post('/jobs', { action: 'run' })
  const viewer = await console.post('/jobs', { action: 'run', job: 'hourly' }, { role: 'viewer' })

  expect([unknown.status, missing.status, viewer.status]).toEqual([409, 409, 403])
  expect(unknown.text).toContain('did you mean nightly?')
  expect((await console.get('/jobs/nightli')).status).toBe(404)
  expect((await console.get('/jobs/constructor')).status).toBe(404)
})

test('what was late, failed or skipped is named, a square a day', async () => {
  await console.rows(
    "insert into ops.job (job_name, schedule, time_zone, known_since) values ('nightly', '0 2 * * *', 'Australia/Sydney', now() - interval '30 days')",
  )
  await console.rows(
    `insert into ops.job_fire (job_name, cause, slot_at, status, claimed_at, finished_at, host, process_id, error)
     values ('nightly', 'schedule', now() - interval '75 hours', 'ok', now() - interval '73 hours', now() - interval '72 hours', 'a', 1, null),
       ('nightly', 'schedule', now() - interval '50 hours', 'failed', now() - interval '50 hours', now() - interval '49 hours', 'a', 1, 'the source was away')`,
  )
  const list = await console.get('/jobs')
  const { jobs, nights } = await console.json<JobsData>('/jobs')
  const page = await console.get('/jobs/nightly')
  const days = await console.rows<{ day: string; runs: number }>(
    `select to_char(coalesce(slot_at, claimed_at) at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as runs
     from ops.job_fire where job_name = 'nightly' group by 1 order by 1`,
  )

  expect(jobs['nightly']!.status).toBe('late')
  expect(list.text).toContain('<span class="badge bad">late</span>')
  expect(page.text).toContain('2 h late')
  expect(page.text).toContain('the source was away')
  expect(
    nights.filter(({ job }) => job === 'nightly').map(({ day, runs }) => ({ day, runs })),
  ).toEqual(days)
  expect(list.text).toMatch(/aria-label="1 day failed, 1 day ok"/)
  expect(list.text).toMatch(/<span class="hidden">\d+ \w+: failed<\/span>/)
})

test('the square of a day is that of its last run, and cron is not reported as a missing scheduler', async () => {
  await console.rows(
    `insert into ops.job_fire (job_name, cause, status, claimed_at, finished_at, host, process_id)
     values ('verify', 'manual', 'failed', now() - interval '2 seconds', now(), 'a', 1), ('verify', 'manual', 'ok', now(), now(), 'a', 1)`,
  )
  const { text } = await console.get('/jobs')

  expect(text).toMatch(/verify<\/a>.*?aria-label="1 day ok"/s)
  expect(text).toContain(': last of 2 runs: ok')
  expect(text).toContain('The last job was started by <code>forecourt run</code>')
  expect(text).not.toContain('summary bad')
  await console.rows("delete from ops.job_fire where job_name = 'verify'")
})

test('a scheduler that is connected is seen', async () => {
  const { openContext } = await import('#src/open-context.ts')
  const { sessionName } = await import('#src/warehouse/db/processes.ts')
  const { openLog } = await import('#src/log.ts')
  const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
  await using _context = await openContext(console.fixture.config, log, {
    applicationName: sessionName('schedule', console.fixture.config),
  })

  expect((await console.get('/jobs')).text).not.toContain('No scheduler is alive')
  expect((await console.get('/work')).text).toContain('<code>forecourt schedule</code>')
})

test('a scheduler and a worker of other services are shown, and do not count', async () => {
  const { openContext } = await import('#src/open-context.ts')
  const { sessionName } = await import('#src/warehouse/db/processes.ts')
  const { openLog } = await import('#src/log.ts')
  const log = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })
  const { config } = console.fixture
  const other = { ...config, appraisal: { ...config.appraisal, baseUrl: 'http://127.0.0.1:9/v1' } }
  await using _scheduler = await openContext(other, log, {
    applicationName: sessionName('schedule', other),
  })
  await using _worker = await openContext(other, log, {
    applicationName: sessionName('worker', other),
  })

  const work = (await console.get('/work')).text
  expect((await console.get('/jobs')).text).toContain('No scheduler is alive')
  expect(work).toContain('No worker is alive')
  expect(work.split('its config names another base URL').length - 1).toBe(2)
})

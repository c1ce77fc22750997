import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLog } from '#src/log.ts'
import { openContext } from '#src/open-context.ts'
import { html } from '#src/values/html.ts'
import { ActionRefused, definePage } from '#src/web/console/page.ts'
import { isClockShifted } from '../../support/clock-shift.ts'
import { openFaultProxy } from '../../support/fault-proxy.ts'
import { type ConsoleFixture, openConsole, serveConsole } from './console-fixture.ts'
import { openTestPages } from './test-pages.ts'

let console: ConsoleFixture

beforeAll(async () => {
  console = await openConsole()
})

afterAll(async () => {
  await console[Symbol.asyncDispose]()
})

const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** A page of one test, for engineers. */
const pageOf = (read: Parameters<typeof definePage>[0]['read']) =>
  definePage({
    ...{ path: '/page', title: 'Page', question: 'Does it fail well?', roles: ['engineer'] },
    ...{ read, draw: () => html`` },
  })

/** The frame of a person who is signed in: navigation, and the way out. */
const signedInFrame = [
  '<nav aria-label="Pages">',
  'href="/console/runs"',
  'action="/console/sign-out"',
]

test.skipIf(isClockShifted)(
  'a query of more than 3 seconds is stopped, and the page says what to do',
  async () => {
    const slow = pageOf(async ({ db }) => await sql`select pg_sleep(30)`.execute(db))
    await using served = await openTestPages(console, [slow])
    const before = Date.now()

    const { status, text } = await served.get('/page', 'engineer')
    const json = await served.get('/page', 'engineer', { accept: 'application/json' })

    expect(status).toBe(503)
    expect(text).toContain('<h1>This took too long</h1>')
    expect(text).toContain('longer than 3 s')
    for (const part of signedInFrame) expect(text).toContain(part)
    expect(json).toEqual({ status: 503, text: '{"error":"This took too long"}' })
    expect(Date.now() - before).toBeLessThan(60_000)
  },
)

test.skipIf(isClockShifted)(
  'a page that waits too long, for a connection or between queries, does not say that the warehouse is away',
  { tags: 'ci', timeout: 60_000 },
  async () => {
    const long = pageOf(async ({ db }) => {
      for (let part = 0; part < 5; part += 1) await sql`select pg_sleep(2.7)`.execute(db)
    })
    const idle = pageOf(async ({ db }) => {
      await sql`set local idle_in_transaction_session_timeout = '100ms'`.execute(db)
      await sleep(600)
      return await sql`select 1`.execute(db)
    })
    await using served = await openTestPages(console, [long, { ...idle, path: '/idle' }])
    const { text: idleText } = await served.get('/idle', 'engineer')

    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => await served.get('/page', 'engineer')),
    )

    const waited = answers.filter(({ status }) => status === 503)
    expect(waited).toHaveLength(1)
    expect(waited[0]!.text).toContain('longer than 10 s')
    expect(idleText).toContain('longer than 60 s')
    for (const text of [waited[0]!.text, idleText]) {
      expect(text).toContain('<h1>This took too long</h1>')
      expect(text).toContain('The warehouse is there')
      for (const part of signedInFrame) expect(text).toContain(part)
    }
  },
)

test('a page that tries to write fails, and writes nothing', async () => {
  const writing = pageOf(async ({ db }) => await sql`delete from ops.console_session`.execute(db))
  await using served = await openTestPages(console, [writing])

  const { status } = await served.get('/page', 'engineer')

  const [row] = await console.rows<{ sessions: number }>(
    'select count(*)::int as sessions from ops.console_session',
  )
  expect(status).toBe(500)
  expect(row!.sessions).toBeGreaterThan(0)
})

test('an error of ours shows no detail, and keeps the frame', async () => {
  const broken = pageOf(async () => {
    throw new Error('detail <b> of the fault')
  })
  await using served = await openTestPages(console, [broken])

  const { status, text } = await served.get('/page', 'engineer')

  expect(status).toBe(500)
  expect(text).toContain('<h1>Something went wrong</h1>')
  expect(text).not.toContain('of the fault')
  for (const part of signedInFrame) expect(text).toContain(part)
})

test('a transaction of a page that failed does not affect the next', async () => {
  const pages = [
    pageOf(async ({ db }) => await sql`select 1 / 0`.execute(db)),
    { ...pageOf(async () => ({})), path: '/next' },
  ]
  await using served = await openTestPages(console, pages)

  const statuses: number[] = []
  for (let attempt = 0; attempt < 6; attempt += 1)
    statuses.push((await served.get(attempt % 2 === 0 ? '/page' : '/next', 'engineer')).status)

  expect(statuses).toEqual([500, 200, 500, 200, 500, 200])
})

test('while the warehouse is away a page says so, and afterwards it works again', async () => {
  const url = new URL(console.fixture.database.url)
  await using line = await openFaultProxy(Number(url.port))
  url.port = String(line.port)
  const config = { ...console.fixture.config, warehouse: { url: url.href } }
  await using context = await openContext(config, silent)
  await using served = await serveConsole({ ...console.fixture, config, context })
  const cookie = await served.cookie('engineer')
  const ask = async (accept = 'text/html') =>
    await served.get('/runs', { role: null, headers: { cookie, accept } })
  const before = await ask()

  await line.be('refuse')
  const away = await ask()
  const json = await ask('application/json')
  await line.be('pass')

  await expect.poll(async () => (await ask()).status).toBe(200)
  expect([before.status, away.status, json.status]).toEqual([200, 503, 503])
  expect(away.title).toBe('The warehouse does not answer')
  expect(away.text).toContain('<a class="skip" href="#content">')
  expect(JSON.parse(json.text)).toEqual({ error: 'The warehouse does not answer' })
})

test('a page whose connection ends keeps its frame, and the next page has a new one', async () => {
  const slow = pageOf(async ({ db }) => await sql`select pg_sleep(2)`.execute(db))
  await using served = await openTestPages(console, [slow])
  const asked = served.get('/page', 'engineer')
  const end = () =>
    console.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'forecourt console' and query like '%pg_sleep(2)%'`,
    )
  await expect.poll(async () => (await end()).length).toBeGreaterThan(0)

  const { status, text } = await asked
  await console.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'forecourt console'`,
  )

  expect(status).toBe(503)
  expect(text).toContain('<h1>The warehouse does not answer</h1>')
  for (const part of signedInFrame) expect(text).toContain(part)
  await expect.poll(async () => (await console.get('/runs')).status).toBe(200)
})

test('an unknown page and an unknown run are the same page, inside the frame', async () => {
  const [page, run, odd] = [
    await console.get('/no-such-page'),
    await console.get('/runs/999999999'),
    await console.get('/runs/1%00'),
  ]

  expect([page.status, run.status, odd.status]).toEqual([404, 404, 404])
  expect(page.text).toBe(run.text)
  expect(page.title).toBe('There is nothing here')
  for (const part of signedInFrame) expect(page.text).toContain(part)
})

test('an unknown page of a person who is not signed in leads to sign-in, as every page does', async () => {
  const { status, location } = await console.get('/no-such-page', { role: null })

  expect([status, location]).toEqual([303, '/console/sign-in?next=%2Fconsole%2Fno-such-page'])
})

test('an action that is refused says why, and is written down', async () => {
  const refusing = {
    ...pageOf(async () => ({})),
    actions: {
      refuse: {
        roles: ['engineer'] as const,
        run: async () => {
          throw new ActionRefused('A run holds <this> rooftop. Wait until it ends.')
        },
      },
      fail: {
        roles: ['engineer'] as const,
        run: async () => {
          throw new Error('detail of the fault')
        },
      },
    },
  }
  await using served = await openTestPages(console, [refusing])

  const json = await served.post('/page', 'engineer', 'refuse', { accept: 'application/json' })
  const refused = await served.post('/page', 'engineer', 'refuse')
  const failed = await served.post('/page', 'engineer', 'fail')

  const logged = await console.rows(
    `select email, role, action, outcome, message from ops.console_action order by action_id desc limit 2`,
  )
  expect([refused.status, failed.status]).toEqual([409, 500])
  expect(refused.text).toContain('A run holds &#60;this&#62; rooftop. Wait until it ends.')
  expect(failed.text).not.toContain('of the fault')
  expect(JSON.parse(json.text)).toEqual({
    ...{ error: 'Nothing was done', message: 'A run holds <this> rooftop. Wait until it ends.' },
  })
  const who = { email: 'kim@example.com', role: 'engineer' }
  expect(logged).toEqual([
    { ...who, action: 'fail', outcome: 'failed', message: 'detail of the fault' },
    {
      ...who,
      action: 'refuse',
      outcome: 'refused',
      message: 'A run holds <this> rooftop. Wait until it ends.',
    },
  ])
})

import http from 'node:http'
import { buffer, text } from 'node:stream/consumers'
import fastify from 'fastify'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { sleep } from '#src/values/sleep.ts'
import { openPool } from '#src/warehouse/db/connect.ts'
import { serveConsole } from '#src/web/console/console.ts'
import { Downloads } from '#src/web/console/downloads.ts'
import { databaseLocks } from '../../support/postgres.ts'
import { type ConsoleFixture, openConsole, type Role } from './console-fixture.ts'

let console: ConsoleFixture

const view = 'rpt_07_photo_completeness'
const gate = 4_711

beforeAll(async () => {
  console = await openConsole()
  await console.rows(
    `create function public.gate() returns boolean language plpgsql as
     'begin perform pg_advisory_lock_shared(${gate}); perform pg_advisory_unlock_shared(${gate}); return true; end'`,
  )
})

afterAll(async () => await console[Symbol.asyncDispose]())

/** Sessions that work on a download. */
const working = async () =>
  (
    await console.rows(
      `select from pg_stat_activity where datname = current_database() and application_name = 'forecourt download' and xact_start is not null`,
    )
  ).length

afterEach(async () => await expect.poll(working).toBe(0))

/** Has the view read `from`, where `v` is what it was. */
async function reading(from: string): Promise<AsyncDisposable> {
  const [row] = await console.rows<{ sql: string }>(
    `select rtrim(pg_get_viewdef('mart.${view}'::regclass), ';') as sql`,
  )
  const become = (sql: string) => console.rows(`create or replace view mart.${view} as ${sql}`)
  await become(`select v.* from (${row!.sql}) as v ${from}`)
  return { [Symbol.asyncDispose]: async () => void (await become(row!.sql)) }
}

/** Starts a download and reads none of it. */
async function start(
  format: string,
  role: Exclude<Role, null>,
  url = console.url,
): Promise<{
  status(): Promise<number>
  readonly end: () => void
  answer: Promise<http.IncomingMessage>
}> {
  const headers = { cookie: await console.cookie(role) }
  const request = http.get(`${url}/console/reports/${view}?download=${format}`, {
    headers,
    agent: false,
  })
  const answer = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  answer.catch(() => undefined)
  return {
    answer,
    status: async () => (await answer).statusCode!,
    end: () => request.destroy(),
  }
}

/** The same, once a place is free: a reader who left gives it back a moment after the query has ended. */
async function startFree(...of: Parameters<typeof start>): ReturnType<typeof start> {
  for (;;) {
    const file = await start(...of)
    if ((await file.status()) !== 429) return file
    await sleep(50)
  }
}

test('while files are made slowly, pages answer and their connections are free', async () => {
  await using _slow = await reading('where public.gate()')
  const lock = await console.fixture.database.pool.connect()
  await lock.query(`select pg_advisory_lock(${gate})`)
  const files = [
    ...[await start('parquet', 'engineer'), await start('parquet', 'engineer')],
    ...[await start('parquet', 'viewer'), await start('parquet', 'viewer')],
  ]
  const waiting = `select from ${databaseLocks} where locktype = 'advisory' and objid = ${gate} and not granted`
  await expect.poll(async () => (await console.rows(waiting)).length).toBe(4)

  const page = await console.get('/runs')
  const idle = await console.rows(
    `select from pg_stat_activity where datname = current_database() and application_name = 'forecourt console' and xact_start is not null`,
  )
  await lock.query(`select pg_advisory_unlock(${gate})`)
  lock.release()
  const texts = await Promise.all(files.map(async ({ answer }) => await text(await answer)))

  expect(page.status).toBe(200)
  expect(idle).toEqual([])
  for (const one of texts) expect([one.slice(0, 4), one.slice(-4)]).toEqual(['PAR1', 'PAR1'])
}, 60_000)

test('files that are not read stop no sign-in and no page', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  await using _long = await reading('cross join generate_series(1, 200000)')
  const files = []
  for (let count = 0; count < 20; count++)
    files.push(await start('csv', count % 2 === 0 ? 'engineer' : 'viewer'))

  const link = new URL(await console.link('engineer')).searchParams.get('link')!
  const signedIn = await console.post('/sign-in', { link }, { role: null })
  const page = await console.get('/runs')
  const statuses = await Promise.all(files.map(({ status }) => status()))
  for (const { end } of files) end()

  expect([signedIn.status, page.status]).toEqual([303, 200])
  expect(statuses.filter((status) => status === 200)).toHaveLength(4)
  expect(statuses.filter((status) => status === 429)).toHaveLength(16)
})

test('after one of two has ended, whichever way, the next starts', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  await using _long = await reading('cross join generate_series(1, 200000)')
  const first = await startFree('csv', 'engineer')
  const second = await startFree('parquet', 'engineer')

  const third = await console.get(`/reports/${view}?download=csv`)
  first.end()
  await expect.poll(working).toBe(1)
  const fourth = await startFree('csv', 'engineer')
  const status = await fourth.status()
  for (const { end } of [second, fourth]) end()

  expect([third.status, status]).toEqual([429, 200])
  expect(third.title).toBe('Other downloads are running')
  expect(third.headers.get('content-disposition')).toBe(null)
})

test('whoever leaves before the first row ends the query', async () => {
  await using _slow = await reading('where pg_sleep(300) is not null')
  const { end } = await startFree('csv', 'viewer')
  await expect.poll(working).toBe(1)

  end()

  await expect.poll(working).toBe(0)
}, 60_000)

test.for([
  ['that is waited for', (statement: Promise<unknown>) => statement],
  [
    'that nothing waits for',
    async () => {
      await sleep(50)
      throw new Error('the pipe has closed')
    },
  ],
] as const)('whoever leaves between two statements ends the next one, %s', async ([, then]) => {
  await using after = new AsyncDisposableStack()
  const pool = await openPool(console.context.config.warehouse.url!, {
    applicationName: 'forecourt download',
  })
  after.defer(() => pool.end())
  const { log, signal } = console.context
  const downloads = new Downloads({ pool, log, signal, stallMs: 60_000 })
  const person = { email: 'kim@example.com', role: 'engineer', rooftops: null } as const
  const ended = Promise.withResolvers<unknown>()

  const file = downloads.start(person, async ({ db }) => {
    file!.destroy()
    // Postgres ignores what is to be cancelled while nothing runs.
    await sleep(300)
    const statement = sql`select pg_sleep(120)`.execute(db)
    statement.then(ended.resolve, ended.resolve)
    await then(statement)
  })

  expect(String(await ended.promise)).toContain('canceling statement due to user request')
  await expect.poll(working).toBe(0)
})

test('a download that is not read is ended, and one that is read slowly is not', {
  tags: 'ci',
  timeout: 60_000,
}, async () => {
  await using _long = await reading('cross join generate_series(1, 200000)')
  await using app = fastify()
  const { context } = console
  await serveConsole(app, { context, downloadStallMs: 500 })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const unread = await start('csv', 'engineer', url)
  const read = await start('csv', 'viewer', url)
  const answer = await read.answer
  const slowly = setInterval(() => answer.read(100_000), 50)
  await Promise.all([unread.status(), read.status()])

  await expect.poll(working, { timeout: 20_000 }).toBe(1)
  const cut = await buffer(await unread.answer).catch((error: Error) => error.message)
  clearInterval(slowly)
  read.end()

  expect(cut).toBe('aborted')
  expect(console.logged.join()).toContain('its reader took less than 64 KB in 0.5 s')
})

test('a file that fails before its first byte is a page that says so', async () => {
  await using _broken = await reading(
    'where 1 / (select count(*) from core.ref_watch_status where false) = 0',
  )

  const { status, title, headers } = await console.get(`/reports/${view}?download=parquet`)

  expect({ status, title }).toEqual({ status: 500, title: 'Something went wrong' })
  expect(headers.get('content-disposition')).toBe(null)
})

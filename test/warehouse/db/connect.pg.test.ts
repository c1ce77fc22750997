import { createServer } from 'node:net'
import pg from 'pg'
import { expect, test } from 'vitest'
import { errorText, UsageError } from '#src/errors.ts'
import { isConnectionLoss, openPool } from '#src/warehouse/db/connect.ts'
import { createTestDatabase, emptyTestDatabase } from '../../support/postgres.ts'

const options = { applicationName: 'connect test', max: 2 }
const secret = 'pä%ss wörd'

async function refusal(url: string): Promise<string> {
  const error = await openPool(url, options).then(
    async (pool) => {
      await pool.end()
      throw new Error('It connected')
    },
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(UsageError)
  const { message } = error as UsageError
  expect(message).not.toContain(secret)
  expect(message).not.toContain(encodeURIComponent(secret))
  expect(message.split('\n')).toHaveLength(1)
  return message
}

function changed(url: string, change: (url: URL) => void): string {
  const copy = new URL(url)
  change(copy)
  return copy.href
}

/** A server that answers the start-up message with an error, as Postgres words it. */
async function refusingServer(
  code: string,
  message: string,
): Promise<AsyncDisposable & { port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      const body = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`)
      const head = Buffer.from([0x45, 0, 0, 0, 0])
      head.writeInt32BE(body.length + 4, 1)
      socket.end(Buffer.concat([head, body]))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address() as { port: number }
  return {
    port: address.port,
    [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())),
  }
}

test('a host name that is gone, as that of a container that is replaced, is a lost connection', async () => {
  const pool = new pg.Pool({ host: 'postgres.invalid' })

  const error: unknown = await pool.query('select 1').catch((reason: unknown) => reason)

  await pool.end()
  expect(errorText(error)).toContain('getaddrinfo')
  expect(isConnectionLoss(error)).toBe(true)
})

test('values arrive as numbers, texts and instants that lose nothing', async () => {
  await using database = await createTestDatabase()

  const { rows } = await database.pool.query(`
    select 9007199254740991::int8 as safe, 9007199254740993::int8 as unsafe,
      array[1, null]::int8[] as ids, 12345678901234.120::numeric as price,
      array[0.10]::numeric[] as prices, date '2026-03-29' as day,
      array[date '2026-03-29'] as days, timestamptz '2026-03-29 02:30:00+10' as at,
      array['a', null]::text[] as words, '{"a": 1}'::jsonb as body, '\\x00ff'::bytea as hash`)

  expect(rows).toEqual([
    {
      safe: 9007199254740991,
      unsafe: '9007199254740993',
      ids: [1, null],
      price: '12345678901234.120',
      prices: ['0.10'],
      day: '2026-03-29',
      days: ['2026-03-29'],
      at: new Date('2026-03-28T16:30:00Z'),
      words: ['a', null],
      body: { a: 1 },
      hash: Buffer.from([0, 255]),
    },
  ])
})

test('every session is in UTC, named, and limited when it idles in a transaction', async () => {
  await using database = await createTestDatabase()
  const pool = await openPool(database.url, { ...options, idleInTransactionTimeoutMs: 8_000 })

  const settings = `select current_setting('timezone') as zone,
    current_setting('application_name') as name,
    current_setting('idle_in_transaction_session_timeout') as timeout`
  const usual = await database.pool.query(settings)
  const given = await pool.query(settings)

  await pool.end()
  expect(usual.rows).toEqual([{ zone: 'UTC', name: 'test', timeout: '1min' }])
  expect(given.rows).toEqual([{ zone: 'UTC', name: 'connect test', timeout: '8s' }])
})

test('a session has no JIT and memory to sort, however small the default of the server; a larger one stays', async () => {
  await using database = await createTestDatabase()
  const settings = "select current_setting('jit') as jit, current_setting('work_mem') as memory"
  const read = async (serverDefault: string) => {
    await database.pool.query(
      `do $$ begin execute format('alter database %I set work_mem = %L', current_database(), '${serverDefault}'); end $$`,
    )
    const pool = await openPool(database.url, options)
    const { rows } = await pool.query(settings)
    await pool.end()
    return rows
  }

  const results = [await read('4MB'), await read('256MB')]

  expect(results).toEqual([[{ jit: 'off', memory: '32MB' }], [{ jit: 'off', memory: '256MB' }]])
})

test('a backend killed while idle or while in use does not kill the process', async () => {
  await using database = await createTestDatabase()
  const pool = await openPool(database.url, options)
  const lent = await pool.connect()
  await pool.query('select 1')

  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'connect test' and datname = current_database()`,
  )

  await expect(lent.query('select 1')).rejects.toThrow()
  lent.release(true)
  await expect
    .poll(() => pool.query('select 1 as one').then((result) => result.rows))
    .toEqual([{ one: 1 }])
  await pool.end()
})

test.for(['not a url', 'localhost:5432/warehouse', 'mysql://user:pw@host/warehouse', ''])(
  'a url of another form is refused: %s',
  async (url) => {
    expect(await refusal(url)).toMatch(/not of the form postgres:/)
  },
)

test('a server that does not listen is named by host and port', async () => {
  const url = `postgres://somebody:${encodeURIComponent(secret)}@127.0.0.1:1/warehouse`

  expect(await refusal(url)).toBe(
    'Postgres at 127.0.0.1:1/warehouse cannot be reached (connect ECONNREFUSED 127.0.0.1:1): ' +
      'start it, or correct host and port in warehouse.url.',
  )
})

test('a host that does not exist is named', async () => {
  const url = `postgres://somebody:${encodeURIComponent(secret)}@nowhere.invalid/warehouse`

  expect(await refusal(url)).toMatch(
    /^Postgres at nowhere\.invalid:5432\/warehouse cannot be reached/,
  )
})

test('a wrong password has its own error, which never shows the password even when the server does', async () => {
  await using server = await refusingServer(
    '28P01',
    `password authentication failed for "somebody" (${secret})`,
  )
  const url = `postgres://somebody:${encodeURIComponent(secret)}@127.0.0.1:${server.port}/warehouse`

  expect(await refusal(url)).toMatch(
    /refused user somebody \(password.*\*\*\*.*\): correct the user/,
  )
})

test('a missing database is named', async () => {
  await using database = await emptyTestDatabase()
  const url = changed(database.url, (copy) => {
    copy.pathname = '/no_such_database'
  })

  expect(await refusal(url)).toMatch(/has no database no_such_database: create it/)
})

test('a server without TLS has its own error when the url requires it', async () => {
  await using server = await refusingServer('XX000', 'unused')
  const url = `postgres://somebody:${encodeURIComponent(secret)}@127.0.0.1:${server.port}/w?sslmode=verify-full`

  expect(await refusal(url)).toMatch(/^No secure connection to Postgres at 127\.0\.0\.1:\d+\/w/)
})

test('a server with no connection left says so', async () => {
  await using server = await refusingServer('53300', 'sorry, too many clients already')

  expect(await refusal(`postgres://x@127.0.0.1:${server.port}/w`)).toMatch(/no connection left/)
})

test('a server that is too old is refused with both versions', async () => {
  await using database = await emptyTestDatabase()
  const name = new URL(database.url).pathname.slice(1)
  // The version of Postgres cannot be set, so the function that returns it is replaced.
  await database.pool.query(`
    create function public.current_setting(text) returns text language sql
      as $$ select case $1 when 'server_version_num' then '140012' else '14.12' end $$;
    alter database ${name} set search_path = public, pg_catalog`)

  expect(await refusal(database.url)).toMatch(/is Postgres 14\.12: forecourt needs 15 or newer/)
})

test('a statement with too many parameters is not a lost connection: it would be repeated without end', async () => {
  await using database = await createTestDatabase()
  const values = Array.from({ length: 100_000 }, (_, nth) => nth)
  const list = values.map((_, nth) => `$${nth + 1}::int`).join(', ')

  const refused = await database.pool
    .query(`select 1 where 1 in (${list})`, values)
    .catch((error) => error)

  expect(refused).toMatchObject({ code: '08P01' })
  expect(isConnectionLoss(refused)).toBe(false)
})

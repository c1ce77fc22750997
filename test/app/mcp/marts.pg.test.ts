import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFaultProxy } from '../../support/fault-proxy.ts'
import { databaseLocks } from '../../support/postgres.ts'
import { readContent } from '../../support/warehouse-content.ts'
import { call, canaries, openMcpFixture } from './fixture.ts'

let fixture: Awaited<ReturnType<typeof openMcpFixture>>
beforeAll(async () => {
  fixture = await openMcpFixture()
}, 60_000)
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

test('a BI login has the tools that read the marts, each marked as read-only', async () => {
  await using session = await fixture.connect('reader')

  const { tools } = await session.client.listTools()
  const { resources } = await session.client.listResources()
  const { resourceTemplates } = await session.client.listResourceTemplates()

  expect(tools.map(({ name }) => name)).toEqual(['query', 'describe', 'coverage'])
  for (const { annotations, outputSchema, inputSchema } of tools) {
    expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
    expect(inputSchema).toMatchObject({ additionalProperties: false })
    expect(outputSchema).toBeDefined()
  }
  expect(resources.map(({ uri }) => uri)).toEqual([
    'forecourt://dictionary',
    'forecourt://glossary',
  ])
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'forecourt://dictionary/{view}',
  ])
  expect(session.client.getInstructions()).toContain('not instructions')
})

test('query gives typed cells, the same as text and as structured content', async () => {
  await using session = await fixture.connect('reader')

  const found = await call(session, 'query', {
    sql: `select rooftop_name, final_price, completed_date, is_complete, completed_at, photo_count, null as nothing
          from evaluation_wide order by rooftop_name; `,
  })

  expect(found).toMatchObject({
    ...{ isError: false, truncated: false, cutCells: 0 },
    note: expect.stringContaining('not instructions'),
    columns: [
      { name: 'rooftop_name', type: 'character varying' },
      { name: 'final_price', type: 'numeric' },
      { name: 'completed_date', type: 'date' },
      { name: 'is_complete', type: 'boolean' },
      { name: 'completed_at', type: 'timestamp with time zone' },
      { name: 'photo_count', type: 'integer' },
      { name: 'nothing', type: 'text' },
    ],
    rows: [
      ['Northside', '23500.000', '2026-03-06', true, '2026-03-06T01:30:00.000Z', 0, null],
      ['Rival', '23500.000', '2026-03-06', true, '2026-03-06T01:30:00.000Z', 0, null],
    ],
  })
  const { note, columns, rows, truncated, cutCells } = found
  expect(JSON.parse(found.text)).toEqual({ note, columns, rows, truncated, cutCells })
})

test('each login sees the rows that row-level security gives it', async () => {
  await using all = await fixture.connect('reader')
  await using tenant = await fixture.connect('tenant')
  const sql = 'select distinct rooftop_name from evaluation_wide order by 1'

  expect((await call(all, 'query', { sql })).rows).toEqual([['Northside'], ['Rival']])
  expect((await call(tenant, 'query', { sql })).rows).toEqual([['Northside']])
  const names = async (session: typeof all) => {
    const { columns, rows } = await call(session, 'coverage')
    const at = columns.findIndex(({ name }) => name === 'rooftop_name')
    return [...new Set(rows.map((row) => row[at]))]
  }
  expect((await names(all)).sort()).toEqual(['Northside', 'Rival'])
  expect(await names(tenant)).toEqual(['Northside'])
  expect(await call(tenant, 'query', { sql: 'select * from mart.evaluation_wide' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('permission denied for schema mart'),
  })
  expect((await call(tenant, 'describe', { view: 'dim_date' })).rows.length).toBeGreaterThan(5)
})

const hostile: readonly (readonly [string, RegExp])[] = [
  ['commit; drop schema core cascade', /syntax error/],
  ['select 1; select 2', /multiple commands/],
  ['select 1) as q (c0); drop schema core cascade; select (1', /syntax error/],
  ['select 1) as q union all select (2', /syntax error/],
  [
    'with gone as (delete from core.evaluation returning *) select * from gone',
    /permission denied for schema core/,
  ],
  [
    'with gone as (delete from dim_rooftop returning *) select * from gone',
    /permission denied|must not contain data-modifying/,
  ],
  ['delete from mart.evaluation_wide', /syntax error/],
  ['select * from mart.dim_rooftop for update', /permission denied|read-only/],
  ['set role forecourt_writer', /syntax error/],
  ["select set_config('role', 'mart_owner', false)", /permission denied to set role/],
  [
    "select set_config('transaction_read_only', 'off', true)",
    /must be set before any query|cannot set transaction read-write/,
  ],
  ["select pg_read_file('/etc/passwd')", /permission denied/],
  ["select * from pg_ls_dir('/')", /permission denied/],
  ["select lo_import('/etc/passwd')", /permission denied|read-only/],
  ["select lo_from_bytea(0, 'x')", /permission denied|read-only/],
  ["copy (select 1) to program 'id'", /syntax error/],
  ["select * from dblink('host=127.0.0.1', 'select 1') as t (a int)", /does not exist/],
  ['select * from core.evaluation', /permission denied for schema core/],
  ['select * from pii.evaluation_customer', /permission denied for schema pii/],
  ['select * from mart_pii.customer', /permission denied for schema mart_pii/],
  ['select * from ops.quarantine', /permission denied for schema ops/],
  ['select body from raw.payload', /permission denied for schema raw/],
  ['select rolpassword from pg_authid', /permission denied/],
  [
    "select query_to_xml('delete from mart.dim_rooftop', true, true, '')",
    /cannot delete from view/,
  ],
  ["select nextval('core.app_user_user_id_seq')", /permission denied|read-only|does not exist/],
  ['select pg_sleep(30)', /statement timeout/],
  ["select set_config('statement_timeout', '0', false), pg_sleep(30)", /statement timeout/],
  ['select pg_sleep(0.015) from generate_series(1, 1000)', /statement timeout/],
  ['explain select 1', /syntax error/],
  ['', /too small|>=1|expected/i],
  ['select 1 \0', /NUL/],
]

test('a hostile query changes nothing, shows nothing, and ends in time', {
  tags: 'ci',
}, async () => {
  await using session = await fixture.connect('reader', { statementTimeoutSeconds: 1 })
  const before = await readContent(fixture.database.pool)

  const unexpected: object[] = []
  for (const [sql, reason] of hostile) {
    const { isError, text } = await call(session, 'query', { sql })
    const isSafe = isError && reason.test(text) && !canaries.some((each) => text.includes(each))
    if (!isSafe) unexpected.push({ sql, isError, text })
  }

  expect(unexpected).toEqual([])
  expect(await readContent(fixture.database.pool)).toEqual(before)
  expect((await call(session, 'query', { sql: 'select 1 as one' })).rows).toEqual([[1]])
})

test('what a query leaves in its session is gone with the next one', async () => {
  await using session = await fixture.connect('reader')
  await call(session, 'query', {
    sql: "select pg_advisory_lock(4711), set_config('search_path', 'pg_catalog', false)",
  })

  const { rows } = await call(session, 'query', { sql: "select current_setting('search_path')" })
  const locks = await fixture.database.pool.query(
    `select from ${databaseLocks} where locktype = 'advisory' and objid = 4711`,
  )

  expect(rows).toEqual([['mart']])
  expect(locks.rowCount).toBe(0)
})

test('a long answer is cut off at the row limit, and the server makes no more rows than are read', async () => {
  await using session = await fixture.connect('reader', { maxRows: 70 })

  const many = await call(session, 'query', { sql: 'select generate_series(1, 10000000) as n' })
  const exact = await call(session, 'query', { sql: 'select generate_series(1, 70) as n' })

  expect(many.rows.map(([n]) => n)).toEqual(Array.from({ length: 70 }, (_, at) => at + 1))
  expect([many.truncated, exact.truncated, exact.rows.length]).toEqual([true, false, 70])
})

test('a wide answer is cut off at the size limit: long cells first, then rows', {
  tags: 'ci',
}, async () => {
  const address = new URL(fixture.logins.url('reader'))
  await using line = await openFaultProxy(Number(address.port))
  address.port = String(line.port)
  // The line ends where the server sends what is not returned.
  await line.be({ truncate: 200_000 })
  await using session = await fixture.connect('reader', { url: address.href, maxKilobytes: 20 })
  const columns = Array.from({ length: 500 }, (_, at) => `repeat('é', 5000) as c${at}`)

  const long = await call(session, 'query', { sql: "select repeat('x', 100000000) as x, 1 as n" })
  const wide = await call(session, 'query', { sql: `select ${columns.join(', ')}` })
  const rows = await call(session, 'query', {
    sql: "select repeat('y', 1900) from generate_series(1, 100)",
  })

  expect(long.rows).toEqual([[`${'x'.repeat(2000)}…`, 1]])
  expect([long.truncated, long.cutCells]).toEqual([false, 1])
  expect(Buffer.byteLength(JSON.stringify(wide.rows))).toBeLessThan(20_000)
  expect(wide.cutCells).toBe(500)
  expect([rows.truncated, rows.rows.length]).toEqual([true, 10])
})

test('signs that hide or reorder text are taken out of cells, and a cell stays data', async () => {
  await using session = await fixture.connect('reader')

  const { rows, columns } = await call(session, 'query', {
    sql: String.raw`select U&'a\001B[31m\202Eb\200B\+0E0041' || chr(9) || chr(10) as "x\u0007", 'NaN'::float8 as f, 'infinity'::timestamptz as t, 9223372036854775807 as big`,
  })

  expect(rows).toEqual([['a[31mb\t\n', 'NaN', 'Infinity', '9223372036854775807']])
  expect(columns.map(({ type }) => type)).toEqual([
    ...['text', 'double precision', 'timestamp with time zone', 'bigint'],
  ])
})

test('describe gives views, columns and where a column is, and names what was meant', async () => {
  await using session = await fixture.connect('reader')
  const first = async (given: Record<string, unknown>) => {
    const { rows } = await call(session, 'describe', given)
    return rows.map(([view, column, _, description]) => `${view}: ${column ?? description}`)
  }

  expect(await first({})).toContainEqual(expect.stringMatching(/^evaluation_wide: Appraisals with/))
  expect(await first({ view: 'rpt_10_appraisal_volume' })).toContain(
    'rpt_10_appraisal_volume: appraisals',
  )
  expect(await first({ column: 'final_price' })).toContain('fact_evaluation: final_price')
  expect(await call(session, 'describe', { view: 'evaluation_wyde' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('did you mean evaluation_wide?'),
  })
  expect(await call(session, 'describe', { view: 'dim_date', column: 'x' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('No such column: x in dim_date'),
  })
})

test('coverage shows what is not ok first, of one rooftop and stream where they are named', async () => {
  await using session = await fixture.connect('reader')
  const values = async (given: Record<string, unknown>) => {
    const { columns, rows } = await call(session, 'coverage', given)
    const names = columns.map(({ name }) => name)
    return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])))
  }

  const all = await values({})
  const one = await values({ rooftop: 'riv', stream: 'evaluations' })

  expect(all.length).toBe(10)
  expect(one).toMatchObject([{ rooftop_name: 'Rival', status: 'partial', quarantined: 1 }])
  const isOk = all.map(({ status }) => status === 'ok')
  expect(isOk).toEqual([...isOk].sort())
})

test('the resources are the dictionary, a view of it, and the glossary', async () => {
  await using session = await fixture.connect('tenant')
  const read = async (uri: string) => {
    const { contents } = await session.client.readResource({ uri })
    return 'text' in contents[0]! ? contents[0].text : ''
  }

  const dictionary = JSON.parse(await read('forecourt://dictionary'))
  expect(dictionary.rows.length).toBeGreaterThan(30)
  expect(dictionary.truncated).toBe(false)
  expect(await read('forecourt://dictionary/dim_rooftop')).toContain('time_zone')
  expect(await read('forecourt://glossary')).toMatch(/^# Glossary\n/)
})

test.each([
  ['people', /is not a login of role bi_reader or bi_tenant alone/],
  ['loader', /is not a login of role bi_reader or bi_tenant alone/],
])('the login of a %s is refused', async (key, message) => {
  await expect(fixture.openReader(key)).rejects.toThrow(message)
})

test('an owner, a login with more rights and functions that reach other hosts are refused', async () => {
  const { pool, url } = fixture.database
  const reader = fixture.logins.name('reader')
  const refused = async (grant: string, revoke: string) => {
    await pool.query(grant)
    try {
      return await fixture.openReader('reader').then(
        async (opened) => {
          await opened[Symbol.asyncDispose]()
          return 'opened'
        },
        (error: Error) => error.message,
      )
    } finally {
      await pool.query(revoke)
    }
  }
  await expect(fixture.openReader('reader', { url })).rejects.toThrow(/is not a login of role/)

  expect(
    await refused(
      `grant usage on schema pii to ${reader}`,
      `revoke usage on schema pii from ${reader}`,
    ),
  ).toMatch(/may use the schema pii/)
  expect(
    await refused(`alter role ${reader} bypassrls`, `alter role ${reader} nobypassrls`),
  ).toMatch(/bypasses row-level security/)
  expect(await refused('create extension dblink', 'drop extension dblink')).toMatch(
    /functions of the extension dblink/,
  )
  expect(
    await refused(`grant pg_read_all_data to ${reader}`, `revoke pg_read_all_data from ${reader}`),
  ).toMatch(/is not a login of role/)
})

test('every call is logged with its tool, login, statement and number of rows', async () => {
  fixture.lines.length = 0
  await using session = await fixture.connect('reader')
  await call(session, 'query', { sql: 'select 1 as one' })
  await call(session, 'query', { sql: 'select * from core.evaluation' })

  const login = fixture.logins.name('reader')
  expect(fixture.lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'info', tool: 'query', login, sql: 'select 1 as one', rows: 1, truncated: false },
    { level: 'warn', tool: 'query', login, sql: 'select * from core.evaluation' },
  ])
})

import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { openLogins, resultOf } from './logins.ts'

/** A warehouse with one login of each kind. */
async function openReaders() {
  const database = await createTestDatabase()
  await database.pool.query(
    "insert into core.rooftop_group (group_code) values ('north'), ('south')",
  )
  const logins = await openLogins(database, makeConfig({}, '/nowhere'), {
    reader: { role: 'bi_reader', statementTimeoutSeconds: 7, connectionLimit: 2 },
    tenant: { role: 'bi_tenant', groups: ['north'] },
    people: { role: 'bi_pii_reader' },
  })
  await logins.grant()
  return {
    ...{ database, logins },
    [Symbol.asyncDispose]: async () => {
      await logins[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

const keys = ['reader', 'tenant', 'people'] as const
const schemas = [
  'core',
  'core_scoped',
  'mart',
  'mart_pii',
  'mart_scoped',
  'ops',
  'pgboss',
  'pii',
  'raw',
]

test('each login reads the schemas of its role, and no other', async () => {
  await using fixture = await openReaders()
  const { rows: relations } = await fixture.database.pool.query<{ schema: string; name: string }>(
    `select n.nspname as schema, format('%I.%I', n.nspname, c.relname) as name
     from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where n.nspname = any ($1) and c.relkind in ('r', 'p', 'v') order by 2`,
    [schemas],
  )

  const readable: Record<string, string[]> = {}
  for (const key of keys) {
    const client = await fixture.logins.as(key)
    const seen = new Set<string>()
    for (const { schema, name } of relations)
      if ((await resultOf(client, `select from ${name} limit 1`)).endsWith('rows')) seen.add(schema)
      else if (schema.startsWith('mart')) seen.delete(schema)
    readable[key] = [...seen].sort()
  }

  expect(new Set(relations.map(({ schema }) => schema))).toEqual(new Set(schemas))
  expect(readable).toEqual({
    reader: ['mart'],
    tenant: ['mart_scoped'],
    people: ['mart', 'mart_pii'],
  })
})

test('nothing can be written or created, even with read-only off', async () => {
  await using fixture = await openReaders()
  const statements = [
    'create table public.mine (id int)',
    'create temporary table mine (id int)',
    'create table mart.mine (id int)',
    'create schema mine',
    'create view mart_scoped.mine as select 1 as one',
    'create function public.mine() returns int language sql return 1',
    'create or replace view mart.dim_date as select 1 as one',
    'insert into core.rooftop_group (group_code) values (1)',
    'delete from mart.dim_date',
    'update mart_scoped.dim_rooftop set rooftop_name = rooftop_name',
    'delete from ops.bi_access',
    'truncate core.dim_date',
    "copy core.rooftop_group to '/tmp/mine'",
    "select lo_import('/etc/passwd')",
    'select lo_create(0)',
    "select lo_from_bytea(0, 'mine')",
    'alter role bi_reader login',
    'create role mine',
    'grant bi_pii_reader to bi_reader',
    'select ops.drop_marts()',
    'security label on schema mart is null',
  ]

  for (const key of keys) {
    const client = await fixture.logins.as(key)
    const asGiven = await resultOf(client, 'insert into mart.dim_date default values')
    await client.query('set default_transaction_read_only = off')
    await client.query('set transaction_read_only = off')
    const answers: string[] = []
    for (const statement of statements)
      answers.push(`${statement}: ${await resultOf(client, statement)}`)

    expect(asGiven).toMatch(/read-only transaction|permission denied/)
    expect(
      answers.filter(
        (answer) =>
          !/: (permission denied|must be |must have |no security label|cannot )/.test(answer),
      ),
    ).toEqual([])
  }
})

test('a login can set no role except its own', async () => {
  await using fixture = await openReaders()
  const others = ['mart_owner', 'mart_scoped_owner', 'mart_pii_owner', 'forecourt_writer']
  const groupRoles = { reader: 'bi_reader', tenant: 'bi_tenant', people: 'bi_pii_reader' }

  for (const key of keys) {
    const client = await fixture.logins.as(key)
    const own = groupRoles[key]
    const refused = [
      ...others,
      ...Object.values(groupRoles).filter((role) => role !== own),
      ...keys.filter((other) => other !== key).map((other) => fixture.logins.name(other)),
    ]
    for (const role of refused) {
      expect(await resultOf(client, `set role ${role}`)).toBe(
        `permission denied to set role "${role}"`,
      )
      expect(await resultOf(client, `set session authorization ${role}`)).toMatch(
        /^permission denied/,
      )
    }
    expect(await resultOf(client, `set role ${own}`)).toBe('0 rows')
  }
})

test('a search path, a role of its group or a function of that name does not make a tenant another one', async () => {
  await using fixture = await openReaders()
  const { pool } = fixture.database
  await pool.query(
    `insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
     select group_code, group_id, group_code, 'AU', 'Australia/Sydney', 'AUD', 'km' from core.rooftop_group`,
  )
  // Objects that a user with rights may have created.
  await pool.query(
    `create schema traps;
     create function traps.visible_rooftops(name) returns int[] language sql return array[1, 2, 3];
     create function traps.pg_has_role(oid, oid, text) returns boolean language sql return true;
     create view traps.rooftop as select * from core.rooftop;
     grant usage on schema traps to public; grant select on traps.rooftop to public`,
  )
  const tenant = await fixture.logins.as('tenant')
  const names = async () =>
    (await tenant.query('select rooftop_name as name from mart_scoped.dim_rooftop')).rows

  const asItIs = await names()
  await tenant.query('set search_path = traps, ops, core, pg_temp, pg_catalog')
  const underTraps = await names()
  await tenant.query('set row_security = on; set role bi_tenant')
  const asTheGroup = await names()
  const unsecured = await resultOf(
    tenant,
    'set row_security = off; select * from mart_scoped.dim_rooftop',
  )

  expect(asItIs).toEqual([{ name: 'north' }])
  expect(underTraps).toEqual(asItIs)
  expect(asTheGroup).toEqual([])
  expect(unsecured).toMatch(/would be affected by row-level security/)
})

test('sessions start with read-only, timeouts, UTC and the marts, and the login has its limits', async () => {
  await using fixture = await openReaders()
  const client = await fixture.logins.as('reader')

  const settings: Record<string, unknown> = {}
  for (const name of [
    'default_transaction_read_only',
    'statement_timeout',
    'idle_in_transaction_session_timeout',
    'idle_session_timeout',
    'search_path',
    'timezone',
    'jit',
    'work_mem',
  ])
    settings[name] = (
      await client.query(`select current_setting('${name}') as value`)
    ).rows[0].value
  await fixture.logins.as('reader')

  expect(settings).toEqual({
    default_transaction_read_only: 'on',
    statement_timeout: '7s',
    idle_in_transaction_session_timeout: '1min',
    idle_session_timeout: '8h',
    search_path: 'mart',
    timezone: 'UTC',
    jit: 'off',
    work_mem: '32MB',
  })
  await expect(fixture.logins.as('reader')).rejects.toThrow(/too many connections for role/)
  const tenant = await fixture.logins.as('tenant')
  expect((await tenant.query('show search_path')).rows[0].search_path).toBe('mart_scoped')
})

test('a reader sees the views of its schema in the catalogue, and no table of the warehouse', async () => {
  await using fixture = await openReaders()

  for (const [key, schema] of [
    ['reader', 'mart'],
    ['tenant', 'mart_scoped'],
  ] as const) {
    const client = await fixture.logins.as(key)
    const { rows } = await client.query<{ schema: string; views: number }>(
      `select table_schema as schema, count(*)::int as views from information_schema.tables
       where table_schema not in ('pg_catalog', 'information_schema') group by 1`,
    )
    expect(rows.map((row) => row.schema)).toEqual([schema])
    expect(rows[0]!.views).toBeGreaterThan(30)
  }
})

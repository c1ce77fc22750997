import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { type Logins, openLogins, resultOf } from './logins.ts'

/** Rows of core.app_user of each group: no other number of the warehouse is as large. */
const people = { north: 31_337, south: 47_713 }
const totals = [people.south, people.north + people.south].map(String)

let database: TestDatabase
let logins: Logins
let tenant: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  const { pool } = database
  await pool.query(
    `insert into core.rooftop_group (group_code) values ('north'), ('south');
     insert into core.rooftop (rooftop_uid, group_id, rooftop_name, region, time_zone, currency_code, odometer_unit)
     select group_code, group_id, group_code, 'AU', 'Australia/Sydney', 'AUD', 'km' from core.rooftop_group;
     insert into core.app_user (group_id, display_name, is_generated_link_account, is_active, in_user_list)
     select group_id, 'person ' || n, false, true, true
     from core.rooftop_group, generate_series(1, case group_code when 'north' then ${people.north} else ${people.south} end) as n`,
  )
  await pool.query('vacuum analyze core.app_user')
  logins = await openLogins(database, makeConfig({}, '/nowhere'), {
    tenant: { role: 'bi_tenant', groups: ['north'] },
    other: { role: 'bi_tenant', groups: ['south'] },
    reader: { role: 'bi_reader' },
    writer: { role: 'forecourt_writer' },
  })
  await logins.grant()
  const other = await logins.as('other')
  await other.query("select pg_advisory_lock(7), set_config('application_name', user, false)")
  tenant = await logins.as('tenant')
}, 60_000)

afterAll(async () => {
  await logins[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const onlyManaged = 'Only where no superuser ran `grant`'

/** What the page says that every login can read, as `pg_roles: names`. */
async function openByPage(isManaged: boolean): Promise<string[]> {
  const page = await readFile(
    new URL('../../../src/warehouse/access/README.md', import.meta.url),
    'utf8',
  )
  const rows = page.split('\n').map((line) => line.split(' | '))
  return rows
    .filter(([, kind]) => kind === 'names' || kind === 'totals')
    .filter(([, , why = '']) => isManaged || !why.startsWith(onlyManaged))
    .flatMap(([open = '', kind]) =>
      [...open.matchAll(/`([^`]+)`/g)].map(([, name]) => `${name}: ${kind}`),
    )
    .sort()
}

/** Reads every relation that the tenant may read, and a plan, and names those with the other tenant's name or a total. */
async function openToTenant(): Promise<string[]> {
  const { rows: relations } = await tenant.query<{ name: string; isOurs: boolean }>(
    `select case n.nspname when 'pg_catalog' then '' else n.nspname || '.' end || c.relname as name,
       n.nspname not in ('pg_catalog', 'information_schema') as "isOurs"
     from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'm', 'f') and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')`,
  )
  expect(relations.length).toBeGreaterThan(200)
  const name = logins.name('other')
  const { rows: roles } = await tenant.query('select oid::text from pg_roles where rolname = $1', [
    name,
  ])
  const found: string[] = []
  const note = (source: string, cells: readonly unknown[], isOurs: boolean) => {
    const values = new Set(cells.map(String))
    // A number of ours may be that of the role by chance.
    if (cells.join().includes(name) || (!isOurs && values.has(roles[0].oid)))
      found.push(`${source}: names`)
    if (totals.some((total) => values.has(total))) found.push(`${source}: totals`)
  }
  for (const relation of relations) {
    const query = { text: `select * from ${relation.name}`, rowMode: 'array' as const }
    // The statistics of a transaction are of one reading, whatever the session has not reported yet.
    await tenant.query('select pg_stat_force_next_flush()')
    await tenant.query('begin; select from dim_user')
    const cells = await tenant.query<unknown[]>(query).then(
      ({ rows }) => rows.flat(),
      (error: Error) => {
        expect(error.message).toMatch(/^permission denied/)
        return []
      },
    )
    await tenant.query('rollback')
    note(relation.name, cells, relation.isOurs)
  }
  const plan = await tenant.query('explain (analyze) select from dim_user')
  note('explain', JSON.stringify(plan.rows).match(/\w+/g) ?? [], true)
  return found.sort()
}

test('a tenant sees no name of another login and no total, except what the page on access lists', async () => {
  expect(await openToTenant()).toEqual(await openByPage(false))

  // As on a server where no superuser ran grant.
  const { rows } = await database.pool.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc where proname = 'pg_stat_get_activity' or proname like 'pg\\_stat\\_get\\_backend\\_%'`,
  )
  const functions = rows.map((row) => row.name).join(', ')
  await database.pool.query(
    `grant execute on function ${functions} to public; grant select on pg_db_role_setting to public`,
  )
  expect(await openToTenant()).toEqual(await openByPage(true))

  const closed = await logins.grant()
  expect(closed.steps).toHaveLength(2)
  expect((await logins.grant()).steps).toEqual([])
  expect(await openToTenant()).toEqual(await openByPage(false))
})

test('no function shows who is connected, and the loader and monitoring still see it', async () => {
  const { pool } = database
  const { rows } = await pool.query<{ call: string }>(
    `select format('select %s(%s)', proname, case pronargs when 0 then '' else '1' end) as call from pg_proc
     where proname = 'pg_stat_get_activity' or proname like 'pg\\_stat\\_get\\_backend\\_%'`,
  )
  expect(rows.length).toBeGreaterThan(10)
  for (const { call } of rows)
    expect(await resultOf(tenant, call), call).toMatch(/^permission denied for function/)

  const activity = 'select from pg_stat_activity'
  const writer = await logins.as('writer')
  expect(await resultOf(writer, activity)).toMatch(/^\d+ rows$/)
  await pool.query(`grant pg_monitor to ${logins.name('reader')}`)
  expect(await resultOf(await logins.as('reader'), activity)).toMatch(/^\d+ rows$/)
})

test('the catalog answers what BI tools ask for', async () => {
  const questions = {
    // psql: \d, \dv, \dn+, \du
    'psql \\d': `select n.nspname, c.relname, c.relkind, pg_get_userbyid(c.relowner) from pg_class c left join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r','p','v','m','S','f','') and pg_table_is_visible(c.oid)`,
    'psql \\d view': `select a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) from pg_attribute a where a.attrelid = 'mart_scoped.dim_user'::regclass and a.attnum > 0`,
    'psql \\du': `select r.rolname, r.rolsuper, array(select b.rolname from pg_auth_members m join pg_roles b on m.roleid = b.oid where m.member = r.oid) from pg_roles r`,
    Metabase: `select n.nspname, c.relname, d.description, stat.n_live_tup from pg_class c join pg_namespace n on n.oid = c.relnamespace
      left join pg_description d on d.objoid = c.oid and d.objsubid = 0 left join pg_stat_user_tables stat on n.nspname = stat.schemaname and c.relname = stat.relname
      where c.relkind in ('r','p','v','f','m') and n.nspname = 'mart_scoped'`,
    'Metabase privileges': `select t.schemaname, t.objectname, has_table_privilege(current_user, quote_ident(t.schemaname) || '.' || quote_ident(t.objectname), 'select')
      from (select schemaname, tablename as objectname from pg_tables union select schemaname, viewname from pg_views) as t where t.schemaname = 'mart_scoped'`,
    'Power BI': `select table_schema, table_name, table_type from information_schema.tables where table_schema not in ('information_schema', 'pg_catalog')`,
    'Power BI columns': `select column_name, ordinal_position, is_nullable, data_type from information_schema.columns where table_schema = 'mart_scoped'`,
    'JDBC types': `select t.typname, t.oid from pg_type t join pg_namespace n on t.typnamespace = n.oid where n.nspname <> 'pg_toast'`,
    settings: `select name, setting from pg_settings`,
  }

  for (const [name, question] of Object.entries(questions))
    expect((await tenant.query(question)).rowCount, name).toBeGreaterThan(6)
})

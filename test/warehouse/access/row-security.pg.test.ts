import type pg from 'pg'
import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { openLogins } from './logins.ts'

/** Tables that a mart may read although their rows have no rooftop or group: they are the same for everyone. */
const references = [
  ...['core.dim_date', 'core.ref_watch_status', 'ops.mart_version', 'ops.run'],
  'ops.webhook_settled',
]

/** Tables that the views of a schema read, at any depth, by the catalogue alone. */
async function tablesReadBy(pool: pg.Pool, schema: string) {
  const { rows } = await pool.query<{ name: string; rooftop: boolean; group: boolean }>(
    `with recursive reads (oid) as (
       select oid from pg_class where relnamespace = $1::regnamespace and relkind = 'v'
       union
       select d.refobjid
       from reads join pg_rewrite as w on w.ev_class = reads.oid
       join pg_depend as d on d.objid = w.oid and d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
     )
     select c.oid::regclass::text as name,
       exists (select from pg_attribute where attrelid = c.oid and attname = 'rooftop_id') as rooftop,
       exists (select from pg_attribute where attrelid = c.oid and attname = 'group_id') as group
     from reads join pg_class as c using (oid)
     where c.relkind in ('r', 'p') and c.relnamespace <> 'pg_catalog'::regnamespace order by 1`,
    [schema],
  )
  return rows
}

async function policiesOf(pool: pg.Pool, table: string): Promise<string[]> {
  const { rows } = await pool.query<{ policy: string }>(
    `select concat_ws(' ', array_to_string(roles, '+'), cmd, qual) as policy from pg_policies
     where format('%I.%I', schemaname, tablename) = $1
       and (select relrowsecurity from pg_class where oid = $1::regclass) order by 1`,
    [table],
  )
  return rows.map(({ policy }) => policy)
}

test('every table that a mart reads shows a tenant its own rows, or is listed here as the same for everyone', async () => {
  await using database = await createTestDatabase()
  await using logins = await openLogins(database, makeConfig({}, '/nowhere'), {})
  await logins.grant()

  const tables = [
    ...(await tablesReadBy(database.pool, 'mart')),
    ...(await tablesReadBy(database.pool, 'mart_pii')),
  ]

  expect(tables.length).toBeGreaterThan(20)
  const others = tables.filter(
    ({ name, rooftop, group }) => !rooftop && !group && name !== 'ops.price_batch_unit',
  )
  expect(others.map(({ name }) => name)).toEqual(references)
  for (const { name, rooftop } of tables.filter((table) => !others.includes(table))) {
    const policies = await policiesOf(database.pool, name)
    // Some tables are read by the console itself, too.
    const console = policies.filter((policy) => policy.startsWith('forecourt_console '))
    for (const policy of console)
      expect(policy, name).toMatch(
        name === 'ops.price_batch_unit'
          ? /SELECT \(batch_no IN \( SELECT b\.batch_no\s+FROM ops\.price_batch b\)\)/
          : /SELECT \(rooftop_id = ANY \(\( SELECT ops\.visible_rooftops\(/,
      )
    const [all, scoped, writer] = policies.filter((policy) => !console.includes(policy))
    expect(all, name).toBe('forecourt_writer ALL true')
    expect(scoped, name).toBe('mart_owner+mart_pii_owner SELECT true')
    expect(writer, name).toMatch(
      name === 'core.rooftop_group'
        ? /^mart_scoped_owner SELECT \(group_id IN \( SELECT r\.group_id\s+FROM core\.rooftop r\)\)$/
        : name === 'ops.price_batch_unit'
          ? /^mart_scoped_owner SELECT \(batch_no IN \( SELECT b\.batch_no\s+FROM ops\.price_batch b\)\)$/
          : rooftop
            ? /^mart_scoped_owner SELECT \(rooftop_id = ANY \(\( SELECT ops\.visible_rooftops\(/
            : /^mart_scoped_owner SELECT \(group_id = ANY \(\( SELECT ops\.visible_groups\(/,
    )
  }
})

test('the marts of a tenant read only tables with row-level security and tables that are the same for everyone', async () => {
  await using database = await createTestDatabase()
  await using logins = await openLogins(database, makeConfig({}, '/nowhere'), {})
  await logins.grant()

  const { rows } = await database.pool.query<{ reader: string; source: string; owner: string }>(
    `select distinct m.source_schema || '.' || m.source_name as source, pg_get_userbyid(c.relowner) as owner
     from ops.mart_source as m join pg_class as c on c.oid = m.source_oid
     where m.reader in ('mart_scoped', 'core_scoped') and c.relkind = 'v' and m.source_schema <> 'pg_catalog'`,
  )

  // A view of another owner would be read with that owner's rights.
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.filter(({ owner }) => owner !== 'mart_scoped_owner')).toEqual([])
})

test('row-level security does not change the plans of the owner and the reader', async () => {
  await using database = await createTestDatabase()
  await using logins = await openLogins(database, makeConfig({}, '/nowhere'), {
    reader: { role: 'bi_reader' },
  })
  const { pool } = database
  const queries = [
    'select * from mart.evaluation_wide where rooftop_id = 1 and eval_id = 2',
    "select * from mart.rpt_07_photo_completeness where rooftop_id = 1 and month_start = date '2026-03-01'",
    "select make, count(*) from mart.evaluation_wide where make like 'T%' group by 1",
    'select * from mart.rpt_05_aged_stock_price_move',
    'select * from mart.rpt_13_repeat_appraisals',
  ]
  const plansOf = async (client: pg.Pool | pg.Client) => {
    const plans: string[] = []
    for (const query of queries) {
      const { rows } = await client.query(`explain (costs off) ${query}`)
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
    }
    return plans
  }

  const before = await plansOf(pool)
  await logins.grant()

  expect(await plansOf(pool)).toEqual(before)
  expect(await plansOf(await logins.as('reader'))).toEqual(before)
})

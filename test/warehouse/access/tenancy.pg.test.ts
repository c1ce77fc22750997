import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '#src/warehouse/db/transaction.ts'
import { rebuildSums } from '../../support/aggregates-fixture.ts'
import type { Fixture } from '../../support/fixture.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { type Logins, openLogins, resultOf } from './logins.ts'

// One loaded warehouse for all tests: none changes a row.
let fixture: Fixture
let logins: Logins
let groups: readonly string[]
const tenants = () => groups.map((_, index) => `tenant${index}`)

beforeAll(async () => {
  fixture = await reportedFixture(7, 120)
  groups = await groupsOf(fixture.database.pool)
  await fillReports(fixture.database.pool)
  const [first, second] = groups as [string, string]
  logins = await openLogins(fixture.database, fixture.config, {
    ...Object.fromEntries(
      groups.map((code, index) => [`tenant${index}`, { role: 'bi_tenant', groups: [code] }]),
    ),
    pair: { role: 'bi_tenant', groups: [first, second] },
    ungrouped: { role: 'bi_tenant', groups: [first] },
    reader: { role: 'bi_reader' },
    people: { role: 'bi_pii_reader' },
  })
  await logins.grant()
  await fixture.database.pool.query(
    `delete from ops.bi_access where role_name = '${logins.name('ungrouped')}'`,
  )
}, 240_000)

afterAll(async () => {
  await logins[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

/** The same for everyone: none of their rows belongs to a group. */
const common = ['data_dictionary', 'dim_date', 'dim_watch_status', 'mart_version']

test("for every mart, the rows of all tenants together are the reader's rows, each once", async () => {
  const views = await viewsOf(fixture.database.pool, 'mart')

  const seen = await inTransaction(fixture.database.pool, async ({ client }) => {
    const all: Record<string, { reader: string[]; tenants: string[][] }> = {}
    for (const view of views) {
      const reader = await rowsAs(client, logins.name('reader'), `mart.${view}`)
      const each: string[][] = []
      for (const tenant of tenants())
        each.push(await rowsAs(client, logins.name(tenant), `mart_scoped.${view}`))
      all[view] = { reader, tenants: each }
    }
    return all
  })

  expect(views.length).toBeGreaterThanOrEqual(35)
  expect(groups.length).toBeGreaterThanOrEqual(3)
  const isCommon = ([view]: [string, unknown]) => common.includes(view)
  for (const [view, rows] of Object.entries(seen).filter(isCommon))
    for (const own of rows.tenants) expect(own, view).toEqual(rows.reader)
  for (const [view, rows] of Object.entries(seen).filter((entry) => !isCommon(entry)))
    expect(rows.tenants.flat().sort(), view).toEqual(rows.reader)
  // Otherwise the test would prove nothing.
  const thin = Object.entries(seen).filter(
    ([, rows]) => rows.tenants.filter((own) => own.length > 0).length < 2,
  )
  expect(thin.map(([view]) => view)).toEqual([])
})

test('a session of the login sees the same as the role', async () => {
  const views = (await viewsOf(fixture.database.pool, 'mart')).filter(
    (view) => view !== 'mart_version',
  )
  const countsOf = async (client: pg.Client, schema: string) => {
    const counts: number[] = []
    for (const view of views)
      counts.push((await client.query(`select from ${schema}.${view}`)).rowCount ?? 0)
    return counts
  }

  const reader = await countsOf(await logins.as('reader'), 'mart')
  const pair = await countsOf(await logins.as('pair'), 'mart_scoped')
  const ungrouped = await countsOf(await logins.as('ungrouped'), 'mart_scoped')
  const own = [await logins.as('tenant0'), await logins.as('tenant1')]
  const [first = [], second = []] = [
    await countsOf(own[0]!, 'mart_scoped'),
    await countsOf(own[1]!, 'mart_scoped'),
  ]

  for (const [index, view] of views.entries()) {
    const isCommon = common.includes(view)
    const both = isCommon ? first[index] : first[index]! + second[index]!
    expect({ view, pair: pair[index] }).toEqual({ view, pair: both })
    expect({ view, rows: ungrouped[index] }).toEqual({ view, rows: isCommon ? reader[index] : 0 })
  }
})

test('salespeople, rooftops and groups of others are not seen', async () => {
  const tenant = await logins.as('tenant0')

  const codes = await tenant.query('select distinct group_code from dim_rooftop')
  const people = await tenant.query('select count(*)::int as people from dim_user')

  expect(codes.rows).toEqual([{ group_code: groups[0] }])
  const { rows } = await fixture.database.pool.query(
    `select count(*)::int as "all", count(*) filter (where group_code = $1)::int as people
     from core.app_user join core.rooftop_group using (group_id)`,
    [groups[0]],
  )
  expect(people.rows).toEqual([{ people: rows[0].people }])
  expect(rows[0].people).toBeLessThan(rows[0].all)
})

test('a status outside the contract is visible once a watch has stored it', async () => {
  const { pool } = fixture.database
  await pool.query(
    `insert into core.ref_watch_status (watch_status, noteworthiness, is_terminal, is_known)
     values ('unknown', 0, false, false), ('never read', 0, false, false);
     update core.watch_status_change set from_status = to_status, to_status = 'unknown'
     where check_ref = 'watched' and rooftop_id in (
       select rooftop_id from core.rooftop join core.rooftop_group using (group_id) where group_code = '${groups[1]}')`,
  )
  const query = 'select watch_status from dim_watch_status where not is_known'

  const [reader, first, second] = [
    await (await logins.as('reader')).query(query),
    await (await logins.as('tenant0')).query(query),
    await (await logins.as('tenant1')).query(query),
  ]
  await pool.query(
    `update core.watch_status_change set to_status = from_status, from_status = null where to_status = 'unknown';
     delete from core.ref_watch_status where not is_known`,
  )

  const seen = [{ watch_status: 'unknown' }]
  expect([reader.rows, first.rows, second.rows]).toEqual([seen, [], seen])
})

test("a condition in a tenant's query is never evaluated on rows of others", async () => {
  const { pool } = fixture.database
  await pool.query(
    `create function public.notice(text) returns boolean language plpgsql immutable cost 0.0000001
     as $$ begin raise notice '%', $1; return true; end $$`,
  )
  const tenant = await logins.as('tenant0')
  const notices = new Set<string>()
  tenant.on('notice', ({ message }) => notices.add(message ?? ''))

  await tenant.query('select from evaluation_wide where public.notice(rooftop_name)')
  await tenant.query('select from dim_user where public.notice(display_name)')
  await tenant.query('select from fact_stock_unit where public.notice(stock_no)')
  await tenant.query('select from rpt_12_ai_price_accuracy where public.notice(rooftop_name)')

  const { rows } = await pool.query<{ text: string }>(
    `select rooftop_name as text from core.rooftop join core.rooftop_group using (group_id) where group_code <> $1
     union select display_name from core.app_user join core.rooftop_group using (group_id) where group_code <> $1
     except select display_name from core.app_user join core.rooftop_group using (group_id) where group_code = $1`,
    [groups[0]],
  )
  expect(notices.size).toBeGreaterThan(5)
  expect(rows.length).toBeGreaterThan(5)
  expect(rows.filter(({ text }) => notices.has(text))).toEqual([])
})

test('no error reveals a row of another group', async () => {
  const tenant = await logins.as('tenant0')
  const other = await fixture.database.pool.query<{ name: string }>(
    `select rooftop_name as name from core.rooftop join core.rooftop_group using (group_id) where group_code = $1`,
    [groups[1]],
  )
  const name = other.rows[0]!.name.replaceAll("'", "''")

  const asked = await resultOf(
    tenant,
    `select from evaluation_wide where (case when rooftop_name = '${name}' then rooftop_name else '1' end)::int = 1`,
  )

  expect(asked).toMatch(/^\d+ rows$/)
})

test('ops.visible_rooftops reveals nothing about other roles', async () => {
  const { pool } = fixture.database
  const others = [logins.name('tenant1'), logins.name('pair'), 'mart_scoped_owner', 'no such role']
  const tenant = await logins.as('tenant0')
  const refused = await resultOf(tenant, `select ops.visible_rooftops('${others[0]}')`)

  // Even with the right to call the function.
  await pool.query(`grant usage on schema ops to ${logins.name('tenant0')}`)
  const own = await tenant.query(`select ops.visible_rooftops(current_user) as rooftops`)
  const asked = await tenant.query(
    'select ops.visible_rooftops(other) as rooftops from unnest($1::name[]) as other',
    [others],
  )
  await pool.query(`revoke usage on schema ops from ${logins.name('tenant0')}`)

  expect(refused).toBe('permission denied for schema ops')
  expect(own.rows[0].rooftops.length).toBeGreaterThan(0)
  expect(asked.rows).toEqual(others.map(() => ({ rooftops: [] })))
})

test('only bi_pii_reader sees customers, without those who were erased', async () => {
  const { pool } = fixture.database
  const { rows } = await pool.query<{ rooftop_id: number; eval_id: number }>(
    `select rooftop_id, eval_id from pii.evaluation_customer where customer_name is not null order by 1, 2 limit 1`,
  )
  const people = await logins.as('people')
  const query = 'select count(*)::int as people, count(email)::int as emails from customer'
  const before = (await people.query(query)).rows[0]

  await pool.query(
    'update pii.evaluation_customer set erased_at = now() where rooftop_id = $1 and eval_id = $2',
    [rows[0]!.rooftop_id, rows[0]!.eval_id],
  )
  const after = (await people.query(query)).rows[0]
  await pool.query(
    'update pii.evaluation_customer set erased_at = null where erased_at is not null',
  )

  expect(before.emails).toBeGreaterThan(50)
  expect(after.people).toBe(before.people - 1)
  expect((await people.query('select from mart.evaluation_wide')).rowCount).toBeGreaterThan(50)
  for (const other of ['reader', 'tenant0'])
    expect(await resultOf(await logins.as(other), 'select from mart_pii.customer')).toBe(
      'permission denied for schema mart_pii',
    )
})

async function groupsOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ code: string }>(
    `select group_code as code from core.rooftop_group join core.evaluation using (group_id)
     group by 1 order by count(*) desc, 1`,
  )
  return rows.map(({ code }) => code)
}

async function viewsOf(pool: pg.Pool, schema: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind = 'v' order by 1`,
    [schema],
  )
  return rows.map(({ name }) => name)
}

/** All rows as sorted texts; in one transaction, because some contain the time until now. */
async function rowsAs(client: pg.PoolClient, role: string, view: string): Promise<string[]> {
  await client.query(`set local role ${role}`)
  const { rows } = await client.query<{ row: string }>(
    `select row_to_json(v)::text as row from ${view} as v`,
  )
  await client.query('reset role')
  return rows.map(({ row }) => row).sort()
}

/** Cases that sixty days of a sandbox seldom have: a vehicle that came back, an edit, and a watch that runs today. */
async function fillReports(pool: pg.Pool): Promise<void> {
  await pool.query(
    `with numbered as (
       select rooftop_id, eval_id, group_id, row_number() over (partition by group_id order by eval_id) as place
       from core.evaluation where gone_at is null and completed_date_local is not null
     )
     update core.evaluation as e set vin = 'JTMDFREV90D123456' from numbered
     where numbered.rooftop_id = e.rooftop_id and numbered.eval_id = e.eval_id and numbered.place <= 2`,
  )
  await pool.query(
    `insert into core.vehicle_check (rooftop_id, eval_id, check_kind, check_ref, group_id, vin, searched_at, watch_status, watch_ends_at, first_seen_at)
     select distinct on (group_id) rooftop_id, eval_id, 'ppsr', 'watched', group_id, 'JTMDFREV90D123456', now() - interval '2 days', 'watching',
       now() + interval '12 days', now()
     from core.evaluation where vin = 'JTMDFREV90D123456' order by group_id, eval_id`,
  )
  await pool.query(
    `insert into core.watch_status_change (rooftop_id, eval_id, check_kind, check_ref, observed_at, to_status)
     select rooftop_id, eval_id, check_kind, check_ref, first_seen_at, watch_status from core.vehicle_check where check_ref = 'watched'`,
  )
  await pool.query(
    `insert into core.evaluation_version (rooftop_id, eval_id, version_no, valid_from, observed_at, changed_fields, final_price, user_id, content_hash, run_id)
     select rooftop_id, eval_id, version_no + 1, completed_at + interval '1 day', now(), '{final_price}', coalesce(final_price, 0) + 100, user_id, content_hash, run_id
     from core.evaluation where vin = 'JTMDFREV90D123456'`,
  )
  await pool.query(
    `insert into ops.webhook_delivery (event, rooftop_id, eval_id, body_hash, state, source_event_at, source_received_at)
     select distinct on (group_id) 'ON_COMPLETE', rooftop_id, eval_id, sha256(eval_id::text::bytea), 'waiting', completed_at, completed_at + interval '9 seconds'
     from core.evaluation where vin = 'JTMDFREV90D123456' order by group_id, eval_id`,
  )
  // One of the sandbox's groups is Australian, and some reports cover only Australia.
  await pool.query(`update core.rooftop set region = 'AU'`)
  await rebuildSums(pool)
}

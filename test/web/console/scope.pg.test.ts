import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool } from '#src/warehouse/db/connect.ts'
import { inTransaction, type Tx } from '#src/warehouse/db/transaction.ts'
import { findPerson, type Person } from '#src/web/console/access/people.ts'
import { enterScope, NotGranted } from '#src/web/console/access/scope.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { type Logins, openLogins, resultOf } from '../../warehouse/access/logins.ts'
import { type ConsoleFixture, openConsole } from './console-fixture.ts'

// One loaded warehouse for all tests: none changes a row.
let console: ConsoleFixture
let logins: Logins
let loader: pg.Pool

beforeAll(async () => {
  console = await openConsole({ fixture: await reportedFixture(7, 120) })
  const { fixture, config } = console
  logins = await openLogins(fixture.database, config, {
    tenant: { role: 'bi_tenant', groups: [config.rooftops.at(-1)!.group] },
    loader: { role: 'forecourt_writer' },
  })
  await logins.grant()
  loader = await openPool(logins.url('loader'), { applicationName: 'test', max: 2 })
})

afterAll(async () => {
  await loader.end()
  await logins[Symbol.asyncDispose]()
  await console[Symbol.asyncDispose]()
})

const inScope = async <T>(person: Person, work: (tx: Tx) => Promise<T>, pool = loader) =>
  await inTransaction(
    pool,
    async (tx) => {
      await enterScope(tx.db, person)
      return await work(tx)
    },
    'repeatable read, read only',
  )

const stockPerson = (email: string) => findPerson(console.config, email)!

/** Counts by salesperson, who belong to the whole group. */
const ofGroup = 'rpt_14_link_capture_funnel'

async function viewsOf(schema: string): Promise<{ name: string; hasRooftop: boolean }[]> {
  return await console.rows(
    `select relname as name, exists (select from pg_attribute where attrelid = c.oid and attname = 'rooftop_id') as "hasRooftop"
     from pg_class as c where relnamespace = $1::regnamespace and relkind = 'v' order by 1`,
    [schema],
  )
}

async function linesOf(client: pg.ClientBase, source: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(
    `select row_to_json(v)::text as line from ${source} as v`,
  )
  return rows.map(({ line }) => line)
}

test('a person of role stock sees every row of the own rooftop, and none of a sister rooftop or another group', async () => {
  const views = (await viewsOf('mart_scoped')).filter(({ hasRooftop }) => hasRooftop)
  const sam = stockPerson('sam@example.com')
  const [own, ...others] = await console.rows<{ id: number; uid: string; name: string }>(
    `select rooftop_id as id, rooftop_uid as uid, rooftop_name as name from core.rooftop order by rooftop_uid <> $1, 1`,
    [sam.rooftops![0]],
  )
  const counts: Record<string, [number, number]> = {}

  for (const { name } of views) {
    const lines = await inScope(sam, ({ client }) => linesOf(client, `mart_scoped.${name}`))
    const [all] = await console.rows<{ rows: number }>(
      `select count(*)::int as rows from mart.${name} where rooftop_id = $1`,
      [own!.id],
    )
    if (name !== ofGroup) counts[name] = [lines.length, all!.rows]
    for (const line of lines) {
      expect(JSON.parse(line).rooftop_id, name).toBe(own!.id)
      for (const other of others) expect(line).not.toContain(other.name)
    }
  }

  expect(views.length).toBeGreaterThan(20)
  for (const [name, [seen, all]] of Object.entries(counts))
    expect({ name, seen }).toEqual({ name, seen: all })
  expect(Object.values(counts).filter(([seen]) => seen > 0).length).toBeGreaterThan(20)
})

test('what belongs to the group is not seen by a person of one of its rooftops, and is by a person of all', async () => {
  const count = async (person: Person, view: string) =>
    (await inScope(person, ({ client }) => linesOf(client, `mart_scoped.${view}`))).length
  const [sam, gus] = [stockPerson('sam@example.com'), stockPerson('gus@example.com')]
  const [row] = await console.rows<{ people: number }>(
    `select count(*)::int as people from core.app_user join core.rooftop_group using (group_id) where group_code = $1`,
    [console.config.rooftops.at(-1)!.group],
  )

  const seen = {
    sam: [
      await count(sam, 'dim_rooftop'),
      await count(sam, 'dim_user'),
      await count(sam, 'rpt_13_repeat_appraisals'),
    ],
    gus: [await count(gus, 'dim_rooftop'), await count(gus, 'dim_user')],
  }

  expect(row!.people).toBeGreaterThan(0)
  expect(seen).toEqual({ sam: [1, 0, 0], gus: [2, row!.people] })
})

test('a person whose rooftops the warehouse does not have sees nothing', async () => {
  const person: Person = { email: 'new@example.com', role: 'stock', rooftops: ['not synced yet'] }

  expect(await inScope(person, ({ client }) => linesOf(client, 'mart_scoped.dim_rooftop'))).toEqual(
    [],
  )
})

test('in the scope of a person the tables of stock lists have the rows of the own rooftops alone', async () => {
  const sam = stockPerson('sam@example.com')
  const readable = await inScope(sam, async ({ client }) => {
    const { rows } = await client.query<{ name: string }>(
      `select format('%s.%s', n.nspname, relname) as name from pg_class as c join pg_namespace as n on n.oid = relnamespace
       where n.nspname in ('core', 'ops', 'pii', 'raw') and has_table_privilege(c.oid, 'select') order by 1`,
    )
    return rows.map(({ name }) => name)
  })
  const [own] = await console.rows<{ id: number }>(
    'select rooftop_id as id from core.rooftop where rooftop_uid = $1',
    [sam.rooftops![0]],
  )
  const ofOwn: Record<string, string> = {
    'core.stock_import_row':
      'import_id in (select import_id from core.stock_import where rooftop_id = $1)',
    'ops.price_batch_unit':
      'batch_no in (select batch_no from ops.price_batch where rooftop_id = $1)',
    'core.vehicle_decode': 'vin in (select vin from core.stock_unit where rooftop_id = $1)',
  }
  const found: Record<string, number>[] = []
  for (const name of readable) {
    const [counts] = await console.rows<{ own: number; all: number }>(
      `select count(*) filter (where ${ofOwn[name] ?? 'rooftop_id = $1'})::int as own, count(*)::int as all from ${name}`,
      [own!.id],
    )
    const lines = await inScope(sam, ({ client }) => linesOf(client, name))
    expect({ name, seen: lines.length }).toEqual({ name, seen: counts!.own })
    found.push(counts!)
  }

  expect(readable).toEqual([
    ...['core.stock_evaluation', 'core.stock_import', 'core.stock_import_row'],
    ...['core.stock_market_price', 'core.stock_price_observation', 'core.stock_unit'],
    ...['core.stock_unit_change'],
    ...['core.vehicle_decode', 'ops.data_quality', 'ops.price_batch', 'ops.price_batch_unit'],
    ...['ops.stock_mapping', 'ops.stock_upload'],
  ])
  // Otherwise the test would prove nothing.
  expect(found.filter(({ own, all }) => own! > 0 && all! > own!).length).toBeGreaterThanOrEqual(8)
})

test('in the scope of a person nothing but that and the marts can be read', async () => {
  const sam = stockPerson('sam@example.com')
  const attempt = async (statement: string) =>
    await inScope(sam, ({ client }) => client.query(statement)).then(
      () => 'done',
      (error: Error) => error.message,
    )

  expect(await attempt('select from mart.fact_stock_unit')).toBe(
    'permission denied for schema mart',
  )
  expect(await attempt('select from core.evaluation')).toBe(
    'permission denied for table evaluation',
  )
  expect(await attempt('select from pii.evaluation_customer')).toBe(
    'permission denied for schema pii',
  )
  expect(await attempt('select from ops.console_session')).toBe(
    'permission denied for table console_session',
  )
})

test('the scope ends with the transaction', async () => {
  const pool = await openPool(logins.url('loader'), { applicationName: 'test', max: 1 })
  await inScope(stockPerson('sam@example.com'), async () => undefined, pool)

  const { rows } = await pool.query(
    `select current_user::text as who, current_setting('forecourt.rooftops', true) as rooftops`,
  )
  await pool.end()

  expect(rows).toEqual([{ who: logins.name('loader'), rooftops: '' }])
})

test('no login of BI sees more by the setting, and none can become the role of the console', async () => {
  const tenant = await logins.as('tenant')
  const before = await linesOf(tenant, 'mart_scoped.dim_rooftop')
  await tenant.query(`select set_config('forecourt.rooftops', '1,2,3,4,5,6', false)`)

  const after = await linesOf(tenant, 'mart_scoped.dim_rooftop')
  await console.rows(`grant usage on schema ops to ${logins.name('tenant')}`)
  const asked = await tenant.query(`select ops.visible_rooftops('forecourt_console') as rooftops`)
  const direct = await resultOf(tenant, `select ops.console_rooftops('forecourt_console')`)
  await console.rows(`revoke usage on schema ops from ${logins.name('tenant')}`)

  expect(before.length).toBe(2)
  expect(after).toEqual(before)
  expect(asked.rows).toEqual([{ rooftops: [] }])
  expect(direct).toBe('permission denied for function console_rooftops')
  expect(await resultOf(tenant, 'set role forecourt_console')).toBe(
    'permission denied to set role "forecourt_console"',
  )
})

test('a loader has the rights of the console only once it becomes that role', async () => {
  const writer = await logins.as('loader')

  expect(await resultOf(writer, 'select from mart_scoped.dim_rooftop')).toBe(
    'permission denied for schema mart_scoped',
  )
})

test('where no grant was run, a stock person is refused', async () => {
  await console.rows('revoke usage on schema mart_scoped from bi_tenant')
  const refused = inScope(stockPerson('sam@example.com'), async () => undefined)
  await expect(refused).rejects.toBeInstanceOf(NotGranted)
  await logins.grant()
})

import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { allStreams } from '#src/streams/all.ts'
import { registerRooftops } from '#src/sync/run/rooftops.ts'
import { readMarts } from '#src/warehouse/db/mart-files.ts'
import { type Fixture, runNight } from '../../support/fixture.ts'
import { readCatalogue } from '../../support/marts-catalogue.ts'
import { contractFile } from '../../support/marts-contract.ts'
import { dbtFiles } from '../../support/marts-dbt.ts'
import { reportedFixture } from '../../support/reports-fixture.ts'
import { openLogins } from '../access/logins.ts'

// The fields that the documentation of dbt names for a source (1.10.5), as far as these files use them.
const joins = z.strictObject({ to: z.string(), field: z.string() })
const dataTest = z.union([
  z.enum(['unique', 'not_null']),
  z.strictObject({
    relationships: z.strictObject({
      arguments: joins,
      config: z.strictObject({ severity: z.enum(['warn', 'error']) }),
    }),
  }),
  z.strictObject({
    unique_together: z.strictObject({
      arguments: z.strictObject({ columns: z.array(z.string()).min(2) }),
    }),
  }),
])
const age = z.strictObject({ count: z.int().positive(), period: z.enum(['minute', 'hour', 'day']) })
const meta = z.record(z.string(), z.string())
const column = z.strictObject({
  name: z.string(),
  description: z.string().min(1),
  data_type: z.string(),
  config: z.strictObject({ meta }),
  data_tests: z.array(dataTest).optional(),
})
const table = z.strictObject({
  name: z.string(),
  description: z.string().min(1),
  config: z.strictObject({
    freshness: z.strictObject({ warn_after: age, error_after: age }).optional(),
    loaded_at_query: z.string().optional(),
    meta,
  }),
  data_tests: z.array(dataTest).optional(),
  columns: z.array(column).min(1),
})
const sourceFile = z.strictObject({
  sources: z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      schema: z.string(),
      config: z.strictObject({ enabled: z.string() }).optional(),
      tables: z.array(table).min(1),
    }),
  ),
})
type Table = z.infer<typeof table>

let fixture: Fixture

beforeAll(async () => {
  fixture = await reportedFixture(7, 120)
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const fileText = (path: string) =>
  readFile(new URL(`../../../sql/bi/dbt/${path}`, import.meta.url), 'utf8').catch(() => '')

/** A tag of Jinja that reads a variable gives its default. */
const withDefaults = (text: string) => text.replaceAll(/\{\{ var\('\w+', '?(\w+)'?\) \}\}/g, '$1')

async function tablesOf(schema: string): Promise<readonly Table[]> {
  const { sources } = sourceFile.parse(parse(await fileText(`models/${schema}.yml`)))
  expect(sources.map((source) => withDefaults(source.schema))).toEqual([schema])
  return sources[0]!.tables
}

test('sql/bi/contract says what the comments of the views say (else: npm run marts)', async () => {
  const { version } = await readMarts()
  const views = await readCatalogue(fixture.database.pool, ['mart'])
  const file = new URL('../../../sql/bi/contract/forecourt.odcs.yaml', import.meta.url)

  expect(contractFile(version, views)).toBe(await readFile(file, 'utf8'))
})

test('sql/bi/dbt says what the comments of the views say (else: npm run marts)', async () => {
  const { version } = await readMarts()
  const views = await readCatalogue(fixture.database.pool, ['mart', 'mart_pii'])

  for (const [file, text] of dbtFiles(version, views))
    expect(text, `sql/bi/dbt/${file} is stale: run \`npm run marts\``).toBe(await fileText(file))
})

/** The statement of a test as dbt documents it: its rows are the failures. */
async function statementOf(view: string, columnName: string, one: z.infer<typeof dataTest>) {
  if (one === 'unique')
    return `select ${columnName} from ${view} where ${columnName} is not null group by 1 having count(*) > 1`
  if (one === 'not_null') return `select ${columnName} from ${view} where ${columnName} is null`
  if ('unique_together' in one) {
    const [, body] = /%\}([\s\S]*)\{% endtest/.exec(await fileText('macros/unique_together.sql'))!
    return body!
      .replaceAll("{{ columns | join(', ') }}", one.unique_together.arguments.columns.join(', '))
      .replaceAll('{{ model }}', view)
  }
  const { to, field } = one.relationships.arguments
  const [, parent] = /^source\('forecourt', '(\w+)'\)$/.exec(to)!
  return `select child.${columnName} from ${view} as child left join mart.${parent} as parent on child.${columnName} = parent.${field}
    where child.${columnName} is not null and parent.${field} is null`
}

/** Every test of the package: its severity, its statement, and what it is about. */
async function packageTests() {
  const tables = await Promise.all(
    ['mart', 'mart_pii'].map(async (schema) =>
      (await tablesOf(schema)).map((one) => ({ ...one, view: `${schema}.${one.name}` })),
    ),
  )
  return await Promise.all(
    tables.flat().flatMap(({ view, data_tests = [], columns }) =>
      [{ name: '', data_tests }, ...columns].flatMap(({ name, data_tests: tests = [] }) =>
        tests.map(async (one) => ({
          about: `${view} ${name} ${JSON.stringify(one)}`,
          severity:
            typeof one === 'object' && 'relationships' in one
              ? one.relationships.config.severity
              : 'error',
          statement: await statementOf(view, name, one),
        })),
      ),
    ),
  )
}

/** Those of the package's tests that fail. */
async function failedTests(client: pg.Pool | pg.ClientBase, chosen = /./) {
  const failed = []
  for (const { about, severity, statement } of await packageTests()) {
    if (!chosen.test(about)) continue
    const { rowCount } = await client.query(statement)
    if (rowCount !== 0) failed.push({ about, severity, rowCount })
  }
  return failed
}

test('every test of the package holds for a loaded warehouse', async () => {
  const { pool } = fixture.database
  const views = ['mart', 'mart_pii'].map(async (schema) =>
    (await tablesOf(schema)).map(({ name }) => `select count(*)::int as n from ${schema}.${name}`),
  )
  const { rows } = await pool.query<{ rows: number }>(
    `select sum(n)::int as rows from (${(await Promise.all(views)).flat().join(' union all ')}) as counted`,
  )

  expect(await failedTests(pool)).toEqual([])
  expect((await packageTests()).length).toBeGreaterThan(150)
  expect(rows[0]!.rows).toBeGreaterThan(20_000)
})

test('a check or a price whose evaluation is not loaded yet is a warning, and a lost salesperson an error', {
  tags: 'ci',
}, async () => {
  const client = await fixture.database.pool.connect()
  try {
    await client.query('begin')
    await client.query(
      `insert into core.vehicle_check select (jsonb_populate_record(one, jsonb_build_object(
         'eval_id', 999999999, 'check_ref', 'late', 'watch_status', 'watching', 'watch_ends_at', now() + interval '1 day'))).*
       from core.vehicle_check as one where check_kind = 'ppsr' limit 1`,
    )
    await client.query(
      `insert into core.watch_status_change (rooftop_id, eval_id, check_kind, check_ref, observed_at, to_status)
       select rooftop_id, eval_id, check_kind, check_ref, now(), watch_status from core.vehicle_check where check_ref = 'late'`,
    )
    await client.query(
      `insert into core.price_observation select (jsonb_populate_record(one, '{"eval_id": 999999999}')).*
       from core.price_observation as one where is_current limit 1`,
    )
    await client.query(
      'update core.evaluation set user_id = 999999999 where eval_id = (select min(eval_id) from core.evaluation)',
    )

    const failed = await failedTests(client, /'(fact_evaluation|dim_user)'/)

    const views = (severity: string) =>
      failed
        .filter((one) => one.severity === severity)
        .map(({ about }) => about.split(' ')[0])
        .toSorted()
    expect(views('warn')).toEqual([
      'mart.fact_price_confirmation',
      'mart.fact_price_observation',
      'mart.fact_vehicle_check',
      'mart.fact_watch_status_change',
      'mart.watch_expiry',
    ])
    expect(views('error')).toContain('mart.fact_evaluation')
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('a duplicate of a key of two columns fails its test', async () => {
  const twice = '(select 1 as a, 2 as b union all select 1, 2 union all select 1, 3) as t'
  const one = { unique_together: { arguments: { columns: ['a', 'b'] } } }

  const { rows } = await fixture.database.pool.query(await statementOf(twice, '', one))

  expect(rows).toEqual([{ a: 1, b: 2, row_count: 2 }])
})

test('the login of the README writes models, tables of a run and temporary tables; one of bi_reader cannot', async () => {
  const { database, config } = fixture
  await using logins = await openLogins(database, config, { reader: { role: 'bi_reader' } })
  const role = logins.name('dbt')
  const name = new URL(database.url).pathname.slice(1)
  const [, block] = /```sql\n([^`]+)```/.exec(await fileText('README.md'))!
  const statements = block!
    .replaceAll('dbt_runner', role)
    .replaceAll('analytics', role)
    .replaceAll('database forecourt', `database ${name}`)
  const models = [
    `create view ${role}.volume as select rooftop_id, count(*) as n from mart.fact_evaluation group by 1`,
    `create table ${role}.stored as select * from ${role}.volume`,
    'create temporary table of_a_run as select * from mart.dim_rooftop',
  ]
  await logins.grant()
  await database.pool.query(statements.replace('choose one', 'of the test'))
  try {
    await logins.grant()
    const address = new URL(logins.url('dbt'))
    address.password = 'of the test'
    await using stack = new AsyncDisposableStack()
    const client = new pg.Client({ connectionString: address.href })
    await client.connect()
    stack.defer(async () => await client.end())
    for (const model of models) await client.query(model)
    const { rows } = await client.query(`select sum(n)::int as n from ${role}.stored`)
    const reader = await logins.as('reader')
    const refused = reader.query(models[0]!.replaceAll(`${role}.`, 'public.'))

    expect(rows[0].n).toBeGreaterThan(80)
    await expect(refused).rejects.toThrow('cannot execute CREATE VIEW in a read-only transaction')
  } finally {
    await database.pool.query(`drop owned by ${role} cascade; drop role ${role}`)
  }
})

/** How old each source with a freshness is. */
async function sourceAges() {
  const fresh = (await tablesOf('mart')).filter(({ config }) => config.loaded_at_query)
  return await Promise.all(
    fresh.map(async ({ name, config }) => {
      // dbt wraps the query so.
      const statement = `with source_query as (${withDefaults(config.loaded_at_query!)}) select (select * from source_query) as at`
      const { rows } = await fixture.database.pool.query<{ at: Date }>(statement)
      return { name, ageHours: (Date.now() - rows[0]!.at.getTime()) / 3_600_000 }
    }),
  )
}

test('what is loaded is as old as the oldest good run of a rooftop that is in the config', {
  tags: 'ci',
}, async () => {
  const { context, database } = fixture
  const [retired, ...others] = context.config.rooftops
  const runsOf = async (uid: string, status: string) =>
    await database.pool.query(
      `update ops.run_stream set status = $2, finished_at = now() - interval '40 days'
       where rooftop_id = (select rooftop_id from core.rooftop where rooftop_uid = $1)`,
      [uid, status],
    )

  expect((await sourceAges()).map(({ name }) => name)).toEqual(
    expect.arrayContaining(['dim_user', 'fact_evaluation', 'fact_price_observation']),
  )
  expect((await sourceAges()).filter(({ ageHours }) => ageHours > 1)).toEqual([])

  await runsOf(retired!.uid, 'ok')
  expect((await sourceAges()).filter(({ ageHours }) => ageHours < 900)).toEqual([])

  await runNight({ ...context, config: { ...context.config, rooftops: others } }, allStreams)
  expect((await sourceAges()).filter(({ ageHours }) => ageHours > 1)).toEqual([])

  // It is in the config again, and has not loaded since.
  await registerRooftops(context.db, context.config.rooftops)
  expect((await sourceAges()).filter(({ ageHours }) => ageHours < 900)).toEqual([])

  await runsOf(others[0]!.uid, 'failed')
  expect((await sourceAges()).filter(({ ageHours }) => ageHours < 100_000)).toEqual([])
})

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readMarts } from '#src/db/mart-files.ts'
import type { Fixture } from '../support/fixture.ts'
import { readCatalogue } from '../support/marts-catalogue.ts'
import { dbtFiles } from '../support/marts-dbt.ts'
import { reportedFixture } from '../support/reports-fixture.ts'

// The fields that the documentation of dbt names for a source (1.10.5), as far as these files use them.
const joins = z.strictObject({ to: z.string(), field: z.string() })
const dataTest = z.union([
  z.enum(['unique', 'not_null']),
  z.strictObject({ relationships: z.strictObject({ arguments: joins }) }),
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
  fixture = await reportedFixture()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const fileText = (path: string) =>
  readFile(new URL(`../../sql/bi/dbt/${path}`, import.meta.url), 'utf8').catch(() => '')

/** A tag of Jinja that reads a variable gives its default. */
const withDefaults = (text: string) => text.replaceAll(/\{\{ var\('\w+', '?(\w+)'?\) \}\}/g, '$1')

async function tablesOf(schema: string): Promise<readonly Table[]> {
  const { sources } = sourceFile.parse(parse(await fileText(`models/${schema}.yml`)))
  expect(sources.map((source) => withDefaults(source.schema))).toEqual([schema])
  return sources[0]!.tables
}

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

test('every test of the package holds for a loaded warehouse', async () => {
  const counts = { tests: 0, rows: 0 }
  const failures: string[] = []
  for (const schema of ['mart', 'mart_pii'])
    for (const { name, data_tests = [], columns } of await tablesOf(schema)) {
      const view = `${schema}.${name}`
      const { rows } = await fixture.database.pool.query(`select count(*)::int as n from ${view}`)
      counts.rows += rows[0].n
      const ofColumns = columns.flatMap((own) =>
        (own.data_tests ?? []).map((one) => [own.name, one] as const),
      )
      for (const [columnName, one] of [
        ...data_tests.map((one) => ['', one] as const),
        ...ofColumns,
      ]) {
        const statement = await statementOf(view, columnName, one)
        const failed = await fixture.database.pool.query(statement)
        counts.tests += 1
        if (failed.rowCount !== 0)
          failures.push(`${view} ${columnName} ${JSON.stringify(one)}: ${failed.rowCount} rows`)
      }
    }

  expect(failures).toEqual([])
  expect(counts.tests).toBeGreaterThan(150)
  expect(counts.rows).toBeGreaterThan(20_000)
})

test('a duplicate of a key of two columns fails its test', async () => {
  const twice = '(select 1 as a, 2 as b union all select 1, 2 union all select 1, 3) as t'
  const one = { unique_together: { arguments: { columns: ['a', 'b'] } } }

  const { rows } = await fixture.database.pool.query(await statementOf(twice, '', one))

  expect(rows).toEqual([{ a: 1, b: 2, row_count: 2 }])
})

test('what is loaded is as old as the oldest good run of a rooftop', async () => {
  const { pool } = fixture.database
  const fresh = (await tablesOf('mart')).filter(({ config }) => config.loaded_at_query)
  const asked = async () =>
    await Promise.all(
      fresh.map(async ({ name, config }) => {
        // dbt wraps the query so.
        const statement = `with source_query as (${withDefaults(config.loaded_at_query!)}) select (select * from source_query) as at`
        const { rows } = await pool.query<{ at: Date }>(statement)
        return { name, ageHours: (Date.now() - rows[0]!.at.getTime()) / 3_600_000 }
      }),
    )

  expect(fresh.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['dim_user', 'fact_evaluation', 'fact_price_observation']),
  )
  expect((await asked()).filter(({ ageHours }) => ageHours > 1)).toEqual([])

  await pool.query(
    "update ops.run_stream set status = 'failed' where rooftop_id = (select min(rooftop_id) from core.rooftop)",
  )
  expect((await asked()).filter(({ ageHours }) => ageHours < 100_000)).toEqual([])
})

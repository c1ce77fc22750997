import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, expect } from 'vitest'
import { installTools } from './tools.ts'
import { type EcosystemWarehouse, loginVariables, openEcosystemWarehouse } from './warehouse.ts'

const python = await installTools('dataframes')

let warehouse: EcosystemWarehouse

beforeAll(async () => {
  if (python.reason === null) warehouse = await openEcosystemWarehouse()
})
afterAll(async () => {
  await warehouse?.[Symbol.asyncDispose]()
})

interface ViewSummary {
  readonly rows: number
  /** Exact, by numeric column. */
  readonly sums: Readonly<Record<string, string>>
  readonly offsets: readonly string[]
  /** Types of values that are neither number, text, boolean, date nor instant. */
  readonly odd: readonly string[]
}

/** What each library read of a schema, and the SQLSTATE of its attempt to write. */
async function readSchema(login: string, schema: string) {
  const script = fileURLToPath(new URL('dataframes.py', import.meta.url))
  const env = loginVariables(warehouse.logins.url(login))
  const { code, stdout, stderr } = await python.run('python', [script, schema], { env })
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as {
    found: Record<string, Record<string, ViewSummary>>
    write: string | null
  }
}

/** Without the columns that change from one query to the next. */
function atRest(view: ViewSummary | undefined) {
  const { hours_behind: _, average_age_days: __, ...sums } = view?.sums ?? {}
  return { ...view, sums }
}

/** Views that a library read differently. */
function different(
  found: Readonly<Record<string, Record<string, ViewSummary>>>,
  expected: Readonly<Record<string, ViewSummary>>,
) {
  expect(Object.keys(found)).toEqual(['SQLAlchemy', 'pandas', 'Polars', 'Polars with ADBC'])
  return Object.entries(found).flatMap(([library, views]) =>
    [...new Set([...Object.keys(views), ...Object.keys(expected)])]
      .filter((view) => !isDeepStrictEqual(atRest(views[view]), atRest(expected[view])))
      .map((view) => ({ library, view, found: views[view], expected: expected[view] })),
  )
}

/** The same by SQL, as the same login: its session has the same time zone and the same rows. */
async function truth(client: pg.Client, schema: string): Promise<Record<string, ViewSummary>> {
  const { rows: columns } = await client.query<{ view: string; name: string; type: string }>(
    `select c.relname as view, a.attname as name, format_type(a.atttypid, null) as type
     from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = $1::regnamespace and c.relkind = 'v' order by 1, a.attnum`,
    [schema],
  )
  const views: Record<string, ViewSummary> = {}
  for (const [view, list] of Map.groupBy(columns, (column) => column.view)) {
    const namesOf = (type: string) =>
      list.filter((one) => one.type === type).map(({ name }) => name)
    const instants = namesOf('timestamp with time zone')
    const { rows } = await client.query<{
      n: number
      sums: Record<string, string>
      zoned: boolean
    }>(
      `select count(*)::int as n, json_strip_nulls(json_build_object(${namesOf('numeric')
        .map((name) => `'${name}', sum(${name})::text`)
        .join(', ')})) as sums, count(coalesce(${['null', ...instants].join(', ')})) > 0 as zoned
       from ${schema}.${view}`,
    )
    const { n, sums, zoned } = rows[0]!
    views[view] = { rows: n, sums, offsets: zoned ? ['0:00:00'] : [], odd: [] }
  }
  return views
}

python.test(
  'SQLAlchemy, pandas and Polars read every view: rows, exact sums, zones; they may not write',
  async () => {
    const { found, write } = await readSchema('reader', 'mart')
    const expected = await truth(await warehouse.logins.as('reader'), 'mart')

    expect(different(found, expected)).toEqual([])
    expect(Object.keys(expected).length).toBeGreaterThan(30)
    expect(write).toBe('25006')
  },
)

python.test('a tenant reads the rows of its dealer group with each library', async () => {
  const { found } = await readSchema('tenant', 'mart_scoped')
  const expected = await truth(await warehouse.logins.as('tenant'), 'mart_scoped')

  expect(different(found, expected)).toEqual([])
  const { rows } = await warehouse.fixture.database.pool.query<{ all: number; group: number }>(
    'select count(*)::int as all, (count(*) filter (where group_name = $1))::int as group from mart.evaluation_wide',
    [warehouse.group],
  )
  expect(expected['evaluation_wide']!.rows).toBe(rows[0]!.group)
  expect(rows[0]!.group).toBeLessThan(rows[0]!.all)
})

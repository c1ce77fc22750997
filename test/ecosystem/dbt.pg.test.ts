import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { installTools } from './tools.ts'
import { type EcosystemWarehouse, loginVariables, openEcosystemWarehouse } from './warehouse.ts'

const dbt = await installTools('dbt')

let warehouse: EcosystemWarehouse
let folder: TemporaryFolder
/** The README's login, which writes models. Its schema has the same name. */
let runner: string

beforeAll(async () => {
  if (dbt.reason !== null) return
  warehouse = await openEcosystemWarehouse()
  folder = await temporaryFolder()
  await cp(pathOf('dbt'), project(), { recursive: true })
  await cp(pathOf('../../sql/bi/dbt'), join(folder.path, 'forecourt/sql/bi/dbt'), {
    recursive: true,
  })
  const page = await readFile(pathOf('../../sql/bi/dbt/README.md'), 'utf8')
  await writeFile(join(project(), 'packages.yml'), /```\n *(packages:[^`]+)```/.exec(page)![1]!)
  runner = warehouse.logins.name('runner')
  await makeRunner(/```sql\n([^`]+)```/.exec(page)![1]!)
})
afterAll(async () => {
  if (dbt.reason !== null) return
  await warehouse.fixture.database.pool.query(
    `drop owned by ${runner} cascade; drop role ${runner}`,
  )
  await warehouse[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const project = () => join(folder.path, 'project')

async function makeRunner(statements: string): Promise<void> {
  const { database } = warehouse.fixture
  const name = new URL(database.url).pathname.slice(1)
  await database.pool.query(
    statements
      .replaceAll(/dbt_runner|analytics/g, runner)
      .replaceAll('database forecourt', `database ${name}`)
      .replace("'choose one'", `'${warehouse.logins.password('runner').replaceAll("'", "''")}'`),
  )
}

/** A command of dbt as a login: its exit code, and the status of each node of `target/<results>`. */
async function run(login: string, command: string, ...words: string[]) {
  const ended = await dbt.run('dbt', [...command.split(' '), '--no-use-colors', ...words], {
    cwd: project(),
    env: {
      ...loginVariables(warehouse.logins.url(login)),
      ...{ DBT_PROFILES_DIR: project(), DBT_SCHEMA: runner },
    },
  })
  return { ...ended, text: ended.stdout + ended.stderr }
}

interface Result {
  readonly unique_id: string
  readonly status: string
  readonly failures?: number | null
  readonly message?: string | null
}

async function results(file = 'run_results.json'): Promise<Result[]> {
  return JSON.parse(await readFile(join(project(), 'target', file), 'utf8')).results
}

const others = (found: readonly Result[], ...fine: string[]) =>
  found
    .filter(({ status }) => !fine.includes(status))
    .map(({ unique_id, status, message }) => `${unique_id}: ${status} ${message ?? ''}`)

dbt.test('dbt finds the package and the warehouse', async () => {
  const deps = await run('reader', 'deps')
  const debug = await run('reader', 'debug')

  expect(deps.text).not.toMatch(/warn|deprecat/i)
  expect(deps.code, deps.text).toBe(0)
  expect(debug.code, debug.text).toBe(0)
})

dbt.test(
  'a project with a model on top of the package builds, and all its tests pass',
  async () => {
    const built = await run('runner', 'build')

    expect(built.text).not.toMatch(/deprecat/i)
    const found = await results()
    expect(others(found, 'pass', 'success')).toEqual([])
    expect(built.code, built.text).toBe(0)
    expect(found.length).toBeGreaterThan(150)
    const { rows } = await warehouse.fixture.database.pool.query(
      `select sum(appraisals)::int as model, (select count(*)::int from mart.fact_evaluation where not is_gone) as mart
     from ${runner}.monthly_appraisals`,
    )
    expect(rows[0].model).toBe(rows[0].mart)
  },
)

dbt.test(
  'a login that only reads runs the tests; so do a tenant and a reader of customers',
  async () => {
    for (const [login, variables] of [
      ['reader', {}],
      ['tenant', { forecourt_schema: 'mart_scoped' }],
      ['customers', { forecourt_pii: true }],
    ] as const) {
      const tested = await run(
        login,
        'test',
        '--select',
        'source:forecourt',
        'source:forecourt_pii',
        '--vars',
        JSON.stringify(variables),
      )

      expect(others(await results(), 'pass'), login).toEqual([])
      expect(tested.code, tested.text).toBe(0)
      const customers = (await results()).filter(({ unique_id }) => /forecourt_pii/.test(unique_id))
      expect(customers.length > 0, login).toBe(login === 'customers')
    }
  },
)

dbt.test('a lost salesperson fails its test, by name, with exit code 1', async () => {
  const { pool } = warehouse.fixture.database
  const { rows } = await pool.query(
    'select rooftop_id, eval_id, user_id from core.evaluation where user_id is not null order by 1, 2 limit 1',
  )
  const { rooftop_id, eval_id, user_id } = rows[0]
  const setUser = async (id: unknown) =>
    await pool.query(
      'update core.evaluation set user_id = $3 where rooftop_id = $1 and eval_id = $2',
      [...[rooftop_id, eval_id, id]],
    )
  await setUser(999_999_999)
  try {
    const tested = await run('reader', 'test', '--select', 'source:forecourt.fact_evaluation')

    expect(tested.code).toBe(1)
    const failed = (await results()).filter(({ status }) => status !== 'pass')
    expect(failed).toMatchObject([{ status: 'fail', failures: 1 }])
    expect(failed[0]!.unique_id).toMatch(/relationships_forecourt_fact_evaluation_user_id__/)
  } finally {
    await setUser(user_id)
  }
})

dbt.test('sources are fresh after a night, and stale after days without one', async () => {
  const fresh = await run('reader', 'source freshness')

  expect(fresh.code, fresh.text).toBe(0)
  expect(others(await results('sources.json'), 'pass')).toEqual([])

  await warehouse.fixture.database.pool.query(
    `update ops.run_stream set finished_at = now() - interval '4 days' where stream = 'evaluations'`,
  )
  const stale = await run('reader', 'source freshness')

  expect(stale.code, stale.text).toBe(1)
  const statuses = (await results('sources.json')).map(
    ({ unique_id, status }) => `${unique_id.split('.').at(-1)} ${status}`,
  )
  expect(statuses).toContain('fact_evaluation error')
  expect(statuses).toContain('dim_user pass')
})

dbt.test(
  'the documentation of the project has every view and column with its description',
  async () => {
    const docs = await run('reader', 'docs generate')

    expect(docs.code, docs.text).toBe(0)
    const catalog = JSON.parse(await readFile(join(project(), 'target/catalog.json'), 'utf8'))
    const manifest = JSON.parse(await readFile(join(project(), 'target/manifest.json'), 'utf8'))
    const { rows } = await warehouse.fixture.database.pool.query<{
      name: string
      columns: string[]
    }>(
      `select table_name::text as name, array_agg(column_name::text order by column_name::text collate "C") as columns
     from information_schema.columns where table_schema = 'mart' group by 1`,
    )
    for (const { name, columns } of rows) {
      const id = `source.forecourt.forecourt.${name}`
      expect(Object.keys(catalog.sources[id].columns).toSorted(), name).toEqual(columns)
      expect(Object.keys(manifest.sources[id].columns).toSorted(), name).toEqual(columns)
    }
    expect(rows.length).toBeGreaterThan(30)
  },
)

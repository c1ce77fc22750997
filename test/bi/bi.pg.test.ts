import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { runInProcess } from '../support/cli.ts'
import type { Fixture } from '../support/fixture.ts'
import { reportedFixture } from '../support/reports-fixture.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import {
  calc,
  type DriverColumn,
  jdbc,
  type Login,
  loginOf,
  odbc,
  type Questions,
  type Session,
} from './clients.ts'
import { testWith } from './test-with.ts'

let fixture: Fixture
let folder: TemporaryFolder
const password = 'a password of the test'
const suffix = String(process.pid)
const [reader, tenant] = [`bi_tool_${suffix}`, `bi_tenant_${suffix}`]

beforeAll(async () => {
  fixture = await reportedFixture()
  folder = await temporaryFolder()
  const file = join(folder.path, 'forecourt.yaml')
  const logins = [
    { name: reader, role: 'bi_reader', password },
    { name: tenant, role: 'bi_tenant', password, groups: [await oneGroup()] },
  ]
  const config = {
    ...fixture.sandbox.clientConfig(),
    warehouse: { url: fixture.database.url },
    access: { logins },
  }
  await writeFile(file, JSON.stringify(config))
  const granted = await runInProcess(['grant', '--config', file], { cwd: folder.path })
  expect(granted.stderr + granted.stdout, 'forecourt grant').toContain(reader)
  expect(granted.code).toBe(0)
})

afterAll(async () => {
  const { pool } = fixture.database
  for (const name of [reader, tenant]) {
    await pool.query(`drop owned by ${name}`)
    await pool.query(`drop role ${name}`)
  }
  await fixture[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

async function oneGroup(): Promise<string> {
  const { rows } = await fixture.database.pool.query<{ code: string }>(
    'select group_code as code from core.rooftop_group order by group_id limit 1',
  )
  return rows[0]!.code
}

const as = (user: string): Login => loginOf(fixture.database.url, user, password)

const writes = (schema: string) => [
  `create table ${schema}.mine (a int)`,
  `drop view ${schema}.evaluation_wide`,
  'update core.evaluation set final_price = 0',
  'delete from ops.run',
  'create temporary table mine (a int)',
]

const questions = (schema: string): Questions => ({
  schema,
  question: `select count(*), min(group_name), max(group_name) from ${schema}.evaluation_wide`,
  write: writes(schema),
})

async function columnsOf(schema: string): Promise<Map<string, string[]>> {
  const { rows } = await fixture.database.pool.query<{ view: string; column: string }>(
    `select c.relname as view, a.attname as column from pg_class as c
     join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = $1::regnamespace and c.relkind = 'v' order by c.relname, a.attnum`,
    [schema],
  )
  const views = Map.groupBy(rows, (row) => row.view)
  return new Map([...views].map(([view, list]) => [view, list.map((row) => row.column)]))
}

async function expectWhole(session: Session, schema: string): Promise<void> {
  const wanted = await columnsOf(schema)
  const shown = Object.entries(session.views)
  expect(wanted.size).toBeGreaterThan(30)
  expect(shown.map(([view]) => view).sort()).toEqual([...wanted.keys()].sort())
  for (const [view, { columns, prepared }] of shown) {
    expect(columns.map(({ name }) => name)).toEqual(wanted.get(view))
    expect(prepared).toBe(wanted.get(view)!.length)
  }
}

async function answerOf(schema: string, groups: string): Promise<string[]> {
  const { rows } = await fixture.database.pool.query<{ n: string; least: string; most: string }>(
    `select count(*) as n, min(group_name) as least, max(group_name) as most from ${schema}.evaluation_wide ${groups}`,
  )
  return [String(rows[0]!.n), rows[0]!.least, rows[0]!.most]
}

const refused = (session: Session) => session.write.filter((state) => state === null)
const clients = { ODBC: odbc, JDBC: jdbc }

for (const tool of ['ODBC', 'JDBC'] as const) {
  testWith(
    tool,
    `${tool} shows the whole of mart to a reader, with types that can be grouped and summed, and lets nothing be written`,
    async () => {
      const session = await clients[tool](as(reader), questions('mart'))

      await expectWhole(session, 'mart')
      const odd = Object.entries(session.views).flatMap(([view, { columns }]) =>
        columns
          .filter((column) => isOdd(column) || column.isCommented === false)
          .map((column) => ({ view, ...column })),
      )
      expect(odd).toEqual([])
      expect(session.answer).toEqual(await answerOf('mart', ''))
      expect(refused(session)).toEqual([])
      expect(session.write).toHaveLength(5)
    },
  )

  testWith(tool, `${tool} shows a tenant its own dealer group, and nothing of mart`, async () => {
    const group = await oneGroup()
    const session = await clients[tool](as(tenant), questions('mart_scoped'))

    await expectWhole(session, 'mart_scoped')
    expect(session.answer).toEqual(await answerOf('mart', `where group_name = '${group}'`))
    expect(session.answer).not.toEqual(await answerOf('mart', ''))
    expect(refused(session)).toEqual([])
    await expect(
      clients[tool](as(tenant), {
        ...questions('mart_scoped'),
        question: 'select count(*) from mart.dim_user',
      }),
    ).rejects.toThrow(/permission denied/)
  })
}

/** Long text cannot be grouped in some tools, a number without a scale is shown with a wrong one. */
function isOdd({ type, size, digits }: DriverColumn): boolean {
  if (type === 'text' || type === 'unknown' || type.startsWith('_')) return true
  if (type === 'varchar' || type === 'bpchar') return size < 1 || size > 255
  return type === 'numeric' && (size < 1 || size > 28 || digits === null || digits > 6)
}

testWith(
  'LibreOffice',
  'LibreOffice fills a sheet whose formula adds up to what SQL says, and may not write',
  async () => {
    const csv = join(folder.path, 'volume.csv')
    const query =
      'select rooftop_name, completed_date, appraisals from mart.rpt_10_appraisal_volume'
    const { rows: expected } = await fixture.database.pool.query<{ rows: number; total: number }>(
      'select count(*)::int as rows, sum(appraisals)::int as total from mart.rpt_10_appraisal_volume',
    )

    const sheet = await calc(as(reader), {
      ...{ query, sum: 'C', csv },
      write: 'delete from core.evaluation',
    })

    expect(sheet).toMatchObject(expected[0]!)
    expect(sheet.refused).toMatch(/permission denied|read-only/)
    const lines = (await readFile(csv, 'utf8')).trim().split('\n')
    expect(lines[0]).toBe('rooftop_name,completed_date,appraisals')
    expect(lines).toHaveLength(expected[0]!.rows + 2)
    expect(lines.at(-1)).toBe(`${expected[0]!.total},,`)
  },
)

testWith('LibreOffice', 'LibreOffice shows a tenant only its own rows', async () => {
  const csv = join(folder.path, 'tenant.csv')
  const [count] = await answerOf('mart', `where group_name = '${await oneGroup()}'`)
  const query = 'select group_name, evaluation_key, 1 as one from mart_scoped.evaluation_wide'

  const sheet = await calc(as(tenant), {
    query,
    sum: 'C',
    csv,
    write: 'delete from core.evaluation',
  })

  expect(sheet.total).toBe(Number(count))
  const groups = (await readFile(csv, 'utf8')).trim().split('\n').slice(1, -1)
  expect(new Set(groups.map((line) => line.split(',')[0]))).toEqual(new Set([await oneGroup()]))
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { allOperations } from '#src/api/contract/operations.ts'
import { ReadOnlySession, verbTools } from '#src/app/commands/mcp-verbs.ts'
import { Session } from '#src/app/commands/session.ts'
import { defaultWire } from '#src/values/wire.ts'
import { CapturedOutput, runInProcess } from '../../support/cli.ts'
import { readContent } from '../../support/warehouse-content.ts'
import { call, canaries, openMcpFixture } from '../mcp/fixture.ts'

let fixture: Awaited<ReturnType<typeof openMcpFixture>>
let file: string
beforeAll(async () => {
  fixture = await openMcpFixture()
  file = await fixture.writeConfig('reader')
}, 60_000)
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

function operatorIo() {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()]
  const environment = { variables: {}, cwd: fixture.folder }
  return { environment, signal: new AbortController().signal, stdout, stderr }
}

/** A client of a server that was started with --operator. */
async function connect(config = file) {
  return await fixture.connect('reader', {}, verbTools(new Session(operatorIo(), { config })))
}

async function documentOf(...args: readonly string[]) {
  const { stdout } = await runInProcess(['--config', file, ...args, '--json'], {
    cwd: fixture.folder,
  })
  return JSON.parse(stdout)
}

const calls: readonly (readonly [string, Record<string, unknown>])[] = [
  ['describe', {}],
  ['describe', { view: 'evaluation_wide' }],
  ['coverage', {}],
  ['status', {}],
  ['status', { rooftop: 'Rival' }],
  ['runs', {}],
  ['runs', { runId: 1 }],
  ['runs', { status: 'failed', limit: 3 }],
  ['why', { evalId: 1001 }],
  ['why', { evalId: 1003 }],
  ['why', { evalId: 99 }],
  ['quarantine', {}],
  ['quarantine', { id: 1 }],
]

test('no tool of a BI login or an operator writes, bills, or shows a customer', async () => {
  await using session = await connect()
  const { pool } = fixture.database
  const facts = async () => ({
    content: await readContent(pool),
    ledger: (await pool.query('select * from ops.run order by 1')).rows,
    quarantine: (await pool.query('select * from ops.quarantine order by 1')).rows,
    bills: (await pool.query('select * from ops.billable_call')).rows,
  })
  // An error may quote what it is about.
  const quote = async (error: string | null) =>
    await pool.query("update ops.run_stream set error = $1 where stream = 'users'", [error])
  await quote(`refused ${canaries[1]}`)
  const before = await facts()
  const requests = fixture.sandbox.requests.entries().length

  const { tools } = await session.client.listTools()
  const { rows: views } = await call(session, 'describe')
  const queries = views.map(([view]) => ['query', { sql: `select * from ${view}` }] as const)
  const answers: (Awaited<ReturnType<typeof call>> & { tool: string })[] = []
  for (const [tool, given] of [...queries, ...calls])
    answers.push({ tool, ...(await call(session, tool, given)) })
  await quote(null)
  const sent = fixture.sandbox.requests.entries().slice(requests)

  expect(new Set(answers.map(({ tool }) => tool))).toEqual(new Set(tools.map(({ name }) => name)))
  expect(queries.length).toBeGreaterThan(30)
  expect(answers.filter(({ isError }) => isError)).toEqual([])
  const shown = JSON.stringify(answers)
  expect(canaries.filter((canary) => shown.includes(canary))).toEqual([])
  expect(await facts()).toEqual(before)
  expect(sent.map(({ path }) => effectOf(path))).toEqual(sent.map(() => 'read'))
})

/** The effect of the operation at a path; the clock is read with a request to the address alone. */
function effectOf(path: string): string {
  if (path === '/v1') return 'read'
  const found = allOperations.find(
    ({ transport }) => transport(defaultWire).path.replace(/^\/v1/, '') === path,
  )
  return found?.effect ?? `unknown: ${path}`
}

test('the tools of an operator give the documents that the commands print with --json', {
  tags: 'ci',
}, async () => {
  await using session = await connect()
  const document = async (tool: string, given: Record<string, unknown> = {}) =>
    (await call(session, tool, given)).document

  const status = await documentOf('status')
  expect(await document('status')).toEqual(status)
  expect(await document('status', { rooftop: 'Rival' })).toEqual({
    ...status,
    rooftops: { 'bbbb-rival': status.rooftops['bbbb-rival'] },
  })
  expect(await document('runs')).toEqual(await documentOf('runs', 'list'))
  expect(await document('runs', { runId: 1 })).toEqual(await documentOf('runs', 'show', '1'))
  expect(await document('runs', { status: 'failed' })).toEqual({ runs: [], hasMore: false })
  const withoutNow = (found: unknown) =>
    JSON.stringify(found).replace(/"nextListing":\{"at":"[^"]*"/, '')
  expect(withoutNow(await document('why', { evalId: 1001 }))).toEqual(
    withoutNow(await documentOf('why', '1001')),
  )
  expect(await document('quarantine')).toEqual(await documentOf('quarantine', 'list'))
  const shown = await documentOf('quarantine', 'show', '1')
  const { payload, ...rest } = (await document('quarantine', { id: 1 })) as typeof shown
  expect(rest).toEqual({ ...shown, payload: undefined })
  // As received, it names the customer.
  expect(canaries.map((canary) => shown.payload.includes(canary))).toEqual(canaries.map(() => true))
  expect(JSON.parse(payload)).toMatchObject([{ EvalID: 1003, UpdatedAt: 'never' }])
  expect(payload).toContain('"hidden"')
})

test('a mistake, and what is too long, is an error that names what to do', async () => {
  await using session = await connect()
  await using narrow = await connect(
    await fixture.writeConfig('tenant', { mcp: { maxKilobytes: 10 } }),
  )
  const { pool } = fixture.database
  await pool.query(
    `insert into ops.quarantine (stream, rooftop_id, natural_key, issues, run_id, resolved_at)
     select 'evaluations', rooftop_id, 'long ' || n, jsonb_build_array(jsonb_build_object('path', 'x', 'message', repeat('m', 500))), 1, null
     from core.rooftop cross join generate_series(1, 50) as n where rooftop_name = 'Rival'`,
  )

  const long = await call(narrow, 'quarantine')
  await pool.query("delete from ops.quarantine where natural_key like 'long %'")

  expect(long).toMatchObject({ isError: false, truncated: true })
  expect((long.document as unknown[]).length).toBeLessThan(20)
  expect((long.document as unknown[]).length).toBeGreaterThan(5)
  expect(await call(session, 'runs', { runId: 77 })).toMatchObject({
    isError: true,
    text: expect.stringContaining('Run 77 does not exist'),
  })
  expect(await call(session, 'status', { rooftop: 'Rivall' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('did you mean Rival'),
  })
  expect(await call(session, 'quarantine', { id: 1, retry: true })).toMatchObject({ isError: true })
})

test('the session of a tool writes nothing and runs no work', async () => {
  await using session = new ReadOnlySession(operatorIo(), { config: file })
  const { pool } = await session.warehouse()

  await expect(pool.query('delete from ops.quarantine')).rejects.toThrow(/read-only transaction/)
  await expect(session.context()).rejects.toThrow('runs no work')
})

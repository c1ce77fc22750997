import { execFileSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCli } from '#src/cli.ts'
import { someOf } from '../../support/cases.ts'
import { CapturedOutput, runInProcess } from '../../support/cli.ts'
import { call, openMcpFixture } from '../mcp/fixture.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))

let fixture: Awaited<ReturnType<typeof openMcpFixture>>
beforeAll(async () => {
  fixture = await openMcpFixture()
}, 60_000)
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** A client of `forecourt mcp` in a process of its own. */
async function spawned(args: readonly string[], mode: 'legacy' | 'auto' = 'auto') {
  const command = [main, ...args]
  const transport = new StdioClientTransport({
    ...{ command: process.execPath, args: command, cwd: fixture.folder, stderr: 'pipe' },
  })
  let stderr = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const faults: string[] = []
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  // What is not of the protocol on stdout is one.
  client.onerror = (error) => void faults.push(error.message)
  await client.connect(transport)
  return {
    ...{ client, faults, pid: transport.pid },
    stderr: () => stderr,
    [Symbol.asyncDispose]: () => client.close(),
  }
}

test.each(someOf(['legacy', 'auto'] as const, 1))(
  'a client of the %s protocol reads the marts of a process, which ends with it',
  async (mode) => {
    const file = await fixture.writeConfig('reader')
    const session = await spawned(['--config', file, 'mcp'], mode)

    const { tools } = await session.client.listTools()
    const found = await call(session, 'query', {
      sql: 'select count(*) as evaluations from fact_evaluation',
    })
    const refused = await call(session, 'query', { sql: 'select * from pii.evaluation_customer' })
    const era = session.client.getProtocolEra()
    await session.client.close()

    expect(era).toBe(mode === 'auto' ? 'modern' : 'legacy')
    expect(tools.map(({ name }) => name)).toEqual(['query', 'describe', 'coverage'])
    expect(found.rows).toEqual([[2]])
    expect(refused.isError).toBe(true)
    expect(session.faults).toEqual([])
    expect(() => process.kill(session.pid!, 0)).toThrow(/ESRCH/)
    const lines = session.stderr().trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      ...['mcp: serving on stdio', 'mcp: query', 'mcp: query failed'],
    ])
    expect(session.stderr()).not.toContain(fixture.logins.password('reader'))
  },
)

test('an operator also gets the tools that read the warehouse of the config', {
  tags: 'ci',
}, async () => {
  const file = await fixture.writeConfig('tenant')
  await using session = await spawned(['--config', file, 'mcp', '--operator'])

  const { tools } = await session.client.listTools()
  const why = await call(session, 'why', { evalId: 1002 })

  expect(tools.map(({ name }) => name)).toEqual([
    ...['query', 'describe', 'coverage', 'status', 'runs', 'why', 'quarantine'],
  ])
  expect(why.document).toMatchObject({ evalId: 1002, found: [{ rooftop: { name: 'Rival' } }] })
  expect(session.faults).toEqual([])
})

test('closed input and a signal end it with exit code 0', async () => {
  const file = await fixture.writeConfig('reader')
  const run = async (end: (stdin: PassThrough, stop: AbortController) => void) => {
    const [stdin, stop] = [new PassThrough(), new AbortController()]
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()]
    const environment = { variables: {}, cwd: fixture.folder }
    const io = { environment, signal: stop.signal, stdin, stdout, stderr }
    const code = runCli(['--config', file, 'mcp'], io)
    end(stdin, stop)
    return { code: await code, stdout: stdout.text }
  }

  expect(await run((stdin) => stdin.end())).toEqual({ code: 0, stdout: '' })
  expect(await run((_, stop) => stop.abort())).toEqual({ code: 0, stdout: '' })
})

test('a missing login, a wrong password and a login with more rights end it with what to do', async () => {
  const start = async (file: string) =>
    await runInProcess(['--config', file, 'mcp'], { cwd: fixture.folder })
  const wrong = new URL(fixture.logins.url('reader'))
  wrong.password = 'wrong-password'
  const none = await start(await fixture.writeConfig('reader', { mcp: {} }))
  const refused = await start(await fixture.writeConfig('reader', { mcp: { url: wrong.href } }))
  const people = await start(await fixture.writeConfig('people'))

  expect([none.code, people.code]).toEqual([2, 2])
  expect(none.stderr).toContain('mcp.url is not set: name the Postgres with a login of role')
  expect(people.stderr).toContain('"forecourt grant"')
  // A server that asks for no password takes any.
  if (refused.code !== 0) expect(refused.stderr).toContain('the user and password in mcp.url')
})

test('nothing of the protocol is loaded by other commands', () => {
  const script = `
    import { registerHooks } from 'node:module'
    registerHooks({ load: (url, context, next) => (url.includes('modelcontextprotocol') && console.log(url), next(url, context)) })
    process.argv.splice(1, 0, ${JSON.stringify(main)})
    await import(${JSON.stringify(main)})`
  const loaded = execFileSync(
    process.execPath,
    ['--input-type=module', '-e', script, '--', 'mcp', '--help'],
    { encoding: 'utf8' },
  )

  expect(loaded).toContain('Usage: forecourt mcp')
  expect(loaded).not.toContain('modelcontextprotocol/')
})

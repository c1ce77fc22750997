import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { installTools } from './tools.ts'
import { type EcosystemWarehouse, openEcosystemWarehouse } from './warehouse.ts'

const inspector = await installTools('inspector', 'npm')

let warehouse: EcosystemWarehouse
let folder: TemporaryFolder

beforeAll(async () => {
  if (inspector.reason !== null) return
  warehouse = await openEcosystemWarehouse()
  folder = await temporaryFolder()
  const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const servers = Object.fromEntries(
    await Promise.all(
      ['reader', 'tenant'].map(async (login) => {
        const config = join(folder.path, `${login}.yaml`)
        await writeFile(config, JSON.stringify({ mcp: { url: warehouse.logins.url(login) } }))
        const server = { command: process.execPath, args: [program, 'mcp', '--config', config] }
        return [login, server] as const
      }),
    ),
  )
  await writeFile(join(folder.path, 'mcp.json'), JSON.stringify({ mcpServers: servers }))
})
afterAll(async () => {
  await warehouse?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

/** What the inspector prints of a request, as JSON. */
async function inspect(login: string, ...words: string[]) {
  const config = ['--config', join(folder.path, 'mcp.json'), '--server', login]
  const { code, stdout, stderr } = await inspector.run('mcp-inspector', [
    ...['--cli', ...config, '--method', ...words],
  ])
  return { code, stderr, answer: stdout.trim() === '' ? null : JSON.parse(stdout) }
}

const query = async (login: string, sql: string) =>
  await inspect(login, 'tools/call', '--tool-name', 'query', '--tool-arg', `sql=${sql}`)

inspector.test('the MCP inspector lists the tools and resources', async () => {
  const tools = await inspect('reader', 'tools/list')
  const resources = await inspect('reader', 'resources/list')

  expect(tools.code, tools.stderr).toBe(0)
  expect(tools.answer.tools.map(({ name }: { name: string }) => name)).toEqual([
    ...['query', 'describe', 'coverage'],
  ])
  expect(resources.answer.resources.map(({ uri }: { uri: string }) => uri)).toEqual([
    ...['forecourt://dictionary', 'forecourt://glossary'],
  ])
})

inspector.test(
  'through it a reader counts as the warehouse does, a tenant its own group alone',
  async () => {
    const { rows } = await warehouse.fixture.database.pool.query<{ all: string; group: string }>(
      `select count(*)::text as all, count(*) filter (where group_code = $1)::text as group
     from mart.fact_evaluation join mart.dim_rooftop using (rooftop_id)`,
      [warehouse.group],
    )
    const sql = 'select count(*)::text as n from fact_evaluation'

    const reader = await query('reader', sql)
    const tenant = await query('tenant', sql)

    expect(Number(rows[0]!.group)).toBeLessThan(Number(rows[0]!.all))
    expect(reader.answer.structuredContent.rows).toEqual([[rows[0]!.all]])
    expect(tenant.answer.structuredContent.rows).toEqual([[rows[0]!.group]])
  },
)

inspector.test(
  'through it a statement that writes, or reads another schema, is refused',
  async () => {
    const texts: string[] = []
    for (const [login, sql] of [
      ['reader', 'delete from mart.fact_evaluation'],
      ['reader', 'select * from core.customer'],
      ['tenant', 'select * from mart.fact_evaluation'],
    ] as const) {
      const { answer } = await query(login, sql)
      expect(answer.isError).toBe(true)
      texts.push(answer.content[0].text)
    }

    expect(texts).toEqual([
      'syntax error at or near "delete"',
      'permission denied for schema core',
      'permission denied for schema mart',
    ])
  },
)

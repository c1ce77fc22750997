import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { makeConfig } from '#src/app/config/read.ts'
import type { ConfigInput } from '#src/app/config/schema.ts'
import { openMartReader } from '#src/app/mcp/mart-reader.ts'
import { martTools } from '#src/app/mcp/mart-tools.ts'
import { makeServer } from '#src/app/mcp/server.ts'
import type { Tool } from '#src/app/mcp/tool.ts'
import { openLog } from '#src/log.ts'
import { allStreams } from '#src/streams/all.ts'
import { aKey, anEvaluation, aRooftop, worldOf } from '../../support/build-world.ts'
import { openFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openLogins } from '../../warehouse/access/logins.ts'

export const now = new Date('2026-03-10T06:30:00Z')
/** What no tool may show. */
export const canaries = ['Quentin Canary', 'canary@example.org', '0491 570 158', 'Canary Crescent']

const [name, email, phone, street] = canaries as [string, string, string, string]
const customer = { name, email, phone, address: `12 ${street}` }
const notes = `Rang ${name} on ${phone} or ${email}`

/** Two dealer groups with an evaluation each and a record in quarantine, loaded by one night; all name the same customer. */
export async function openMcpFixture() {
  const createdAt = '2026-03-06T01:00:00Z'
  const draft = {
    createdAt,
    customer,
    notes,
    customFields: { Remark: { type: 'text', options: null, value: notes } },
  }
  const recon = [{ type: 'tyres', source: null, cost: 400, value: '4' }]
  const world = worldOf({
    rooftops: [
      aRooftop({ uid: 'aaaa-north', name: 'Northside' }),
      aRooftop({ uid: 'bbbb-rival', name: 'Rival', groupId: 'group-2', dealerId: 103 }),
    ],
    keys: [
      aKey({ name: 'one', value: 'canary-key-one', rooftopUids: ['aaaa-north'] }),
      aKey({ name: 'two', value: 'canary-key-two', rooftopUids: ['bbbb-rival'] }),
    ],
    evaluations: [
      anEvaluation({ ...draft, rooftopUid: 'aaaa-north', reconditioning: recon }),
      anEvaluation({ ...draft, evalId: 1002, rooftopUid: 'bbbb-rival' }),
      anEvaluation({ ...draft, evalId: 1003, rooftopUid: 'bbbb-rival' }),
    ],
  })
  world.poison(1003, { UpdatedAt: 'never' })
  const fixture = await openFixture({ sandbox: { world, now }, streams: allStreams })
  await fixture.night()
  const { database, sandbox } = fixture
  const { rows } = await database.pool.query<{ code: string }>(
    "select group_code as code from core.rooftop_group join core.rooftop using (group_id) where rooftop_name = 'Northside'",
  )
  const logins = await openLogins(database, fixture.config, {
    reader: { role: 'bi_reader' },
    tenant: { role: 'bi_tenant', groups: [rows[0]!.code] },
    people: { role: 'bi_pii_reader' },
    loader: { role: 'forecourt_writer' },
  })
  await logins.grant()
  const folder = await temporaryFolder()
  const settingsFor = (key: string, limits: ConfigInput['mcp'] = {}) => ({
    mcp: { url: logins.url(key), ...limits },
  })
  const lines: string[] = []
  return {
    ...{ database, sandbox, logins, folder: folder.path, config: fixture.config },
    /** What was logged. */
    lines,
    /** The reader of a login. */
    openReader: async (key: string, limits: ConfigInput['mcp'] = {}) =>
      await openMartReader(makeConfig(settingsFor(key, limits), '/nowhere')),
    /** A client of a server in this process that reads as a login. */
    connect: async (key: string, limits: ConfigInput['mcp'] = {}, more: readonly Tool[] = []) => {
      const reader = await openMartReader(makeConfig(settingsFor(key, limits), '/nowhere'))
      const write = (line: string) => void lines.push(line)
      const log = openLog({ level: 'info', human: false, secrets: [], write })
      const server = makeServer({ reader, tools: [...martTools(reader), ...more], log })
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const client = new Client({ name: 'test', version: '1.0.0' })
      await Promise.all([server.connect(ours), client.connect(theirs)])
      return {
        client,
        [Symbol.asyncDispose]: async () => {
          await client.close()
          await reader[Symbol.asyncDispose]()
        },
      }
    },
    /** The path of a config file with the services, the warehouse, and `mcp.url` of a login. */
    writeConfig: async (key: string, settings: ConfigInput = {}) => {
      const file = join(folder.path, `${key}.yaml`)
      const start = '2026-03-01'
      const config: ConfigInput = {
        ...sandbox.clientConfig(),
        warehouse: { url: database.url },
        sync: { start },
        ...settingsFor(key),
        ...settings,
      }
      await writeFile(file, JSON.stringify(config))
      return file
    },
    [Symbol.asyncDispose]: async () => {
      await folder[Symbol.asyncDispose]()
      await logins[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

/** The answer of a tool; its text is the same as its structured content. */
export async function call(
  { client }: { readonly client: Client },
  tool: string,
  given: Record<string, unknown> = {},
) {
  const {
    isError = false,
    structuredContent,
    content,
  } = await client.callTool({
    name: tool,
    arguments: given,
  })
  const [block] = content
  const text = block?.type === 'text' ? block.text : ''
  return { isError, text, ...(structuredContent as Answer) }
}

interface Answer {
  readonly note: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly (string | number | boolean | null)[])[]
  readonly truncated: boolean
  readonly cutCells: number
  /** Of an operator's tool. */
  readonly document: unknown
}

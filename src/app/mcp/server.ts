import { readFile } from 'node:fs/promises'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { programVersion } from '../../version.ts'
import type { MartReader } from './mart-reader.ts'
import { readDictionary } from './mart-tools.ts'
import { recordsNote, type Tool, withoutHiddenSigns } from './tool.ts'

interface ServerParts {
  readonly reader: MartReader
  readonly tools: readonly Tool[]
  readonly log: Log
}

/** A server of the Model Context Protocol with these tools, and with the dictionary and the glossary as resources. */
export function makeServer({ reader, tools, log }: ServerParts): McpServer {
  const server = new McpServer(
    { name: 'forecourt', title: 'Forecourt', version: programVersion() },
    { instructions: instructionsFor(reader) },
  )
  for (const tool of tools) addTool(server, tool, log)
  addResources(server, reader)
  return server
}

function instructionsFor({ schema }: MartReader): string {
  return [
    'Forecourt copies vehicle appraisals of dealer groups into Postgres. All tools read, none writes, pays, or shows a customer.',
    `Describe the views of ${schema} first, check the coverage, then query. ${recordsNote}`,
  ].join(' ')
}

function addTool(server: McpServer, tool: Tool, log: Log): void {
  const { name, login, title, description, input, output } = tool
  const annotations = {
    ...{ readOnlyHint: true, destructiveHint: false },
    ...{ idempotentHint: true, openWorldHint: false },
  }
  const config = { title, description, inputSchema: input, outputSchema: output, annotations }
  server.registerTool(name, config, async (given: Readonly<Record<string, unknown>>) => {
    const startedAt = Date.now()
    const call = () => ({ ...given, tool: name, login, milliseconds: Date.now() - startedAt })
    try {
      const { content, facts } = await tool.read(given)
      log.info({ ...call(), ...facts }, `mcp: ${name}`)
      const shown = withoutHiddenSigns({ note: recordsNote, ...content }) as Record<string, unknown>
      return { content: [textContent(shown)], structuredContent: shown }
    } catch (error) {
      const message = String(withoutHiddenSigns(errorText(error)))
      log.warn({ ...call(), reason: message }, `mcp: ${name} failed`)
      return { content: [{ type: 'text', text: message }], isError: true }
    }
  })
}

/** Clients that know no structured content get the same as text. */
function textContent(content: unknown) {
  return { type: 'text' as const, text: JSON.stringify(content) }
}

const glossary = new URL('../../glossary.md', import.meta.url)
const dictionary = 'forecourt://dictionary'

function addResources(server: McpServer, reader: MartReader): void {
  const json = async (uri: URL, view?: string) => {
    const found = withoutHiddenSigns(await readDictionary(reader, view))
    const text = JSON.stringify(found)
    return { contents: [{ uri: uri.href, mimeType: 'application/json', text }] }
  }
  server.registerResource(
    'dictionary',
    dictionary,
    {
      title: 'Dictionary of the marts',
      description: 'Every view with its meaning, grain and key',
      mimeType: 'application/json',
    },
    async (uri) => await json(uri),
  )
  server.registerResource(
    'view',
    new ResourceTemplate(`${dictionary}/{view}`, { list: undefined }),
    {
      title: 'A view of the marts',
      description: 'Its columns with types, meanings, units and joins',
      mimeType: 'application/json',
    },
    async (uri, { view }) => await json(uri, String(view)),
  )
  server.registerResource(
    'glossary',
    'forecourt://glossary',
    {
      title: 'Glossary',
      description: 'The words that Forecourt uses',
      mimeType: 'text/markdown',
    },
    async (uri) => {
      const text = await readFile(glossary, 'utf8')
      return { contents: [{ uri: uri.href, mimeType: 'text/markdown', text }] }
    },
  )
}

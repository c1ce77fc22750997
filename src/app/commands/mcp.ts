import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { errorText } from '../../errors.ts'
import { openMartReader } from '../mcp/mart-reader.ts'
import { martTools } from '../mcp/mart-tools.ts'
import { makeServer } from '../mcp/server.ts'
import type { RunCommand } from './command.ts'

/** Serves until the client closes the input, or a signal stops it. Stdout belongs to the protocol. */
export const mcp: RunCommand = async (session, options) => {
  const { io, log, config } = session
  await using reader = await openMartReader(config)
  const tools = martTools(reader)
  if (options['operator'] === true) {
    // A warehouse that cannot be read, or an embedded one of an older version, is reported or updated now.
    await session.warehouse('read')
    const { verbTools } = await import('./mcp-verbs.ts')
    tools.push(...verbTools(session))
  }
  const transport = new StdioServerTransport(io.stdin ?? process.stdin, io.stdout)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const handle = serveStdio(() => makeServer({ reader, tools, log }), {
    transport,
    onerror: (error) => log.warn(`mcp: ${errorText(error)}`),
  })
  const onClose = transport.onclose
  transport.onclose = () => {
    onClose?.()
    end()
  }
  io.signal.addEventListener('abort', () => end(), { once: true })
  if (io.signal.aborted) end()
  log.info({ login: reader.login, tools: tools.map(({ name }) => name) }, 'mcp: serving on stdio')
  await ended
  await handle.close()
  return 0
}

import { once } from 'node:events'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Context } from '../context.ts'
import { messageOf, UsageError } from '../errors.ts'
import { LinkOpener } from '../links/opener.ts'
import { brokenPage, htmlOf, notFoundPage } from '../links/pages.ts'
import { sendPage } from '../links/reply.ts'
import { serveLinks } from '../links/routes.ts'
import type { Log } from '../log.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { wholeNumberOption } from './choose.ts'
import type { CommandDefinition } from './command.ts'

export const serve: CommandDefinition = {
  usage: 'serve',
  summary: 'Permalinks over HTTP, GET /links/<kind>/<id>, until stopped',
  options: (command) =>
    command
      .option('--host <host>', 'address to listen on (default: serve.host of the config)')
      .option('--port <port>', 'port (default: serve.port of the config; 0 takes any free one)'),
  examples: ['forecourt serve', 'forecourt serve --host 0.0.0.0 --port 8080'],
  async run(session, options) {
    const { config, log, io } = session
    const token = requireToken(config.links.token)
    chooseRooftops(config, [])
    const host = typeof options['host'] === 'string' ? options['host'] : config.serve.host
    const port = wholeNumberOption('--port', options['port'] ?? config.serve.port, 0, 65_535)
    if (token.length < 16) log.warn('links.token is short: let it be 16 characters or more')
    const server = await startServer(await session.context(), { host, port, token })
    log.debug(`listening on ${server.url}`)
    session.result({ url: server.url, links: `${server.url}/links` }, () => [
      `Serving on ${server.url}; stop it with Ctrl-C.`,
      `A permalink: ${server.url}/links/<kind>/<id>, with token=… in its query, where kind is ppsr_pdf, car_history_pdf or photo.`,
    ])
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await server.close()
    return 0
  },
}

function requireToken(token: string | null): string {
  if (token !== null) return token
  const setting = `links: { token: "\${FORECOURT_LINKS_TOKEN}" }`
  throw new UsageError(
    `links.token is not set, and without it anybody could open the links: put ${setting} into the config ` +
      'and the token into the environment, e.g. FORECOURT_LINKS_TOKEN=$(openssl rand -hex 24).',
  )
}

/** What the server listens on, and who may open links. */
export interface ServerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  readonly token: string
}

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly url: string
  /** Takes no more requests, and ends when those under way have. */
  close(): Promise<void>
}

/** Starts the server with everything that is served. UsageError when the address cannot be had. */
export async function startServer(context: Context, options: ServerOptions): Promise<Server> {
  const { log } = context
  const app = openServer(log)
  serveLinks(app, { links: new LinkOpener(context), token: options.token, log })
  const url = await listen(app, options)
  const close = async () => {
    await app.close()
  }
  return { url, close, [Symbol.asyncDispose]: close }
}

/** The frame onto which each part registers its routes: safe headers, pages for what goes wrong, and /health. */
function openServer(log: Log): FastifyInstance {
  const app = fastify({
    forceCloseConnections: 'idle',
    frameworkErrors: (_error, _request, reply) => {
      const answer = reply as FastifyReply
      answer.code(400).headers(safeHeaders).type('text/html; charset=utf-8')
      answer.send(htmlOf({ ...notFoundPage, status: 400 }))
    },
  })
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(safeHeaders)
  })
  app.setNotFoundHandler((request, reply) => sendPage(request, reply, notFoundPage))
  app.setErrorHandler(async (error, request, reply) => {
    log.error(`a request failed: ${messageOf(error)}`)
    return await sendPage(request, reply, brokenPage)
  })
  app.get('/health', async () => ({ status: 'ok' }))
  return app
}

/** Nothing is kept by anybody on the way, and the token in the address goes to nobody else. */
const safeHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
}

async function listen(app: FastifyInstance, { host, port }: ServerOptions): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await app.close()
    const { code = '' } = cause as NodeJS.ErrnoException
    if (!/^E(ADDRINUSE|ADDRNOTAVAIL|ACCES|NOTFOUND|AI_AGAIN)$/.test(code)) throw cause
    const why = code === 'EADDRINUSE' ? 'another program has the port' : messageOf(cause)
    throw new UsageError(
      `Cannot listen on port ${port} of ${host}: ${why}. Choose another --port or --host (serve.port, serve.host in the config).`,
      { cause },
    )
  }
  const address = app.server.address()
  const chosen = typeof address === 'object' && address !== null ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${chosen}`
}

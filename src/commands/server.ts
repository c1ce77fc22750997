import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { messageOf, UsageError } from '../errors.ts'
import { brokenPage, htmlOf, notFoundPage } from '../links/pages.ts'
import { sendPage } from '../links/send-page.ts'
import type { Log } from '../log.ts'

/** Where a server listens. */
export interface Address {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
}

/** The frame onto which each part registers its routes: safe headers, pages for what goes wrong, and /health. A slow sender is cut
 *  off: the head of a request within half of `requestTimeoutMs`, all of it within that time. */
export function createServer(log: Log, requestTimeoutMs = 20_000): FastifyInstance {
  const app = fastify({
    forceCloseConnections: 'idle',
    requestTimeout: requestTimeoutMs,
    // A proxy on this host or in a private network names the client.
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'],
    http: { headersTimeout: requestTimeoutMs / 2, connectionsCheckingInterval: 1_000 },
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
  app.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    const { statusCode = 500 } = error
    // What the caller did wrong is neither our failure nor worth a line of the log.
    if (statusCode < 500) {
      reply.header('connection', 'close')
      return await sendPage(request, reply, { ...notFoundPage, status: statusCode })
    }
    log.error(`a request failed: ${messageOf(error)}`)
    return await sendPage(request, reply, brokenPage)
  })
  app.get('/health', async () => ({ status: 'ok' }))
  return app
}

/** Proxies and browsers store nothing, and the token in the address is sent to no other site. */
const safeHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
}

/** Listens, and gives the URL. UsageError when the address cannot be had. */
export async function listen(app: FastifyInstance, { host, port }: Address): Promise<string> {
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

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Config } from '../../app/config/read.ts'
import type { Context } from '../../context.ts'
import { errorText, UsageError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import { secretCheck } from '../../values/secret.ts'
import { serveConsole } from '../console/console.ts'
import { LinkOpener } from '../links/link-opener.ts'
import { brokenPage, notFoundPage, pageHtml, pagePolicy } from '../links/pages.ts'
import { serveLinks } from '../links/routes.ts'
import { sendPage } from '../links/send-page.ts'
import type { Operations } from '../operations/operations.ts'
import { serveOperations } from '../operations/server.ts'
import { Inbox } from '../webhook/inbox.ts'
import { serveWebhooks } from '../webhook/receiver.ts'

/** Each part is served where its secret is set. UsageError when none is. */
export function requireParts({ links, webhooks, console: pages }: Config, log: Log): void {
  for (const [name, secret] of [
    ['links.token', links.token],
    ['webhooks.authHeaderValue', webhooks.authHeaderValue],
    ['webhooks.previousAuthHeaderValue', webhooks.previousAuthHeaderValue],
  ] as const)
    if (secret !== null && secret.length < 16)
      log.warn(`${name} is short: let it be 16 characters or more`)
  if (links.token !== null || webhooks.authHeaderValue !== null || pages !== null) return
  throw new UsageError(
    'links.token is not set, nor is webhooks.authHeaderValue, and without them anybody could open the links or forge webhooks; and there is no console: put ' +
      `links: { token: "\${FORECOURT_LINKS_TOKEN}" } or webhooks: { authHeaderValue: "\${FORECOURT_WEBHOOK_TOKEN}" } into the config ` +
      'and the token into the environment, e.g. FORECOURT_LINKS_TOKEN=$(openssl rand -hex 24).',
  )
}

/** What the server listens on, and who may open links. */
export interface ServerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** null: no links. */
  readonly token: string | null
  /** Health; metrics are served on the operations port alone. Left out: none. */
  readonly operations?: Operations
  /** The longest time in which a request must have arrived. */
  readonly requestTimeoutMs?: number
  /** What must arrive of a request in each span of time; default: 30 KB in 30 seconds. */
  readonly bodyRate?: BodyRate
}

interface BodyRate {
  readonly bytes: number
  readonly everyMs: number
}

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly url: string
  /** Whether it takes webhooks. */
  readonly receivesWebhooks: boolean
  /** Whether it has the console. */
  readonly hasConsole: boolean
  /** Takes no more requests, and ends when those under way have, and the runs that the console started. */
  close(): Promise<void>
}

/** Starts the server with everything that is served. UsageError when the address cannot be had. */
export async function startServer(context: Context, options: ServerOptions): Promise<Server> {
  const { log } = context
  const { token, operations, requestTimeoutMs, bodyRate } = options
  const { trustedProxies } = context.config.serve
  const app = createServer(log, { trustedProxies, requestTimeoutMs, bodyRate })
  if (operations !== undefined) serveOperations(app, operations, { metrics: false })
  if (token !== null) serveLinks(app, { links: new LinkOpener(context), token, log })
  const receives = await receiveWebhooks(context, app)
  await serveConsole(app, { context })
  const url = await listen(app, options)
  const close = async () => await app.close()
  const hasConsole = context.config.console !== null
  return { url, receivesWebhooks: receives, hasConsole, close, [Symbol.asyncDispose]: close }
}

/** A burst of deliveries becomes one run. */
const debounceMs = 1_000

/** Opens the receiver, where a secret is set for it. */
async function receiveWebhooks(context: Context, app: FastifyInstance): Promise<boolean> {
  const { config, db, log, appraisal, signal } = context
  const { authHeaderName, authHeaderValue, previousAuthHeaderValue } = config.webhooks
  if (authHeaderValue === null) return false
  const rooftops = await registerRooftops(db, config.rooftops, log)
  // Latencies go by the source's clock; each run that loads what arrived measures it again.
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(2_000)])
  await appraisal.measureClock({ signal: timeout }).catch(() => undefined)
  const valid = [authHeaderValue, previousAuthHeaderValue].filter((value) => value !== null)
  const inbox = new Inbox({ context, rooftops, secret: authHeaderValue, debounceMs })
  serveWebhooks(app, { inbox, headerName: authHeaderName, isAuthorised: secretCheck(valid), log })
  return true
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The longest time in which a request of the route must have arrived, where it is not that of the server. */
    bodyTimeoutMs?: number
  }
}

/** No route takes longer to receive a request. */
const longestBodyMs = 15 * 60_000

interface FrameOptions {
  /** Whose `X-Forwarded-For` names the client; anyone else could make up any address. */
  readonly trustedProxies: readonly string[]
  readonly requestTimeoutMs: number | undefined
  readonly bodyRate: BodyRate | undefined
}

/** The frame onto which each part registers its routes: safe headers, pages for what goes wrong, and /health. A slow sender is cut
 *  off: the head of a request within half of `requestTimeoutMs`, all of it within that time, unless its route allows more. */
function createServer(
  log: Log,
  {
    trustedProxies,
    requestTimeoutMs = 20_000,
    bodyRate = { bytes: 30_000, everyMs: 30_000 },
  }: FrameOptions,
): FastifyInstance {
  let hasWarned = false
  const app = fastify({
    forceCloseConnections: 'idle',
    // Node limits the whole head of a request to this: a page answers an address that is too long for what it names.
    routerOptions: { maxParamLength: 16_384 },
    requestTimeout: Math.max(requestTimeoutMs, longestBodyMs),
    trustProxy: [...trustedProxies],
    http: { headersTimeout: requestTimeoutMs / 2, connectionsCheckingInterval: 1_000 },
    frameworkErrors: (_error, _request, reply) => {
      const answer = reply as FastifyReply
      answer.code(400).headers(safeHeaders).type('text/html; charset=utf-8')
      answer.send(pageHtml({ ...notFoundPage, status: 400 }))
    },
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(safeHeaders)
    limitBodyTime(request, requestTimeoutMs, bodyRate)
    const { remoteAddress } = request.raw.socket
    if (hasWarned || !('x-forwarded-for' in request.headers) || request.ip !== remoteAddress) return
    hasWarned = true
    log.warn(
      `X-Forwarded-For of ${remoteAddress} is ignored: if that is your proxy, name it in serve.trustedProxies of the config; until then all clients behind it count as one`,
    )
  })
  // A connection that a client would use again keeps a server that stops open for another minute.
  let isStopping = false
  app.addHook('preClose', async () => {
    isStopping = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isStopping) reply.header('connection', 'close')
  })
  app.setNotFoundHandler((request, reply) => sendPage(request, reply, notFoundPage))
  app.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
    const { statusCode = 500 } = error
    // What the caller did wrong is neither our failure nor worth a line of the log.
    if (statusCode < 500) {
      reply.header('connection', 'close')
      return await sendPage(request, reply, { ...notFoundPage, status: statusCode })
    }
    log.error(`a request failed: ${errorText(error)}`)
    return await sendPage(request, reply, brokenPage)
  })
  app.get('/health', async () => ({ status: 'ok' }))
  return app
}

/** Node has one limit for all requests of a server, so that of a route is ours: it ends the connection. A body that arrives too slowly
 *  is ended before: a list that is uploaded has a place that others wait for. */
function limitBodyTime(
  { raw, routeOptions }: FastifyRequest,
  defaultMs: number,
  { bytes, everyMs }: BodyRate,
): void {
  const cut = () => {
    if (!raw.complete) raw.socket.destroy()
  }
  let before = raw.socket.bytesRead
  const cutSlow = () => {
    const { bytesRead } = raw.socket
    if (bytesRead - before < bytes) cut()
    before = bytesRead
  }
  const timers = [
    setTimeout(cut, routeOptions.config.bodyTimeoutMs ?? defaultMs).unref(),
    // After what arrived while the process was busy has been read.
    setInterval(() => setImmediate(cutSlow), everyMs).unref(),
  ]
  for (const event of ['end', 'close'])
    raw.once(event, () => {
      for (const timer of timers) clearTimeout(timer)
    })
}

/** Proxies and browsers store nothing, and the token in the address is sent to no other site. */
const safeHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': pagePolicy,
}

/** Listens, and gives the URL. UsageError when the address cannot be had. */
async function listen(app: FastifyInstance, { host, port }: ServerOptions): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await app.close()
    const { code = '' } = cause as NodeJS.ErrnoException
    if (!/^E(ADDRINUSE|ADDRNOTAVAIL|ACCES|NOTFOUND|AI_AGAIN)$/.test(code)) throw cause
    const why = code === 'EADDRINUSE' ? 'another program has the port' : errorText(cause)
    throw new UsageError(
      `Cannot listen on port ${port} of ${host}: ${why}. Choose another --port or --host (serve.port, serve.host in the config).`,
      { cause },
    )
  }
  const address = app.server.address()
  const chosen = typeof address === 'object' && address !== null ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${chosen}`
}

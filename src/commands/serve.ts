import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { type Context, noProgress } from '../context.ts'
import { UsageError } from '../errors.ts'
import { LinkOpener } from '../links/link-opener.ts'
import { serveLinks } from '../links/routes.ts'
import type { Operations } from '../operations/operations.ts'
import { serveOperations } from '../operations/routes.ts'
import { registerRooftops } from '../pipeline/rooftops.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import { consumeHints } from '../webhook/consume.ts'
import { Inbox } from '../webhook/inbox.ts'
import { serveWebhooks } from '../webhook/receiver.ts'
import { secretCheck } from '../webhook/secret.ts'
import { wholeNumberOption } from './option-values.ts'
import type { RunCommand } from './command.ts'
import { openOperationsPort } from './operations-port.ts'
import { type Address, listen, createServer } from './server.ts'
import type { Session } from './session.ts'

export const serve: RunCommand = async (session, options) => {
  const { config, log, io } = session
  requireParts(session)
  chooseRooftops(config, [])
  const host = typeof options['host'] === 'string' ? options['host'] : config.serve.host
  const port = wholeNumberOption('--port', options['port'] ?? config.serve.port, 0, 65_535)
  const context = await session.context({ progress: noProgress, waitSeconds: null })
  await using opened = await openOperationsPort(context, options)
  const { operations } = opened
  const { token } = config.links
  const server = await startServer(context, { host, port, token, operations })
  log.debug(`listening on ${server.url}`)
  const hints = server.receivesWebhooks ? consumeHints(context) : null
  const document = {
    url: server.url,
    links: config.links.token === null ? null : `${server.url}/links`,
    webhooks: server.receivesWebhooks ? `${server.url}/webhooks` : null,
  }
  session.result(document, () => whatIsServed(document))
  const stopped = io.signal.aborted ? Promise.resolve() : once(io.signal, 'abort')
  try {
    // The hints end before the signal only by an error: this process is older than the warehouse.
    await Promise.race([stopped, hints ?? stopped])
  } finally {
    await server.close()
  }
  await hints
  return 0
}

function whatIsServed({
  url,
  links,
  webhooks,
}: {
  readonly url: string
  readonly links: string | null
  readonly webhooks: string | null
}): string[] {
  return [
    `Serving on ${url}; stop it with Ctrl-C.`,
    links === null
      ? 'Links are off: set links.token to open them.'
      : `A permalink: ${links}/<kind>/<id>, with token=… in its query, where kind is ppsr_pdf, car_history_pdf or photo.`,
    webhooks === null
      ? 'The receiver of webhooks is off: set webhooks.authHeaderValue to open it.'
      : `Webhooks are received at ${webhooks}; "forecourt webhooks apply" subscribes to them.`,
  ]
}

/** Each part is served where its secret is set. UsageError when none is. */
function requireParts({ config, log }: Session): void {
  const { links, webhooks } = config
  for (const [name, secret] of [
    ['links.token', links.token],
    ['webhooks.authHeaderValue', webhooks.authHeaderValue],
    ['webhooks.previousAuthHeaderValue', webhooks.previousAuthHeaderValue],
  ] as const)
    if (secret !== null && secret.length < 16)
      log.warn(`${name} is short: let it be 16 characters or more`)
  if (links.token !== null || webhooks.authHeaderValue !== null) return
  throw new UsageError(
    'links.token is not set, nor is webhooks.authHeaderValue, and without them anybody could open the links or forge webhooks: put ' +
      `links: { token: "\${FORECOURT_LINKS_TOKEN}" } or webhooks: { authHeaderValue: "\${FORECOURT_WEBHOOK_TOKEN}" } into the config ` +
      'and the token into the environment, e.g. FORECOURT_LINKS_TOKEN=$(openssl rand -hex 24).',
  )
}

/** What the server listens on, and who may open links. */
export interface ServerOptions extends Address {
  /** null: no links. */
  readonly token: string | null
  /** Health; metrics are served on the operations port alone. Left out: none. */
  readonly operations?: Operations
  /** The longest time in which a request must have arrived. */
  readonly requestTimeoutMs?: number
}

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly url: string
  /** Whether it takes webhooks. */
  readonly receivesWebhooks: boolean
  /** Takes no more requests, and ends when those under way have. */
  close(): Promise<void>
}

/** Starts the server with everything that is served. UsageError when the address cannot be had. */
export async function startServer(context: Context, options: ServerOptions): Promise<Server> {
  const { log } = context
  const { token, operations, requestTimeoutMs } = options
  const app = createServer(log, requestTimeoutMs)
  if (operations !== undefined) serveOperations(app, operations, { metrics: false })
  if (token !== null) serveLinks(app, { links: new LinkOpener(context), token, log })
  const receives = await receiveWebhooks(context, app)
  const url = await listen(app, options)
  const close = async () => {
    await app.close()
  }
  return { url, receivesWebhooks: receives, close, [Symbol.asyncDispose]: close }
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

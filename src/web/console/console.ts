import cookie from '@fastify/cookie'
import formBody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import multipart from '@fastify/multipart'
import assets from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../app/config/read.ts'
import type { Context } from '../../context.ts'
import { programVersion } from '../../version.ts'
import { openPool } from '../../warehouse/db/connect.ts'
import { serveOidc } from './access/oidc.ts'
import { isSameOrigin } from './access/same-origin.ts'
import { serveSignIn } from './access/sign-in.ts'
import { BackgroundRuns } from './background-runs.ts'
import { Downloads, downloadLimits, downloadTimeoutMs } from './downloads.ts'
import type { AnyPage } from './page.ts'
import { pages as allPages } from './pages.ts'
import { assetFolder, assetVersion } from './parts/frame.ts'
import { PageServer, pageTimeoutMs } from './serve-page.ts'

/** What the console needs of the program. */
interface ConsoleOptions {
  readonly context: Context
  /** Default: all pages. */
  readonly pages?: readonly AnyPage[]
  /** How long the reader of a download may take for 64 KB; default: 2 minutes. */
  readonly downloadStallMs?: number
  /** Changes with every release; default: that of the program and its assets. */
  readonly version?: string
}

/** Serves the console below /console; does nothing where the config has none. Its pools end with the server, which waits for the runs
 *  that people started. */
export async function serveConsole(
  app: FastifyInstance,
  {
    context,
    pages = allPages,
    downloadStallMs: stallMs = 120_000,
    version = `${programVersion()} ${assetVersion}`,
  }: ConsoleOptions,
): Promise<void> {
  const settings = context.config.console
  if (settings === null) return
  const pool = await openPool(context.url, {
    applicationName: 'forecourt console',
    max: 4,
    statementTimeoutMs: pageTimeoutMs,
  })
  const downloadPool = await openPool(context.url, {
    applicationName: 'forecourt download',
    max: downloadLimits.all + 1,
    statementTimeoutMs: downloadTimeoutMs,
  })
  const runs = new BackgroundRuns(context)
  app.addHook('onClose', async () => {
    await Promise.all([pool.end(), downloadPool.end(), runs.ended()])
  })
  const { log, signal } = context
  const downloads = new Downloads({ pool: downloadPool, log, signal, stallMs })
  await app.register(
    async (scope) => {
      await protect(scope, settings)
      serveSignIn(scope, context, settings)
      if (settings.oidc !== null) serveOidc(scope, context, settings, settings.oidc)
      const server = new PageServer({ context, settings, runs, pool, downloads, version })
      for (const page of pages) server.serve(scope, page)
      scope.setNotFoundHandler(server.notFound)
      scope.setErrorHandler(server.failed)
    },
    { prefix: '/console' },
  )
}

/** Headers, cookies, forms, assets, and the refusal of what another site sends. */
async function protect(
  app: FastifyInstance,
  settings: NonNullable<Config['console']>,
): Promise<void> {
  // The headers of the server are for its other pages; those of the console are stricter and its own.
  app.addHook('onRequest', async (_request, reply) => {
    for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
    // Pages and assets say otherwise.
    reply.header('cache-control', 'no-store')
  })
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        ...{ defaultSrc: ["'none'"], scriptSrc: ["'self'"], styleSrc: ["'self'"] },
        ...{ imgSrc: ["'self'", 'data:'], connectSrc: ["'self'"], formAction: ["'self'"] },
        ...{ baseUri: ["'none'"], frameAncestors: ["'none'"] },
      },
    },
    strictTransportSecurity: settings.publicUrl.startsWith('https:'),
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
  })
  await app.register(cookie)
  await app.register(formBody)
  // Read by the pages that take a file, after they know who sends it.
  await app.register(multipart, { throwFileSizeLimit: false })
  app.addHook('onRequest', async (request, reply) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead || isSameOrigin(request.headers, settings.publicUrl)) return
    await reply
      .code(403)
      .type('text/plain; charset=utf-8')
      .send(
        `This request does not come from a page of ${settings.publicUrl}/console: open the console there and try again. (console.publicUrl of the config must be the address that people use.)\n`,
      )
  })
  await app.register(assets, {
    ...{ root: assetFolder, prefix: '/assets/', allowedPath: (path) => /\.(css|js)$/.test(path) },
    ...{ immutable: true, maxAge: '365d', cacheControl: true, decorateReply: false, index: false },
  })
}

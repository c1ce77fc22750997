import { createReadStream } from 'node:fs'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../log.ts'
import { RefusalLimiter } from '../../values/refusal-limiter.ts'
import { secretCheck } from '../../values/secret.ts'
import { type ArchivedFile, type LinkKind, type LinkOutcome, linkKinds } from './link.ts'
import type { LinkOpener } from './link-opener.ts'
import { outcomePage, refusedPage, tooManyPage } from './pages.ts'
import { sendPage } from './send-page.ts'

/** What the routes are made of. */
interface LinkRoutes {
  readonly links: LinkOpener
  /** Without it nothing is shown, not even what exists. */
  readonly token: string
  readonly log: Log
}

interface Click {
  Params: { kind: string; '*': string }
  Querystring: { token?: unknown; rooftop?: unknown }
}

/** `GET /links/<kind>/<id>`: 302 to the live URL, else a page that says why not. Logs one line per click, without a secret. Wrong
 *  tokens are counted in an occasional line, and answered 429 beyond their limits. The right token always opens: otherwise
 *  anyone behind the same proxy could lock out everyone else. */
export function serveLinks(app: FastifyInstance, { links, token, log }: LinkRoutes): void {
  const isValid = secretCheck([token])
  const refusals = new RefusalLimiter()
  // An id may hold a slash, which some proxies decode.
  app.get<Click>('/links/:kind/*', async (request, reply) => {
    const startedMs = performance.now()
    const { params, query, headers, ip } = request
    const id = params['*']
    const kind = linkKinds.find((one) => one === params.kind) ?? null
    const logClick = (outcome: string, more: object = {}) =>
      log.info({ kind, outcome, ms: Math.round(performance.now() - startedMs), ...more }, 'link')
    if (!isValid(findToken(headers.authorization, query.token))) {
      const getsAnswer = refusals.shouldAnswer(ip)
      const count = refusals.takeLogCount()
      if (count > 0) log.warn({ count }, 'links refused: no valid token')
      if (getsAnswer) return await sendPage(request, reply, refusedPage)
      reply.header('connection', 'close')
      return await sendPage(request, reply, tooManyPage)
    }
    const outcome = await open(links, kind, id, query.rooftop)
    const reason = 'reason' in outcome ? { reason: outcome.reason } : {}
    // An unknown id may be anything, even a secret: it is not logged.
    logClick(outcome.is, outcome.is === 'unknown' ? {} : { id, ...reason })
    return await answer(request, reply, kind, outcome)
  })
}

async function open(
  links: LinkOpener,
  kind: LinkKind | null,
  id: string,
  rooftop: unknown,
): Promise<LinkOutcome> {
  const isChosen = rooftop !== undefined && rooftop !== ''
  if (kind === null || (isChosen && typeof rooftop !== 'string')) return { is: 'unknown' }
  return await links.open({ kind, id, rooftopUid: isChosen ? String(rooftop) : null })
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  kind: LinkKind | null,
  outcome: LinkOutcome,
): Promise<void> {
  if (outcome.is === 'live')
    await reply.code(302).header('location', new URL(outcome.url).href).send()
  else if (outcome.is === 'vanished' && outcome.archived !== null)
    await sendArchived(reply, `${kind}.pdf`, outcome.archived)
  else await sendPage(request, reply, outcomePage(kind, outcome))
}

/** Sends the archived copy, when the source no longer has the document. */
async function sendArchived(
  reply: FastifyReply,
  name: string,
  { path, byteCount }: ArchivedFile,
): Promise<void> {
  reply.type('application/pdf').header('content-length', byteCount)
  reply.header('content-disposition', `inline; filename="${name}"`)
  // The policy that keeps pages from loading anything also keeps some browsers from showing a PDF.
  reply.removeHeader('content-security-policy')
  await reply.send(createReadStream(path))
}

/** The token of a request: `Authorization: Bearer …`, else `?token=`; null when there is none, or several. */
export function findToken(authorization: string | undefined, query: unknown): string | null {
  const bearer = /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1]
  if (bearer !== undefined) return bearer.trimEnd()
  return typeof query === 'string' ? query : null
}

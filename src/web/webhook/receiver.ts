import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { isTooDeep, maxJsonDepth } from '../../values/json-depth.ts'
import { RefusalLimiter } from '../../values/refusal-limiter.ts'
import { findEvent } from './hint.ts'
import { evaluationLimit, type Inbox } from './inbox.ts'

/** The most bytes of a body. */
const bodyLimit = 1024 * 1024
/** When the warehouse takes longer, the sender is asked to send the delivery again. */
const storeTimeoutMs = 8_000
const retryAfterSeconds = 30

/** What the receiver is made of. */
interface ReceiverOptions {
  readonly inbox: Pick<Inbox, 'store'>
  readonly headerName: string
  /** Whether the value of that header is a valid one. */
  readonly isAuthorised: (given: unknown) => boolean
  readonly log: Log
}

interface Delivery {
  Params: { event?: string; rooftop?: string }
}

/**
 * `POST /webhooks[/<event>[/<rooftop uid>]]`. Checked in this order, cheapest first: method, type, secret, size, JSON; 200 once the
 * delivery is committed to the inbox. What the sender cannot correct is 200 too; 503 asks it to send the delivery again.
 */
export function serveWebhooks(app: FastifyInstance, options: ReceiverOptions): void {
  const refusals = new RefusalLimiter()
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    )
    // Before the body is read.
    scope.addHook('onRequest', async (request, reply) => check(request, reply, options, refusals))
    scope.setErrorHandler(async (error: { statusCode?: number } & Error, _request, reply) => {
      const status = error.statusCode ?? 500
      if (status >= 500) options.log.error(`a webhook failed: ${errorText(error)}`)
      // A sender that is cut off while it sends never reads the answer: the rest is read, until the timeout of the request.
      if (status === 413) reply.removeHeader('connection')
      const message = status === 413 ? tooLarge : 'the body cannot be read'
      return await reply.code(status).send({ error: message })
    })
    for (const url of ['/webhooks', '/webhooks/:event', '/webhooks/:event/:rooftop'])
      scope.all<Delivery>(url, async (request, reply) => await receive(request, reply, options))
  })
}

const tooLarge = `a body has at most ${bodyLimit} bytes`
const tooMany = `a body names at most ${evaluationLimit} evaluations`

async function check(
  { method, headers, ip }: FastifyRequest,
  reply: FastifyReply,
  { headerName, isAuthorised, log }: ReceiverOptions,
  refusals: RefusalLimiter,
): Promise<FastifyReply | undefined> {
  const length = Number(headers['content-length'])
  if (method !== 'POST')
    return reply.code(405).header('allow', 'POST').send({ error: 'webhooks come by POST' })
  if (!isPlainJson(headers['content-type'], headers['content-encoding']))
    return reply.code(415).send({ error: 'webhooks are application/json, not compressed' })
  if (!isAuthorised(headers[headerName.toLowerCase()])) {
    const getsAnswer = refusals.shouldAnswer(ip)
    const count = refusals.takeLogCount()
    if (count > 0) log.warn({ count }, `webhooks refused: no valid ${headerName}`)
    // Does not wait for the rest of the body.
    reply.header('connection', 'close')
    if (getsAnswer) return reply.code(401).send({ error: `no valid ${headerName}` })
    reply.hijack()
    reply.raw.destroy()
    return reply
  }
  if (length > bodyLimit) return reply.code(413).send({ error: tooLarge })
  return undefined
}

function isPlainJson(type: string | undefined, encoding: string | undefined): boolean {
  if (encoding !== undefined && encoding !== 'identity') return false
  return /^application\/json\s*(;\s*charset="?utf-8"?\s*)?;?$/i.test(type?.trim() ?? '')
}

async function receive(
  { params, body: bytes }: FastifyRequest<Delivery>,
  reply: FastifyReply,
  { inbox, log }: ReceiverOptions,
): Promise<FastifyReply> {
  const parsed = Buffer.isBuffer(bytes) ? parseBody(bytes) : { problem: 'there is no body' }
  if ('problem' in parsed) return reply.code(400).send({ error: parsed.problem })
  const { event, rooftop: rooftopUid } = params
  const arrival = { event: findEvent(event), rooftopUid, bytes: bytes as Buffer, ...parsed }
  try {
    const stored = await withinTimeout(inbox.store(arrival))
    if (stored === 'too many') return reply.code(413).send({ error: tooMany })
    return reply.send({ status: stored === 'new' ? 'accepted' : 'duplicate' })
  } catch (error) {
    // Never the error itself: it may quote the row.
    const code = String((error as { code?: unknown }).code ?? '')
    log.error(
      { code },
      `a webhook was not stored: the warehouse did not take it (${code}); the sender is asked to send it again`,
    )
    return reply
      .code(503)
      .header('retry-after', retryAfterSeconds)
      .send({ error: 'try again later' })
  }
}

/** When the delivery is stored after the timeout, the one that is sent again is a duplicate. */
async function withinTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('the warehouse took too long')), storeTimeoutMs)
  work.catch(() => undefined)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The JSON value of a body, or why there is none. Never a part of the body: it may name a customer. */
function parseBody(bytes: Buffer): { readonly body: unknown } | { readonly problem: string } {
  let body: unknown
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return { problem: 'the body is not JSON in UTF-8' }
  }
  return isTooDeep(body)
    ? { problem: `the body is nested more than ${maxJsonDepth} deep` }
    : { body }
}

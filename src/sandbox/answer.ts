import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authorise, type Claim, readClaim } from './access.ts'
import { type Endpoint, evalIdIn, type RawCall, readBody } from './call.ts'
import type { VirtualClock } from './clock.ts'
import type { Fault, FaultPlan } from './faults.ts'
import { Refusal } from './refusal.ts'
import type { Rendering } from './render.ts'
import type { RequestLog } from './request-log.ts'
import type { World } from './world.ts'

/** All that answering takes. */
export interface Service {
  readonly world: World
  readonly clock: VirtualClock
  readonly rendering: Rendering
  readonly faults: FaultPlan
  readonly requests: RequestLog
}

/** A JSON answer, serialised. */
interface Answer {
  readonly status: number
  readonly text: string
}

/** Answers one request to an endpoint: claim, fault, key, body, endpoint, log, in that order. */
export async function answerRequest(
  service: Service,
  endpoint: { readonly path: string; readonly answer: Endpoint },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { headers } = request
  const raw: RawCall = {
    path: endpoint.path,
    headers,
    ...readBody(request.body, headers['content-type']),
  }
  const claim = readClaim(headers, service.world, service.rendering.wire)
  const key = claim.key?.name ?? null
  const end = service.requests.begin(key)
  let status = 0
  const { rooftopUid } = claim
  const evalId = evalIdIn(raw.body)
  try {
    const fault = service.faults.strike({ path: raw.path, rooftopUid, key, evalId })
    if (fault?.kind === 'reset') return cutConnection(reply)
    // Not kept alive by a wait, so that `close` is quick.
    if (fault?.kind === 'slow') await wait(fault.ms, undefined, { ref: false })
    sendAnswer(reply, fault, () => answerCall(service, endpoint.answer, raw, claim, fault))
    status = reply.statusCode
    return reply
  } finally {
    end()
    const { path, body } = raw
    service.requests.add({ path, key, rooftopUid, body, status, at: service.clock.now() })
  }
}

function answerCall(
  { world, clock, rendering }: Service,
  endpoint: Endpoint,
  raw: RawCall,
  claim: Claim,
  fault: Fault | undefined,
): Answer {
  try {
    const caller = authorise(claim, world)
    if (raw.bodyError !== null) throw new Refusal(400, raw.bodyError)
    const listCap = fault?.kind === 'listCap' ? fault : undefined
    const { body = {} } = raw
    const answer = endpoint({ body, caller, now: clock.now(), world, rendering, listCap })
    return { status: 200, text: JSON.stringify(answer) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, text: JSON.stringify({ error: error.message }) }
  }
}

function sendAnswer(reply: FastifyReply, fault: Fault | undefined, answer: () => Answer): void {
  reply.type('application/json; charset=utf-8')
  switch (fault?.kind) {
    case 'status':
      sendStatus(reply, fault)
      return
    case 'tooMany':
      sendTooMany(reply, fault.retryAfter ?? null)
      return
    case 'html':
      reply.type('text/html; charset=utf-8').send('<!doctype html><title>Maintenance</title>')
      return
    case 'empty':
      reply.send('')
      return
    case 'truncate': {
      const { text } = answer()
      reply.code(200).send(text.slice(0, Math.ceil(text.length / 2)))
      return
    }
    case 'oversize': {
      const { status, text } = answer()
      reply.code(status).send(Readable.from(padded(text, fault.bytes)))
      return
    }
    default: {
      const { status, text } = answer()
      reply.code(status).send(text)
    }
  }
}

function sendStatus(reply: FastifyReply, fault: Extract<Fault, { kind: 'status' }>): void {
  const { status, body = { error: `Status ${status} by fault plan` }, headers = {} } = fault
  reply
    .code(status)
    .headers(headers)
    .send(typeof body === 'string' ? body : JSON.stringify(body))
}

function sendTooMany(reply: FastifyReply, retryAfter: number | Date | null): void {
  if (retryAfter !== null)
    reply.header(
      'retry-after',
      retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter),
    )
  reply.code(429).send(JSON.stringify({ error: 'Too many requests' }))
}

/** The connection ends without a status line. */
function cutConnection(reply: FastifyReply): FastifyReply {
  reply.hijack()
  reply.raw.destroy()
  return reply
}

/** Blanks behind the JSON text, in pieces of 64 KiB: still valid JSON, however large. */
function* padded(text: string, bytes: number): Generator<Buffer> {
  const body = Buffer.from(text)
  yield body
  const blanks = Buffer.alloc(65_536, ' ')
  for (let left = bytes - body.length; left > 0; left -= blanks.length)
    yield left >= blanks.length ? blanks : blanks.subarray(0, left)
}

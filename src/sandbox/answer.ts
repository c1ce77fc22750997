import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { issueText } from '../api/contract/issue-text.ts'
import { type Operation, receivedFields } from '../api/contract/operation.ts'
import { isObject } from '../values/json-path.ts'
import { authorise, type Claim, readClaim, readVehicleDataClaim } from './access.ts'
import { Answer, type Call, type Endpoint } from './call.ts'
import type { Fault } from './faults.ts'
import { Refusal } from './refusal.ts'
import { type JsonObject, setAtPath } from './render.ts'
import { type RequestBody, readFormBody, readJsonBody } from './request-body.ts'
import { loggedPath } from './request-log.ts'
import type { SandboxState } from './sandbox-state.ts'

const maxLoggedBytes = 16_384

/** An answer as it is sent. */
interface Reply {
  readonly status: number
  readonly text: string
}

/** Answers one request to an endpoint, in this order: claim, fault, key, body, fields, endpoint, log. */
export async function answerRequest(
  service: SandboxState,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { operation } = endpoint
  const path = loggedPath(operation.transport(service.wire).path)
  const body = await readBody(service, endpoint, request)
  const claim = resolveClaim(service, endpoint, request)
  const { rooftopUid, name: key } = claim
  const end = service.requests.begin(key)
  let status = 0
  try {
    const evalId = evalIdIn(body.sent) ?? evalIdIn(request.params)
    const strike = service.faults.nextFault({ path, rooftopUid, key, evalId })
    const fault = strike?.fault
    if (fault?.kind === 'reset') return cutConnection(reply)
    if (fault?.kind === 'slow') await waitUnlessLifted(fault.ms, strike!.removed)
    await sendAnswer(reply, fault, () =>
      answerCall(service, endpoint, { request, body, claim }, fault),
    )
    status = reply.statusCode
    return reply
  } catch (error) {
    status = 500
    throw error
  } finally {
    end()
    const at = service.clock.now()
    service.requests.add({ path, key, rooftopUid, body: loggedBody(request, body), status, at })
  }
}

/** Waits without keeping the process alive, so that `close` is quick. */
async function waitUnlessLifted(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { ref: false, signal }).catch(() => undefined)
}

/** A long body is not logged: 20,000 of them would fill the memory. */
function loggedBody({ body }: FastifyRequest, { sent }: RequestBody): unknown {
  return Buffer.isBuffer(body) && body.length > maxLoggedBytes ? undefined : sent
}

function readBody(
  { wire }: SandboxState,
  { operation }: Endpoint,
  { body, headers, query }: FastifyRequest,
): RequestBody | Promise<RequestBody> {
  const { encoding } = operation.transport(wire)
  const type = headers['content-type']
  if (encoding === 'query') return { sent: query, files: [], error: null }
  return encoding === 'form' ? readFormBody(body, type) : readJsonBody(body, type)
}

function resolveClaim(
  service: SandboxState,
  { operation }: Endpoint,
  { headers }: FastifyRequest,
): Claim {
  return operation.service === 'vehicleData'
    ? readVehicleDataClaim(headers, service)
    : readClaim(headers, service.world, service.rendering.wire)
}

interface Arrived {
  readonly request: FastifyRequest
  readonly body: RequestBody
  readonly claim: Claim
}

async function answerCall(
  service: SandboxState,
  endpoint: Endpoint,
  arrived: Arrived,
  fault: Fault | undefined,
): Promise<Reply> {
  const { operation } = endpoint
  try {
    const call = buildCall(service, endpoint, arrived, fault)
    const answer = await endpoint.answer(call)
    const { status, body } =
      answer instanceof Answer ? answer : { status: operation.status, body: answer }
    return { status, text: JSON.stringify(body) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { status: error.status, text: JSON.stringify(errorBody(service, operation, error)) }
  }
}

/** Puts the text of a refusal where the document shows it, else where the wire settings place it. */
function errorBody({ wire }: SandboxState, operation: Operation, { status, message }: Refusal) {
  const body: JsonObject = {}
  const isShown = operation.shownErrors.includes(status)
  setAtPath(body, isShown ? 'error' : wire[operation.service].error, message)
  return body
}

/** Throws the refusal that follows from the key, the region or the fields. */
function buildCall(
  service: SandboxState,
  endpoint: Endpoint,
  { request, body, claim }: Arrived,
  fault: Fault | undefined,
): Call {
  const { operation } = endpoint
  const { world, rendering, wire, clock } = service
  if (claim.refusal !== null) throw claim.refusal
  const caller = operation.service === 'appraisal' ? authorise(claim, world) : undefined
  if (operation.region !== null && caller?.key.region !== operation.region)
    throw new Refusal(403, `This operation is only for ${operation.region} keys`)
  if (body.error !== null) throw new Refusal(400, body.error)
  const sent = body.sent ?? {}
  const path = request.params as Record<string, unknown>
  const query = request.query as Record<string, unknown>
  const fields = isObject(sent)
    ? receivedFields(operation, { path, query, rest: sent }, wire)
    : sent
  return {
    fields: validFields(endpoint, fields),
    sent,
    files: body.files,
    // Only endpoints of the appraisal service use it.
    caller: caller!,
    now: clock.now(),
    world,
    rendering,
    service,
    listCap: fault?.kind === 'listCap' ? fault : undefined,
  }
}

function evalIdIn(body: unknown): unknown {
  if (!isObject(body) || !Object.hasOwn(body, 'evalid')) return undefined
  const { evalid } = body
  return typeof evalid === 'string' && /^\d+$/.test(evalid) ? Number(evalid) : evalid
}

async function sendAnswer(
  reply: FastifyReply,
  fault: Fault | undefined,
  answer: () => Promise<Reply>,
): Promise<void> {
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
  }
  const { status, text } = await answer()
  if (fault?.kind === 'truncate') reply.code(200).send(text.slice(0, Math.ceil(text.length / 2)))
  else
    reply
      .code(status)
      .send(fault?.kind === 'oversize' ? Readable.from(padded(text, fault.bytes)) : text)
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

/** Spaces after the JSON text, in chunks of 64 KiB: a body of any size is still valid JSON. */
function* padded(text: string, bytes: number): Generator<Buffer> {
  const body = Buffer.from(text)
  yield body
  const blanks = Buffer.alloc(65_536, ' ')
  for (let left = bytes - body.length; left > 0; left -= blanks.length)
    yield left >= blanks.length ? blanks : blanks.subarray(0, left)
}

/** Schemas that ignore unknown fields, as a service does; each is made once. */
const lenient = new WeakMap<Operation, z.ZodObject>()

/** The fields in the shape of the operation. Refusal names every invalid field, with 400 or the status that the endpoint has for
 *  the field. */
function validFields({ operation, invalid }: Endpoint, fields: unknown): Record<string, unknown> {
  const result = lenientSchema(operation).safeParse(fields)
  if (result.success) return result.data
  const { issues } = result.error
  const status = issues.map(({ path }) => invalid[String(path[0])]).find((one) => one !== undefined)
  const texts = issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issueText(issue)}`)
  throw new Refusal(status ?? 400, texts.join('; '))
}

function lenientSchema(operation: Operation): z.ZodObject {
  const known = lenient.get(operation)
  if (known) return known
  const schema = operation.fields.strip()
  lenient.set(operation, schema)
  return schema
}

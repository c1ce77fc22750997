import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchEvaluation, evaluationBody, updatedAt } from '../evaluation-body.ts'
import { answerMessages } from './bench-process.ts'

/** Contents and behaviour of the source. */
export interface SourceOrder {
  readonly rooftops: number
  /** Of each rooftop. */
  readonly evaluations: number
  /** They were created evenly over the range, Unix seconds. */
  readonly from: number
  readonly until: number
  /** Milliseconds before each answer. */
  readonly latencyMs?: number
  /** Whether list items have UpdatedAt, so that an unchanged evaluation need not be read again. */
  readonly listShowsUpdates: boolean
}

/** The address of the source. */
export interface SourceReady {
  /** Ends in /v1. */
  readonly url: string
}

/** Counted since the last question. */
export interface SourceCounts {
  readonly lists: number
  readonly reads: number
  /** At once, at most. */
  readonly mostAtOnce: number
}

/** Changes the source, or reads its counts, which also resets them. */
export type SourceQuestion =
  | { readonly changeEvery: number }
  | { readonly latencyMs: number }
  | 'counts'

let world: SourceOrder
let latencyMs = 0
let changeEvery = 0
let signature = 0
let counts = { lists: 0, reads: 0, mostAtOnce: 0 }
let atOnce = 0
let url = ''

async function answer(message: unknown): Promise<SourceReady | SourceCounts> {
  const order = message as SourceOrder | SourceQuestion
  if (typeof order === 'object' && 'rooftops' in order) return await start(order)
  if (typeof order === 'object' && 'changeEvery' in order) changeEvery = order.changeEvery
  if (typeof order === 'object' && 'latencyMs' in order) latencyMs = order.latencyMs ?? 0
  const before = counts
  counts = { lists: 0, reads: 0, mostAtOnce: 0 }
  return before
}

async function start(order: SourceOrder): Promise<SourceReady> {
  world = order
  latencyMs = order.latencyMs ?? 0
  if (url !== '') return { url }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { url }
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  atOnce += 1
  counts.mostAtOnce = Math.max(counts.mostAtOnce, atOnce)
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  if (latencyMs > 0) await sleep(latencyMs)
  const bytes = Buffer.from(answerOf(request.url ?? '', parts))
  atOnce -= 1
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length })
  response.end(bytes)
}

function answerOf(path: string, parts: readonly Buffer[]): string {
  if (parts.length === 0) return '{}'
  const fields = JSON.parse(Buffer.concat(parts).toString('utf8'))
  if (path.endsWith('/getevallist')) {
    counts.lists += 1
    return listOf(Number(fields.startdate), Number(fields.enddate ?? Infinity), dealerIn(fields))
  }
  counts.reads += 1
  signature += 1
  return evaluationBody(evaluationOf(Number(fields.evalid)), signature)
}

function dealerIn({ dealerId }: { readonly dealerId?: string }): number {
  return Number(JSON.parse(dealerId ?? '[1]')[0])
}

/** Ids begin with the number of the rooftop and rise with time. */
function evaluationOf(evalId: number): BenchEvaluation {
  const dealerId = Math.floor(evalId / 10_000_000)
  const createdAt = timeOf(evalId % 10_000_000)
  return {
    evalId,
    dealerId,
    createdAt,
    revision: changeEvery > 0 && evalId % changeEvery === 0 ? 1 : 0,
  }
}

function timeOf(position: number): number {
  const { from, until, evaluations } = world
  return from + Math.floor(((until - from) * position) / evaluations)
}

/** Both bounds are exclusive [A §4 /getevallist]. */
function listOf(after: number, before: number, dealerId: number): string {
  const { from, until, evaluations, listShowsUpdates } = world
  const pace = evaluations / (until - from)
  const items: string[] = []
  for (let at = Math.max(0, Math.floor((after - from) * pace)); at < evaluations; at += 1) {
    const time = timeOf(at)
    if (time <= after) continue
    if (time >= before) break
    const evalId = dealerId * 10_000_000 + at
    const update = listShowsUpdates ? `,"UpdatedAt":"${updatedAt(evaluationOf(evalId))}"` : ''
    items.push(`{"EvalID":${evalId}${update}}`)
  }
  return `[${items.join(',')}]`
}

answerMessages(answer)

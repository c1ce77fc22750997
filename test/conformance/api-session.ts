import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#src/sandbox/server.ts'
import { failure } from './patterns.ts'
import type { Answer, Row, Send, Step } from './row.ts'
import { conformanceWorld, now, who } from './world.ts'

/** A webhook as the receiver of the test got it. */
export interface Delivery {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** A sandbox with a receiver of webhooks, and the answers so far. */
export class ApiSession {
  readonly sandbox: Sandbox
  readonly deliveries: Delivery[] = []
  /** Answers of the steps, in order. */
  readonly answers: Answer[] = []
  /** `EvalID` of the last answer that had one. */
  evalId = 0
  #receiver: Server | undefined
  #arrived = Promise.withResolvers<void>()

  constructor(sandbox: Sandbox) {
    this.sandbox = sandbox
  }

  /** Answer of the last step. */
  get last(): Answer {
    const answer = this.answers.at(-1)
    if (answer === undefined) throw new Error('No step has been taken yet')
    return answer
  }

  advance(seconds: number): void {
    this.sandbox.clock.advance(seconds * 1000)
  }

  async send(send: Send): Promise<Answer> {
    const headers = this.#headersOf(send)
    const { method } = send
    const init: RequestInit = { method, headers }
    if (send.form !== undefined) init.body = formOf(send)
    else if (send.json !== undefined) {
      headers.set('content-type', 'application/json')
      init.body = typeof send.json === 'string' ? send.json : JSON.stringify(send.json)
    }
    const response = await fetch(this.#urlOf(send), init)
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, body: jsonOrText(text) }
    this.evalId = evalIdIn(answer.body) ?? this.evalId
    return answer
  }

  async take(step: Step): Promise<void> {
    const next = typeof step === 'function' ? step(this) : step
    if (next === undefined || next instanceof Promise) return next
    const answer = await this.send(next)
    const context = `${next.method} ${next.path} → ${JSON.stringify(answer.body)}`
    if (next.expects !== undefined) expect(answer.status, context).toBe(next.expects)
    else expect(answer.status, context).toBeLessThan(400)
    this.answers.push(answer)
  }

  /** Address of a receiver on this machine. */
  async receiver(): Promise<string> {
    this.#receiver ??= await this.#listen()
    return `http://127.0.0.1:${(this.#receiver.address() as AddressInfo).port}`
  }

  /** Waits for `count` webhooks of that path. */
  async delivered(path: string, count = 1): Promise<Delivery[]> {
    for (;;) {
      const found = this.deliveries.filter((one) => one.path === path)
      if (found.length >= count) return found
      await this.#arrived.promise
    }
  }

  async close(): Promise<void> {
    await this.sandbox.close()
    this.#receiver?.closeAllConnections()
    this.#receiver?.close()
  }

  #headersOf({ isVehicleData, key = this.sandbox.vehicleDataKey, who: as = who.one }: Send) {
    const headers = new Headers()
    const value = isVehicleData ? key : as.key
    if (value !== null) headers.set('authorization', value)
    if (!isVehicleData && as.rooftop !== null) headers.set('x-dealer-id', as.rooftop)
    return headers
  }

  #urlOf({ path, isVehicleData }: Send): string {
    const { baseUrl, vehicleDataUrl } = this.sandbox
    if (path.startsWith('http:')) return path
    if (path.startsWith('/sandbox/')) return new URL(path, baseUrl).href
    return (isVehicleData ? vehicleDataUrl : baseUrl) + path
  }

  async #listen(): Promise<Server> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method, url: path, headers } = request
      const body = jsonOrText(Buffer.concat(chunks).toString('utf8'))
      this.deliveries.push({ method, path, headers, body })
      response.end()
      this.#arrived.resolve()
      this.#arrived = Promise.withResolvers()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return server
  }
}

/** Opens a session with the world of `world.ts`, the clock frozen. */
export async function openApiSession(limits: SandboxOptions['limits'] = {}): Promise<ApiSession> {
  const clock = new VirtualClock({ start: new Date(now), frozen: true })
  return new ApiSession(await startSandbox({ world: conformanceWorld(), clock, limits }))
}

/** Takes the steps of the row, sends its request and holds the answer against it; a refusal has the body of the documents [A §7]. */
export async function show(
  row: Row,
  onAnswer: (send: Send, answer: Answer) => void,
): Promise<void> {
  const session = await openApiSession(row.limits)
  try {
    for (const step of row.given ?? []) await session.take(step)
    const send = typeof row.send === 'function' ? row.send(session) : row.send
    const answer = await session.send(send)
    const { status, body } = answer
    expect(status, JSON.stringify(body)).toBe(row.status)
    if (status >= 400) expect(body).toEqual(failure)
    onAnswer(send, answer)
    if (row.body !== undefined) expect({ body }).toMatchObject({ body: row.body })
    for (const name of row.lacks ?? []) expect(body).not.toHaveProperty(name)
    await row.check?.(answer, session)
  } finally {
    await session.close()
  }
}

function formOf({ form = {}, files = [] }: Send): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries(form)) data.append(name, value)
  for (const { field, name, bytes } of files) data.append(field, new Blob([bytes]), name)
  return data
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function evalIdIn(body: unknown): number | undefined {
  if (typeof body !== 'object' || body === null || !('EvalID' in body)) return undefined
  return typeof body.EvalID === 'number' ? body.EvalID : undefined
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Evaluation, flickerMs, momentAt } from './evaluation.ts'
import { bodyOf } from './wire.ts'
import type { FaultKind, World } from './world.ts'

/** A world as the source serves it. */
export interface ServedWorld {
  readonly world: World
  readonly evaluations: readonly Evaluation[]
}

/** What a request of a rooftop asks for. */
interface Caller {
  readonly served: ServedWorld
  /** 0 or 1. */
  readonly rooftop: number
}

export const uidOf = (world: number, rooftop: number) => `w${world}-${rooftop}`
export const dealerIdOf = (world: number, rooftop: number) => world * 2 + rooftop + 1

/** The requests for a world in one night. */
interface Asked {
  list: number
  read: number
  readonly bounds: Set<string>
  held: boolean
}

/**
 * The two endpoints that a nightly sync needs [A §4], as light as possible, since a simulation of thousands of nights is mostly
 * requests. The Date header gives the time, and every world may have its own.
 */
export class Source {
  readonly #server: Server
  readonly #callers = new Map<string, Caller>()
  readonly #asked = new Map<number, Asked>()
  readonly #ahead = new Map<number, number>()
  readonly #listCarriesUpdatedAt: boolean
  #night = 0
  #now = 0
  /** Called with the rooftop of a delayed answer and a function that releases it; null: nothing is delayed. */
  onHeld: ((uid: string, release: () => void) => void) | null = null

  constructor(listCarriesUpdatedAt: boolean, all: readonly ServedWorld[]) {
    this.#listCarriesUpdatedAt = listCarriesUpdatedAt
    for (const served of all)
      for (let rooftop = 0; rooftop < served.world.rooftops; rooftop++)
        this.#callers.set(`key-${uidOf(served.world.index, rooftop)}`, { served, rooftop })
    this.#server = createServer((request, response) => this.#take(request, response))
    this.#server.keepAliveTimeout = 60_000
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Starts a new night: the faults of its first requests apply again. */
  begin(night: number, now: number): void {
    this.#night = night
    this.#now = now
    this.#asked.clear()
    this.#ahead.clear()
  }

  /** The source's time, without a new night. */
  set now(now: number) {
    this.#now = now
  }

  /** A world's own time: later than that of others after one of its answers was delayed. */
  nowOf(world: number): number {
    return this.#now + (this.#ahead.get(world) ?? 0)
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      const caller = this.#callers.get(String(request.headers.authorization ?? ''))
      // The client reads the source's clock from any answer.
      if (!caller) send(response, this.#now, 404, '{"error":"no such key"}')
      else this.#answer(caller, request.url === '/v1/getevallist' ? 'list' : 'read', text, response)
    })
  }

  #answer(caller: Caller, path: 'list' | 'read', text: string, response: ServerResponse): void {
    const { world } = caller.served
    const asked = this.#askedOf(world.index)
    const nth = ++asked[path]
    const now = this.nowOf(world.index)
    const fault = world.faults.find(
      (one) => one.night === this.#night && one.path === path && one.nth === nth,
    )
    const fields = JSON.parse(text) as Record<string, number & string>
    const answer = path === 'list' ? this.#list(caller, fields, now) : readOne(caller, fields, now)
    const give = () => send(response, now, answer.status, answer.body)
    if (fault) spoil(fault.kind, response, now, answer.body)
    else if (path === 'list' && this.#isHeld(caller, asked, text)) {
      asked.held = true
      this.#ahead.set(world.index, 2 * flickerMs)
      this.onHeld!(uidOf(world.index, caller.rooftop), give)
    } else give()
  }

  /** Whether this is the second listing of a window, with which a worker confirms that a record is no longer listed. */
  #isHeld({ served: { world }, rooftop }: Caller, asked: Asked, bounds: string): boolean {
    if (this.onHeld === null || world.zombieNight !== this.#night || rooftop !== 0) return false
    const again = asked.bounds.has(bounds)
    asked.bounds.add(bounds)
    return again && !asked.held
  }

  #askedOf(world: number): Asked {
    const known = this.#asked.get(world)
    if (known) return known
    const asked = { list: 0, read: 0, bounds: new Set<string>(), held: false }
    this.#asked.set(world, asked)
    return asked
  }

  #list({ served }: Caller, fields: Record<string, number & string>, now: number) {
    const { world, evaluations } = served
    const { startdate, enddate = Number.POSITIVE_INFINITY, dealerId } = fields
    const wanted = dealerId === undefined ? null : (JSON.parse(dealerId) as number[])
    const found = evaluations.flatMap((evaluation) => {
      const second = Math.floor(evaluation.createdAt / 1000)
      // Both bounds are exclusive [A §4 /getevallist].
      if (second <= startdate! || second >= enddate) return []
      const moment = momentAt(evaluation, now)
      if (!moment?.visible) return []
      if (wanted && !wanted.includes(dealerIdOf(world.index, moment.rooftop))) return []
      return [{ second, EvalID: evaluation.evalId, at: moment.updatedAt }]
    })
    const items = capped(found, world.cap).map(({ EvalID, at }) =>
      this.#listCarriesUpdatedAt ? { EvalID, UpdatedAt: new Date(at) } : { EvalID },
    )
    return { status: 200, body: JSON.stringify(items) }
  }
}

function readOne({ served }: Caller, { evalid }: Record<string, unknown>, now: number) {
  const { world, evaluations } = served
  const evaluation = evaluations.find(({ evalId }) => evalId === evalid)
  const moment = evaluation ? momentAt(evaluation, now) : null
  if (!evaluation || !moment?.visible)
    return { status: 400, body: '{"error":"Evaluation not found"}' }
  const dealerId = dealerIdOf(world.index, moment.rooftop)
  return { status: 200, body: bodyOf(evaluation, moment, { world: world.index, dealerId }) }
}

function capped<T extends { second: number; EvalID: number }>(
  found: readonly T[],
  cap: World['cap'],
): readonly T[] {
  if (!cap || found.length <= cap.cap) return found
  const sign = { oldest: 1, newest: -1, arbitrary: 0 }[cap.order]
  return found
    .toSorted((a, b) => sign * (a.second - b.second || a.EvalID - b.EvalID))
    .slice(0, cap.cap)
}

function send(response: ServerResponse, now: number, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    date: new Date(now).toUTCString(),
  })
  response.end(body)
}

/** The faulty form of an answer; null: no answer. */
const spoilt: Readonly<
  Record<FaultKind, (body: string) => { status: number; body: string } | null>
> = {
  e500: () => ({ status: 500, body: '{"error":"not now"}' }),
  e503: () => ({ status: 503, body: '{"error":"not now"}' }),
  e429: () => ({ status: 429, body: '{"error":"too many"}' }),
  truncate: (body) => ({ status: 200, body: body.slice(0, Math.floor(body.length / 2)) }),
  html: () => ({ status: 200, body: '<html><body>Maintenance</body></html>' }),
  empty: () => ({ status: 200, body: '' }),
  reset: () => null,
  hang: () => null,
}

function spoil(kind: FaultKind, response: ServerResponse, now: number, whole: string): void {
  const answer = spoilt[kind](whole)
  if (answer) send(response, now, answer.status, answer.body)
  // In a hang only the client's timeout ends the request.
  else if (kind === 'reset') response.destroy()
}

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it arrived: performance.now(), the key's value, and whether it was refused as too many. */
export interface Arrival {
  readonly at: number
  readonly key: string
  readonly process: string
  readonly isRefused: boolean
}

/** A real server with a limit of requests per key and second, which answers every read with an empty list. */
export interface LimitedSource extends AsyncDisposable {
  readonly baseUrl: string
  readonly arrivals: Arrival[]
  /** The most concurrent requests of a process since the last reset. */
  mostInFlightOf(process: string): number
  resetInFlight(): void
  /** Refuses everything for this long; `onFirst` is called with the first refusal. */
  refuseFor(seconds: number, onFirst: () => void): void
  /** May be changed at any time. */
  readonly limits: SourceLimits
}

export interface SourceLimits {
  /** In every sliding second. */
  perSecond: number
  /** This share of the requests is refused whatever the rate. */
  randomShare?: number
  retryAfterSeconds?: number
  /** How long an answer takes. */
  latencyMs?: number
}

/** The rooftop uid names the process: `<process>.<anything>`. */
export async function startLimitedSource(limits: SourceLimits): Promise<LimitedSource> {
  const arrivals: Arrival[] = []
  const recent = new Map<string, number[]>()
  const inFlight = new Map<string, number>()
  const mostInFlight = new Map<string, number>()
  let refusal:
    | { readonly until: number; readonly onFirst: () => void; hasRefused: boolean }
    | undefined
  const server = createServer((request, response) => {
    const at = performance.now()
    request.resume()
    const key = request.headers.authorization ?? ''
    if (key === '') return void response.end('[]')
    const [process = ''] = String(request.headers['x-dealer-id']).split('.')
    const now = (inFlight.get(process) ?? 0) + 1
    inFlight.set(process, now)
    mostInFlight.set(process, Math.max(mostInFlight.get(process) ?? 0, now))
    response.on('close', () => inFlight.set(process, inFlight.get(process)! - 1))
    const times = (recent.get(key) ?? []).filter((time) => at - time < 1000)
    recent.set(key, times)
    const isOff = refusal !== undefined && at < refusal.until
    const isRefused =
      isOff || times.length >= limits.perSecond || Math.random() < (limits.randomShare ?? 0)
    if (!isRefused) times.push(at)
    arrivals.push({ at, key, process, isRefused })
    if (isOff && refusal !== undefined) {
      if (!refusal.hasRefused) refusal.onFirst()
      refusal.hasRefused = true
      const retryAfterSeconds = Math.ceil((refusal.until - at) / 1000)
      return answerTo(response, true, { ...limits, retryAfterSeconds })
    }
    setTimeout(() => answerTo(response, isRefused, limits), limits.latencyMs ?? 1)
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    arrivals,
    mostInFlightOf: (process) => mostInFlight.get(process) ?? 0,
    resetInFlight: () => mostInFlight.clear(),
    refuseFor: (seconds, onFirst) => {
      refusal = { until: performance.now() + seconds * 1000, onFirst, hasRefused: false }
    },
    limits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function answerTo(response: ServerResponse, isRefused: boolean, limits: SourceLimits): void {
  const { retryAfterSeconds } = limits
  const later = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  response.writeHead(isRefused ? 429 : 200, {
    'content-type': 'application/json',
    ...(isRefused ? later : {}),
  })
  response.end(isRefused ? '{"error":"too many"}' : '[]')
}

/** The most arrivals in any sliding second. */
export function busiestSecond(arrivals: readonly Arrival[]): number {
  const times = arrivals.map(({ at }) => at).sort((a, b) => a - b)
  let most = 0
  let from = 0
  for (const [to, at] of times.entries()) {
    while (at - times[from]! >= 1000) from += 1
    most = Math.max(most, to - from + 1)
  }
  return most
}

/** One answered request. */
export interface LoggedRequest {
  /** Without `/v1`, e.g. `/geteval`. */
  readonly path: string
  /** Name of the key; null when there was none or an unknown one. */
  readonly key: string | null
  /** Of the dedicated key, else the value of `X-Dealer-Id`; null when neither is there. */
  readonly rooftopUid: string | null
  /** The parsed body; undefined when there was none, it was not JSON, or it was long. */
  readonly body: unknown
  /** HTTP status; 0 when the connection was cut instead. */
  readonly status: number
  /** By the virtual clock, when the answer began. */
  readonly at: Date
}

/** The path without `/v1`, as faults and the log use it. */
export function loggedPath(path: string): string {
  return path.replace(/^\/v1(?=\/)/, '').replace(/\?.*/, '')
}

const maxEntries = 20_000
/** Requests to further paths are counted together. */
const countedPaths = 1000

/** The requests to the sandbox: counts of all, and the latest 20,000 entries. */
export class RequestLog {
  readonly #entries: LoggedRequest[] = []
  readonly #counts = new Map<string, number>()
  readonly #inFlight = new Map<string, number>()
  readonly #inFlightMax = new Map<string, number>()

  /** Number of requests to a path (without `/v1`), or of all. */
  count(path?: string): number {
    if (path !== undefined) return this.#counts.get(path) ?? 0
    return this.#counts.values().reduce((total, count) => total + count, 0)
  }

  /** Number of requests by path. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** The logged requests, oldest first. */
  entries(path?: string): LoggedRequest[] {
    return this.#entries.filter((entry) => path === undefined || entry.path === path)
  }

  /** Largest number of requests in flight at once: of one key, or of the busiest key. */
  inFlightMax(key?: string): number {
    if (key !== undefined) return this.#inFlightMax.get(key) ?? 0
    return Math.max(0, ...this.#inFlightMax.values())
  }

  /** Clears everything except the requests in flight. */
  reset(): void {
    this.#entries.length = 0
    this.#counts.clear()
    this.#inFlightMax.clear()
  }

  /** Counts a request as in flight until the returned function is called. */
  begin(key: string | null): () => void {
    if (key === null) return () => {}
    const now = (this.#inFlight.get(key) ?? 0) + 1
    this.#inFlight.set(key, now)
    this.#inFlightMax.set(key, Math.max(now, this.#inFlightMax.get(key) ?? 0))
    return () => {
      this.#inFlight.set(key, (this.#inFlight.get(key) ?? 1) - 1)
    }
  }

  add(request: LoggedRequest): void {
    const isCounted = this.#counts.has(request.path) || this.#counts.size < countedPaths
    const counted = isCounted ? request.path : 'other'
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1)
    if (this.#entries.push(request) > maxEntries) this.#entries.shift()
  }
}

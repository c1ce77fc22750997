import { Pool } from 'undici'
import type { JsonPath } from '../values/json-path.ts'
import { type Backoff, backoffMs, faultBackoff, throttleBackoff } from '../values/backoff.ts'
import { parseHttpDate } from '../values/http-date.ts'
import { parseRetryAfter } from '../values/retry-after.ts'
import { sleep } from '../values/sleep.ts'
import {
  type AnswerHeaders,
  BodyFault,
  BodyTooLarge,
  decodeBody,
  requireJson,
} from './http-body.ts'
import { DeadlineExceeded, exchange, type RawAnswer } from './http-exchange.ts'
import {
  errorOf,
  type Failure,
  quoteError,
  type StatusAction,
  defaultActionOf,
  TransportFault,
  noAnswerAction,
  unknownOutcome,
} from './http-fault.ts'
import type {
  AttemptReport,
  HttpAnswer,
  HttpRequest,
  SentRequest,
  WhileWaiting,
} from './http-request.ts'
import { KeyBlocked, maxBlockMs } from './limiter.ts'

export type { AttemptReport, HttpAnswer, HttpRequest, SentRequest, WhileWaiting }

/** What a source needs: its address, and how far its calls may go. */
export interface HttpSourceOptions {
  /** Origin and path prefix, e.g. `https://host/v1`. */
  readonly baseUrl: string
  /** The config's name of the base URL, for messages. */
  readonly setting: string
  /** Enough for the sum of the keys' concurrency. */
  readonly connections: number
  /** For the whole of one attempt: connect, headers and body. */
  readonly timeoutSeconds: number
  readonly maxRetries: number
  /** Where the text of an error body stands. Default: `error`. */
  readonly errorPath?: JsonPath
  /** The largest answer, decoded. Default: 64 MB. */
  readonly maxBytes?: number
  /** Our clock. */
  readonly now: () => Date
  /** In [0, 1). Default: Math.random. */
  readonly random?: () => number
  /** Told of every request that was sent, when it has ended: for the log. */
  readonly log?: ((sent: SentRequest) => void) | undefined
}

const usualHeaders = {
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'forecourt',
}
const tooLarge: StatusAction = { errorAction: 'abort', advice: 'Ask for less at once.' }
const oddHeader: StatusAction = {
  errorAction: 'abort',
  advice: 'Check the key and the rooftop uid for line ends and odd characters.',
}
/** Longer waits are left to the ruling of the endpoint, where it has one. */
const briefWaitMs = 60_000
const retryStatuses = new Set([408, 429, 500, 502, 503, 504])

/** One origin behind a keep-alive pool, with deadlines, caps and in-call retries of reads.
 *  Rejects with SyncError (verdict by status, or by the request's rulings), or with the reason of an aborted signal. */
export class HttpSource {
  readonly #pool: Pool
  readonly #prefix: string
  readonly #options: HttpSourceOptions
  readonly #closing = new AbortController()
  #requests = 0
  #retries = 0

  constructor(options: HttpSourceOptions) {
    const url = new URL(options.baseUrl)
    const timeout = options.timeoutSeconds * 1000
    this.#options = options
    this.#prefix = url.pathname.replace(/\/+$/, '')
    this.#pool = new Pool(url.origin, {
      connections: Math.max(1, options.connections),
      pipelining: 1,
      allowH2: false,
      connect: { timeout },
    })
  }

  /** Requests sent, repeats included. */
  get requests(): number {
    return this.#requests
  }

  /** Repeats among the requests. */
  get retries(): number {
    return this.#retries
  }

  /** Sends a request and repeats it while it may help and `maxRetries` lasts. */
  async request(request: HttpRequest): Promise<HttpAnswer> {
    const signals = [request.signal, this.#closing.signal]
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#inTurn(request, attempt, signals)
      if ('text' in outcome) return outcome
      const waitMs = this.#waitMs(request, outcome, attempt)
      const sent = outcome.cause instanceof KeyBlocked ? attempt - 1 : attempt
      if (waitMs === null) throw errorOf(request, outcome, sent)
      const wait = sleep(waitMs, signals)
      // A source that is down gets no more calls for that.
      const lends = outcome.status === 429 ? request.whileWaiting : undefined
      await (lends?.(wait) ?? wait)
    }
  }

  /** Ends what is in flight or waiting, and closes the connections. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The client of the source was closed.'))
    await this.#pool.destroy()
  }

  async #inTurn(
    request: HttpRequest,
    attempt: number,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<HttpAnswer | Failure> {
    try {
      return await request.limiter.run(
        (generation) => this.#attempt(request, attempt, generation, signals),
        ...signals,
      )
    } catch (error) {
      if (!(error instanceof KeyBlocked)) throw error
      const what = `was not sent: ${error.message}`
      const ruling = defaultActionOf(429, this.#options.setting)
      return {
        status: null,
        what,
        cause: error,
        mayRetry: false,
        retryAfterMs: null,
        action: ruling,
      }
    }
  }

  async #attempt(
    request: HttpRequest,
    attempt: number,
    generation: number,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<HttpAnswer | Failure> {
    const { timeoutSeconds, maxBytes = 64 * 1024 * 1024, now } = this.#options
    const retry = attempt > 1
    const requestedAt = now()
    const startedMs = performance.now()
    let status: number | null = null
    this.#requests += 1
    if (retry) this.#retries += 1
    try {
      const { method, headers, body = null } = request
      const path = this.#prefix + request.path || '/'
      const seconds = Math.max(timeoutSeconds, request.timeoutSeconds ?? 0)
      const limits = { timeoutMs: seconds * 1000, maxBytes, signals }
      const sent = { method, path, headers: { ...usualHeaders, ...headers }, body }
      const raw = await exchange(this.#pool, sent, limits)
      status = raw.status
      const answer = await this.#judge(request, raw, generation, maxBytes)
      if ('what' in answer) return answer
      const durationMs = performance.now() - startedMs
      const date = httpDateOf(raw.headers)
      return { ...answer, date, attempts: attempt, durationMs, requestedAt, receivedAt: now() }
    } catch (error) {
      for (const signal of signals) signal?.throwIfAborted()
      if (!isFault(error)) throw error
      return this.#failure(request, error, status, generation)
    } finally {
      request.onAttempt?.({ path: request.path, status, retry })
      this.#tell(request, status, attempt, performance.now() - startedMs)
    }
  }

  #tell(request: HttpRequest, status: number | null, attempt: number, ms: number): void {
    const { method, path, details = {} } = request
    // A query may hold what a log must not.
    const shown = path.split('?')[0] || '/'
    this.#options.log?.({ method, path: shown, status, ms: Math.round(ms), attempt, details })
  }

  /** Tells an answer from a failure, and the limiter of either. */
  async #judge(
    { accept = [], validate = requireJson, limiter, ...request }: HttpRequest,
    { status, headers, bytes }: RawAnswer,
    generation: number,
    maxBytes: number,
  ): Promise<Failure | { status: number; headers: AnswerHeaders; text: string }> {
    const { setting, now, errorPath } = this.#options
    const accepted = accept === 'any' || accept.includes(status)
    if (accepted || (status >= 200 && status < 300)) {
      const text = await decodeBody(bytes, headers, maxBytes)
      if (!accepted) validate(text, headers)
      limiter.onSuccess(generation)
      return { status, headers, text }
    }
    const retryAfter = headers['retry-after']
    const retryAfterMs = parseRetryAfter(one(retryAfter), one(headers.date), now())
    const own = request.rulings?.[status]
    // A quota of the endpoint is not about the key's other calls.
    if (status === 429 && own?.errorAction === 'park' && !isBrief(retryAfterMs))
      limiter.onSuccess(generation)
    else if (status === 429 || (status === 503 && retryAfterMs !== null))
      limiter.onThrottle(retryAfterMs ?? undefined, generation)
    else if (status === 408 || status >= 500) limiter.onFault(generation)
    else limiter.onSuccess(generation)
    const said = quoteError(bytes.toString('utf8'), secretsIn(request.headers), errorPath)
    const what = `answered ${status}${said === null ? '' : `: "${said}"`}`
    const lost = !request.retryable && (status >= 500 || status === 408)
    const ruling = own ?? (lost ? unknownOutcome : defaultActionOf(status, setting))
    // A rate limit says when to come back; a quota of the day does not, or not soon.
    const again =
      (status === 429 && isBrief(retryAfterMs)) || (ruling.mayRetry ?? retryStatuses.has(status))
    return { status, what, mayRetry: again, retryAfterMs, action: ruling }
  }

  /** What it means that no answer came, or none that can be used. */
  #failure(request: HttpRequest, cause: Fault, status: number | null, generation: number): Failure {
    const { setting } = this.#options
    const answered = status === null ? 'failed' : `answered ${status}, but`
    const failure = { status, what: `${answered}: ${cause.message}`, cause, retryAfterMs: null }
    if (cause instanceof BodyTooLarge)
      return { ...failure, mayRetry: false, action: request.retryable ? tooLarge : unknownOutcome }
    if (cause instanceof TransportFault && cause.code === 'UND_ERR_INVALID_ARG')
      return { ...failure, mayRetry: false, action: oddHeader }
    if (!(cause instanceof BodyFault) || cause.isSystemic) request.limiter.onFault(generation)
    const usual = request.retryable ? noAnswerAction(setting) : unknownOutcome
    const ruling = { ...usual, errorAction: request.unreachableAction ?? usual.errorAction }
    return { ...failure, mayRetry: true, action: ruling }
  }

  /** The wait before the next attempt, in ms; null to give up. */
  #waitMs(request: HttpRequest, failure: Failure, attempt: number): number | null {
    const { maxRetries, random = Math.random } = this.#options
    const allowed = Math.min(maxRetries, request.maxRetries ?? maxRetries)
    if (!request.retryable || !failure.mayRetry || attempt > allowed) return null
    // Retry-After is authoritative when present; 0 names no wait, and a storm of retries helps nobody.
    if (!failure.retryAfterMs) return backoffMs(attempt, backoffOf(failure), random)
    return failure.retryAfterMs > maxBlockMs ? null : failure.retryAfterMs
  }
}

/** A source that has too much to do, and does not say until when, is left alone for longer. */
function backoffOf({ status, retryAfterMs }: Failure): Backoff {
  const isThrottled = (status === 429 || status === 503) && retryAfterMs === null
  return isThrottled ? throttleBackoff : faultBackoff
}

function isBrief(retryAfterMs: number | null): boolean {
  return retryAfterMs !== null && retryAfterMs > 0 && retryAfterMs <= briefWaitMs
}

type Fault = BodyFault | BodyTooLarge | DeadlineExceeded | TransportFault

/** Anything else that is thrown is a decision of the endpoint, or a bug: it is not repeated. */
function isFault(error: unknown): error is Fault {
  return [BodyFault, BodyTooLarge, DeadlineExceeded, TransportFault].some(
    (kind) => error instanceof kind,
  )
}

function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  const named = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type')
  // A prefix such as "Bearer " is not part of the key.
  return named.flatMap(([, value]) => [value, ...value.split(' ')])
}

function httpDateOf(headers: AnswerHeaders): Date | null {
  const date = one(headers.date)
  return date === undefined ? null : parseHttpDate(date)
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

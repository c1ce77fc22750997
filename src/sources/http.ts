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

/** What a source needs: its address, and the limits of its calls. */
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
  /** The path of the text in an error body. Default: `error`. */
  readonly errorPath?: JsonPath
  /** The largest answer, decoded. Default: 64 MB. */
  readonly maxBytes?: number
  /** Our clock. */
  readonly now: () => Date
  /** In [0, 1). Default: Math.random. */
  readonly random?: () => number
  /** Called after every request, for the log. */
  readonly log?: ((sent: SentRequest) => void) | undefined
}

const defaultHeaders = {
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'forecourt',
}
const tooLarge: StatusAction = { errorAction: 'abort', advice: 'Ask for less at once.' }
const invalidHeader: StatusAction = {
  errorAction: 'abort',
  advice: 'Check the key and the rooftop uid for line ends and invalid characters.',
}
/** Longer waits are left to the endpoint's own action, where it has one. */
const briefWaitMs = 60_000
const retryStatuses = new Set([408, 429, 500, 502, 503, 504])

/** One origin behind a keep-alive pool, with deadlines, caps and in-call retries of reads. The action for a status comes from the
 *  request's `statusActions` (status-actions.ts), else from `defaultActionOf`; `#classify` reports every answer to the key's limiter.
 *  Rejects with SyncError (its action by status, or as the request says), or with the reason of an aborted signal. */
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
      const outcome = await this.#sendWhenAllowed(request, attempt, signals)
      if ('text' in outcome) return outcome
      const waitMs = this.#waitMs(request, outcome, attempt)
      const sent = outcome.cause instanceof KeyBlocked ? attempt - 1 : attempt
      if (waitMs === null) throw errorOf(request, outcome, sent)
      const wait = sleep(waitMs, signals)
      // Only a throttled call gives up its slot: a source that is down must not get more calls.
      const whileWaiting = outcome.status === 429 ? request.whileWaiting : undefined
      await (whileWaiting?.(wait) ?? wait)
    }
  }

  /** Ends all calls in flight or waiting, and closes the connections. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The client of the source was closed.'))
    await this.#pool.destroy()
  }

  async #sendWhenAllowed(
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
      const action = defaultActionOf(429, this.#options.setting)
      return { status: null, what, cause: error, mayRetry: false, retryAfterMs: null, action }
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
      const sent = { method, path, headers: { ...defaultHeaders, ...headers }, body }
      const raw = await exchange(this.#pool, sent, limits)
      status = raw.status
      const answer = await this.#classify(request, raw, generation, maxBytes)
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
      this.#logAttempt(request, status, attempt, performance.now() - startedMs)
    }
  }

  #logAttempt(request: HttpRequest, status: number | null, attempt: number, ms: number): void {
    const { method, path, details = {} } = request
    // A query may hold what a log must not.
    const shown = path.split('?')[0] || '/'
    this.#options.log?.({ method, path: shown, status, ms: Math.round(ms), attempt, details })
  }

  /** Decides whether an answer is usable or a failure, and reports it to the limiter. */
  async #classify(
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
    const own = request.statusActions?.[status]
    // An endpoint's own quota does not concern the key's other calls.
    if (status === 429 && own?.errorAction === 'park' && !isBrief(retryAfterMs))
      limiter.onSuccess(generation)
    else if (status === 429 || (status === 503 && retryAfterMs !== null))
      limiter.onThrottle(retryAfterMs ?? undefined, generation)
    else if (status === 408 || status >= 500) limiter.onFault(generation)
    else limiter.onSuccess(generation)
    const text = quoteError(bytes.toString('utf8'), secretsIn(request.headers), errorPath)
    const what = `answered ${status}${text === null ? '' : `: "${text}"`}`
    const isUnknown = !request.retryable && (status >= 500 || status === 408)
    const action = own ?? (isUnknown ? unknownOutcome : defaultActionOf(status, setting))
    // A rate limit names a short wait; a daily quota names none, or a long one.
    const mayRetry =
      (status === 429 && isBrief(retryAfterMs)) || (action.mayRetry ?? retryStatuses.has(status))
    return { status, what, mayRetry, retryAfterMs, action }
  }

  /** The failure of an attempt without a usable answer. */
  #failure(request: HttpRequest, cause: Fault, status: number | null, generation: number): Failure {
    const { setting, baseUrl } = this.#options
    const answered = status === null ? 'failed' : `answered ${status}, but`
    const failure = { status, what: `${answered}: ${cause.message}`, cause, retryAfterMs: null }
    if (cause instanceof BodyTooLarge)
      return { ...failure, mayRetry: false, action: request.retryable ? tooLarge : unknownOutcome }
    if (cause instanceof TransportFault && cause.code === 'UND_ERR_INVALID_ARG')
      return { ...failure, mayRetry: false, action: invalidHeader }
    if (!(cause instanceof BodyFault) || cause.isSystemic) request.limiter.onFault(generation)
    const usual = request.retryable
      ? noAnswerAction(setting, new URL(baseUrl).origin)
      : unknownOutcome
    const action = { ...usual, errorAction: request.unreachableAction ?? usual.errorAction }
    return { ...failure, mayRetry: true, action }
  }

  /** The wait before the next attempt, in ms; null to give up. */
  #waitMs(request: HttpRequest, failure: Failure, attempt: number): number | null {
    const { maxRetries, random = Math.random } = this.#options
    const allowed = Math.min(maxRetries, request.maxRetries ?? maxRetries)
    if (!request.retryable || !failure.mayRetry || attempt > allowed) return null
    // Retry-After decides when it is present. 0 names no wait: the backoff keeps retries from coming all at once.
    if (!failure.retryAfterMs) return backoffMs(attempt, backoffOf(failure), random)
    return failure.retryAfterMs > maxBlockMs ? null : failure.retryAfterMs
  }
}

/** A throttle without Retry-After gets the longer backoff. */
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

import { type FormData, Pool } from 'undici'
import { type ErrorDetails, type Meaning, SyncError } from '../../errors.ts'
import { errorType, type OpenSpan, openSpan } from '../../tracing.ts'
import { parseHttpDate, parseRetryAfter } from '../../values/http-date.ts'
import type { JsonPath } from '../../values/json-path.ts'
import { sleep } from '../../values/sleep.ts'
import {
  type AnswerHeaders,
  decodeBody,
  decodeErrorBody,
  quoteError,
  requireJson,
} from './http-body.ts'
import { exchange, type RawAnswer } from './http-exchange.ts'
import type { KeyLimiter } from './limiter.ts'
import {
  plainRead,
  RequestFault,
  rules,
  type StatusContract,
  statusMeaning,
  unknownOutcome,
  waitBeforeRepeat,
} from './status-rules.ts'

/** A request that has ended. `status` is null when no whole answer came; `retry` when it repeated an earlier one. */
export interface AttemptReport {
  readonly path: string
  readonly status: number | null
  readonly retry: boolean
}

/** A request that was sent, for the log: nothing of its headers, body or query. */
export interface SentRequest {
  readonly method: string
  readonly path: string
  /** Null when no whole answer came. */
  readonly status: number | null
  readonly ms: number
  /** From 1. */
  readonly attempt: number
  readonly details: ErrorDetails
}

/** Receives the wait before a retry, so that the caller can give the call's slot to another call meanwhile. */
export type WhileWaiting = <T>(wait: Promise<T>) => Promise<T>

/** `signal` ends a call at once: it rejects with the signal's reason. `onAttempt` is called after every request,
 *  `whileWaiting` with every wait before a retry. `nextTry` is part of the error of a call that may succeed later: who tries it
 *  again. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly onAttempt?: ((attempt: AttemptReport) => void) | undefined
  readonly whileWaiting?: WhileWaiting | undefined
  readonly nextTry?: string | undefined
}

/** One call of a source; `path` may hold a query, which no message repeats. */
export interface HttpRequest extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** After the base URL's prefix. */
  readonly path: string
  /** The path with `{field}` for each value in it, for traces. */
  readonly route: string
  readonly headers: Readonly<Record<string, string>>
  /** A form sets its own content-type; its files are streamed. */
  readonly body?: string | Uint8Array | FormData
  readonly limiter: KeyLimiter
  /** What the statuses mean, and whether the call may be repeated. Default: `plainRead`. */
  readonly contract?: StatusContract
  /** What to check when the key is refused; ends with a full stop. */
  readonly keyAdvice?: string
  /** Statuses beside 2xx that are an answer, not an error. */
  readonly accept?: readonly number[] | 'any'
  /** Checks a 2xx body: RequestFault repeats the call where that may help, any other error ends it. Default: requireJson. */
  readonly validate?: (text: string, headers: AnswerHeaders) => void
  /** A longer timeout than the source's own, for a call that is known to take long. */
  readonly timeoutSeconds?: number | null
  /** Fewer retries than the source has. */
  readonly maxRetries?: number
  /** Follows the path in messages, e.g. `for rooftop x (key y)`. */
  readonly subject?: string
  readonly details?: ErrorDetails
}

/** A usable answer: 2xx with a body that passed, or an accepted status. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly text: string
  /** The Date header: the source's time of the answer. */
  readonly date: Date | null
  readonly attempts: number
  /** When the attempt that was answered left and its answer came, our clock. */
  readonly requestedAt: Date
  readonly receivedAt: Date
}

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
  /** Whether to send the W3C header `traceparent` where spans are recorded. Default: no. */
  readonly traceparent?: boolean
  /** The largest answer, decoded. Default: 64 MB. */
  readonly maxBytes?: number
  /** Our clock. */
  readonly now: () => Date
  /** In [0, 1). Default: Math.random. */
  readonly random?: () => number
  /** Called after every request, for the log. */
  readonly log?: ((sent: SentRequest) => void) | undefined
}

/** An attempt without a usable answer. */
interface Failure {
  readonly meaning: Meaning
  readonly status: number | null
  /** Follows the path in the message. */
  readonly what: string
  readonly cause?: Error
  readonly retryAfterMs: number | null
}

const defaultHeaders = {
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'forecourt',
}

/** One origin behind a keep-alive pool, with deadlines, caps and in-call retries of reads. What a failure means, and what follows
 *  from it, is in status-rules.ts. Rejects with SyncError, or with the reason of an aborted signal. */
export class HttpSource {
  readonly #pool: Pool
  readonly #url: URL
  readonly #prefix: string
  readonly #options: HttpSourceOptions
  readonly #closing = new AbortController()
  #requests = 0
  #retries = 0

  constructor(options: HttpSourceOptions) {
    const url = new URL(options.baseUrl)
    const timeout = options.timeoutSeconds * 1000
    this.#options = options
    this.#url = url
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
    const { maxRetries, random = Math.random } = this.#options
    const signals = [request.signal, this.#closing.signal]
    const isRepeatable = (request.contract ?? plainRead).repeatable
    const repeats = isRepeatable ? Math.min(maxRetries, request.maxRetries ?? maxRetries) : 0
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#sendWhenAllowed(request, attempt, signals)
      if ('text' in outcome) return outcome
      const waitMs = attempt > repeats ? null : waitBeforeRepeat(outcome, attempt, random)
      if (waitMs === null) throw this.#errorOf(request, outcome, attempt)
      const wait = sleep(waitMs, signals)
      // Only a throttled call gives up its slot: a source that is down must not get more calls.
      const whileWaiting = outcome.meaning === 'throttled' ? request.whileWaiting : undefined
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
    } catch (cause) {
      if (!(cause instanceof RequestFault)) throw cause
      const { meaning } = cause
      return {
        meaning,
        status: null,
        what: `was not sent: ${cause.message}`,
        cause,
        retryAfterMs: null,
      }
    }
  }

  /** One request. Reports to the limiter how the key fared. */
  async #attempt(
    request: HttpRequest,
    attempt: number,
    generation: number,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<HttpAnswer | Failure> {
    const { timeoutSeconds, maxBytes = 64 * 1024 * 1024, now } = this.#options
    const { limiter } = request
    const requestedAt = now()
    const startedMs = performance.now()
    let status: number | null = null
    const span = this.#openSpan(request, attempt)
    this.#requests += 1
    if (attempt > 1) this.#retries += 1
    try {
      const { method, headers, body = null } = request
      const path = this.#prefix + request.path || '/'
      const seconds = Math.max(timeoutSeconds, request.timeoutSeconds ?? 0)
      const limits = { timeoutMs: seconds * 1000, maxBytes, signals }
      const trace = this.#options.traceparent ? span.traceparent() : {}
      const sent = { method, path, headers: { ...defaultHeaders, ...headers, ...trace }, body }
      const raw = await span.within(() => exchange(this.#pool, sent, limits))
      status = raw.status
      const text = await usableText(request, raw, maxBytes)
      if (text === null) {
        const failure = await this.#refusal(request, raw)
        span.fail(failure.meaning)
        reportFailure(limiter, failure, generation)
        return failure
      }
      limiter.onSuccess(generation)
      const date = readHttpDate(raw.headers)
      const times = { date, requestedAt, receivedAt: now() }
      return { status, headers: raw.headers, text, attempts: attempt, ...times }
    } catch (cause) {
      for (const signal of signals) signal?.throwIfAborted()
      span.fail(errorType(cause))
      // Anything else that is thrown is a decision of the endpoint, or a bug: it is not repeated.
      if (!(cause instanceof RequestFault)) throw cause
      const what = `${status === null ? 'failed' : `answered ${status}, but`}: ${cause.message}`
      const failure = { meaning: cause.meaning, status, what, cause, retryAfterMs: null }
      reportFailure(limiter, failure, generation)
      return failure
    } finally {
      if (status !== null) span.set(() => ({ 'http.response.status_code': status! }))
      span.end()
      request.onAttempt?.({ path: request.path, status, retry: attempt > 1 })
      this.#logAttempt(request, status, attempt, performance.now() - startedMs)
    }
  }

  /** The span of one request, by the conventions for HTTP clients. Without `url.full`: values of a path or query may be a vehicle's. */
  #openSpan({ method, route, details }: HttpRequest, attempt: number): OpenSpan {
    const span = openSpan(`${method} ${route}`, 'client')
    span.set(() => ({
      'http.request.method': method,
      'url.template': route,
      'server.address': this.#url.hostname,
      'server.port': Number(this.#url.port || (this.#url.protocol === 'https:' ? 443 : 80)),
      ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
      ...(details?.rooftopUid !== undefined && { 'forecourt.rooftop.uid': details.rooftopUid }),
    }))
    return span
  }

  #logAttempt(request: HttpRequest, status: number | null, attempt: number, ms: number): void {
    const { method, path, details = {} } = request
    const shown = withoutQuery(path)
    this.#options.log?.({ method, path: shown, status, ms: Math.round(ms), attempt, details })
  }

  async #refusal(request: HttpRequest, { status, headers, bytes }: RawAnswer): Promise<Failure> {
    const { now, errorPath } = this.#options
    const dates = [one(headers['retry-after']), one(headers.date)] as const
    const retryAfterMs = parseRetryAfter(...dates, now())
    const body = await decodeErrorBody(bytes, headers)
    const text = quoteError(body, secretsIn(request.headers), errorPath)
    const what = `answered ${status}${text === null ? '' : `: "${text}"`}`
    const meaning = statusMeaning(request.contract ?? plainRead, { status, text, retryAfterMs })
    return { meaning, status, what, retryAfterMs }
  }

  /** The error of a failed call: method, path, status, attempts, a short cause, and what to do. */
  #errorOf(request: HttpRequest, failure: Failure, attempt: number): SyncError {
    const { setting, baseUrl } = this.#options
    const {
      method,
      path,
      subject,
      details,
      nextTry,
      keyAdvice = '',
      contract = plainRead,
    } = request
    const { meaning, what, status, cause, retryAfterMs } = failure
    const rule = rules[meaning]
    const documented = status === null ? undefined : contract.statuses[status]
    const { origin } = new URL(baseUrl)
    const isRead = contract.repeatable
    const facts = { keyAdvice, documented, nextTry, isRead, setting, origin }
    const isUnknown = !isRead && rule.accepted === 'unknown'
    const errorAction = isUnknown ? unknownOutcome.errorAction : rule.errorAction
    const advice = isUnknown ? unknownOutcome.advice : rule.advice(facts)
    const name = [method, withoutQuery(path), subject].filter(Boolean).join(' ')
    const sent = meaning === 'keyBlocked' ? attempt - 1 : attempt
    const tries = sent === 1 ? '1 attempt' : `${sent} attempts`
    const waitText = retryAfterMs ? `, asked to wait ${Math.ceil(retryAfterMs / 1000)} s` : ''
    return new SyncError(errorAction, `${name} ${what} (${tries}${waitText}). ${advice}`, {
      ...details,
      meaning,
      ...(status === null ? {} : { status, answer: what }),
      ...(cause === undefined ? {} : { cause }),
    })
  }
}

/** The text of an answer that is a result; null for a refusal. Rejects with RequestFault, or as `validate` throws. */
async function usableText(
  { accept = [], validate = requireJson }: HttpRequest,
  { status, headers, bytes }: RawAnswer,
  maxBytes: number,
): Promise<string | null> {
  const isAccepted = accept === 'any' || accept.includes(status)
  if (!isAccepted && (status < 200 || status >= 300)) return null
  const text = await decodeBody(bytes, headers, maxBytes)
  if (!isAccepted) validate(text, headers)
  return text
}

function reportFailure(
  limiter: KeyLimiter,
  { meaning, retryAfterMs }: Failure,
  generation: number,
): void {
  const { key } = rules[meaning]
  if (key === 'works') limiter.onSuccess(generation)
  if (key === 'throttle') limiter.onThrottle(retryAfterMs ?? undefined, generation)
  if (key === 'fault') limiter.onFault(generation)
}

/** A query may hold what a log or a message must not. */
function withoutQuery(path: string): string {
  return path.split('?')[0] || '/'
}

function secretsIn(headers: Readonly<Record<string, string>>): string[] {
  const named = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type')
  // A prefix such as "Bearer " is not part of the key.
  return named.flatMap(([, value]) => [value, ...value.split(' ')])
}

function readHttpDate(headers: AnswerHeaders): Date | null {
  const date = one(headers.date)
  return date === undefined ? null : parseHttpDate(date)
}

function one(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0]
}

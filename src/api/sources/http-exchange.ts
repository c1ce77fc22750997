import type { Dispatcher, FormData } from 'undici'
import type { Meaning } from '../../errors.ts'
import { onAbort } from '../../values/on-abort.ts'
import { type AnswerHeaders, tooLarge } from './http-body.ts'
import { RequestFault } from './status-rules.ts'

const phrases: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  UND_ERR_SOCKET: 'the connection was closed by the other side',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_INVALID_ARG: 'a header is not valid in HTTP',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was cut off',
}

/** A transport error, reduced to its codes and a phrase: undici's own errors carry bytes of the answer. */
export class TransportFault extends RequestFault {
  override readonly name = 'TransportFault'
  readonly code: string
  /** What the socket was doing, e.g. `connect`, `getaddrinfo`, `read`; null when unknown. */
  readonly syscall: string | null

  constructor(error: unknown) {
    const code = errorCode(error)
    const syscall = findSyscall(error)
    super(meaningOfTransport(code, syscall), phrases[code] ?? `the connection failed (${code})`)
    this.code = code
    this.syscall = syscall
  }
}

/** Only faults before the connection was open show that nothing was sent: on an open one the same codes do not. */
function meaningOfTransport(code: string, syscall: string | null): Meaning {
  if (code === 'UND_ERR_INVALID_ARG') return 'invalidHeader'
  const isUnconnected = syscall === 'connect' || syscall === 'getaddrinfo'
  return isUnconnected || code === 'UND_ERR_CONNECT_TIMEOUT' ? 'noConnection' : 'noAnswer'
}

function errorCode(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  // The socket's code says more than undici's wrapper of it.
  const inner = ((error as Error | undefined)?.cause as { code?: unknown } | undefined)?.code
  if (typeof inner === 'string') return inner
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}

function findSyscall(error: unknown): string | null {
  const { syscall, cause, errors } = (error ?? {}) as Record<string, unknown>
  if (typeof syscall === 'string') return syscall
  if (cause instanceof Error) return findSyscall(cause)
  // A name with several addresses has one fault for each address that was tried.
  const tried = new Set(Array.isArray(errors) ? errors.map(findSyscall) : [])
  const [only = null] = tried
  return tried.size === 1 ? only : null
}

/** The total time of an attempt (connect, headers and body) ran out; the socket was destroyed. */
export class DeadlineExceeded extends RequestFault {
  override readonly name = 'DeadlineExceeded'

  constructor(timeoutMs: number) {
    super('noAnswer', `no whole answer within ${timeoutMs / 1000} s`)
  }
}

/** A request on the origin. */
interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The full path on the origin, with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | FormData | null
}

/** What ends an exchange. */
interface ExchangeLimits {
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Any of them ends the exchange at once, with its reason. */
  readonly signals: readonly (AbortSignal | undefined)[]
}

/** A whole answer of any status. */
export interface RawAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: AnswerHeaders
  /** As sent: not decoded. */
  readonly bytes: Buffer
}

/** One request and its whole answer, over undici's dispatch (the cheapest way through the pool). Follows no redirect.
 *  Rejects with RequestFault, or the reason of a signal. */
export async function exchange(
  pool: Dispatcher,
  request: Exchange,
  limits: ExchangeLimits,
): Promise<RawAnswer> {
  for (const signal of limits.signals) signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const collector = new Collector(limits.maxBytes, resolve, reject)
  const timer = setTimeout(
    () => collector.end(new DeadlineExceeded(limits.timeoutMs)),
    limits.timeoutMs,
  )
  const stopListening = onAbort(limits.signals, (reason) => collector.end(reason))
  try {
    pool.dispatch({ ...request, headersTimeout: 0, bodyTimeout: 0 }, collector)
    return await promise
  } finally {
    clearTimeout(timer)
    stopListening()
  }
}

/** Collects one answer. `end` rejects it at once and destroys the socket, even while it is connecting. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number
  readonly #resolve: (answer: RawAnswer) => void
  readonly #reject: (error: unknown) => void
  #controller: Dispatcher.DispatchController | null = null
  #ended: Error | null = null
  #status = 0
  #headers: AnswerHeaders = {}
  #chunks: Buffer[] = []
  #size = 0

  constructor(
    maxBytes: number,
    resolve: (answer: RawAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#maxBytes = maxBytes
    this.#resolve = resolve
    this.#reject = reject
  }

  end(reason: unknown): void {
    this.#reject(reason)
    this.#ended = reason instanceof Error ? reason : new Error('aborted')
    this.#controller?.abort(this.#ended)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Ended while it waited for a connection: undici can abort it only now.
    if (this.#ended) controller.abort(this.#ended)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: AnswerHeaders,
  ): void {
    this.#status = status
    this.#headers = headers
    if (Number(headers['content-length'] ?? 0) > this.#maxBytes) this.#tooLarge()
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > this.#maxBytes) this.#tooLarge()
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    this.#resolve({ status: this.#status, headers: this.#headers, bytes })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(new TransportFault(error))
  }

  #tooLarge(): void {
    this.#chunks = []
    this.end(tooLarge(this.#maxBytes))
  }
}

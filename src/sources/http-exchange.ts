import type { Dispatcher, FormData } from 'undici'
import { onAbort } from '../values/on-abort.ts'
import { type AnswerHeaders, BodyTooLarge } from './http-body.ts'
import { TransportFault } from './http-fault.ts'

/** The total time of an attempt (connect, headers and body) ran out; the socket was destroyed. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'

  constructor(timeoutMs: number) {
    super(`no whole answer within ${timeoutMs / 1000} s`)
  }
}

/** A request on the origin. */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The full path on the origin, with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | FormData | null
}

/** What ends an exchange. */
export interface ExchangeLimits {
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
 *  Rejects with DeadlineExceeded, BodyTooLarge, TransportFault, or the reason of a signal. */
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
    this.end(new BodyTooLarge(this.#maxBytes))
  }
}

import type { ErrorDetails, ErrorAction } from '../errors.ts'
import type { AnswerHeaders } from './http-body.ts'
import type { StatusAction } from './http-fault.ts'
import type { KeyLimiter } from './limiter.ts'
import type { FormData } from 'undici'

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

/** One call of a source; `path` may hold a query, which no message repeats. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** After the base URL's prefix. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** A form sets its own content-type; its files are streamed. */
  readonly body?: string | Uint8Array | FormData
  readonly limiter: KeyLimiter
  /** True for reads alone: a write or a billable call is sent once. */
  readonly retryable: boolean
  readonly signal?: AbortSignal | undefined
  readonly onAttempt?: ((attempt: AttemptReport) => void) | undefined
  readonly whileWaiting?: WhileWaiting | undefined
  /** Statuses beside 2xx that are an answer, not an error. */
  readonly accept?: readonly number[] | 'any'
  /** Checks a 2xx body: BodyFault repeats the call, any other error ends it. Default: requireJson. */
  readonly validate?: (text: string, headers: AnswerHeaders) => void
  /** The endpoint's own actions by status. */
  readonly statusActions?: Readonly<Record<number, StatusAction>>
  /** The error action when no answer comes at all. Default: `retry`. */
  readonly unreachableAction?: ErrorAction
  /** A longer timeout than the source's own, for a call that is known to take long. */
  readonly timeoutSeconds?: number
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
  /** Of the attempt that was answered, in ms. */
  readonly durationMs: number
  /** When that attempt left and its answer came, our clock. */
  readonly requestedAt: Date
  readonly receivedAt: Date
}

import { type ErrorDetails, SyncError, type ErrorAction } from '../errors.ts'
import { type JsonPath, valueAt } from '../values/json-path.ts'

/** What to do about a status or a fault; it depends on the endpoint. `advice` is a sentence for the user. */
export interface StatusAction {
  readonly errorAction: ErrorAction
  readonly advice: string
  /** Whether a repeat within the call may help. Default: 408, 429 and the 5xx of a busy server. A 429 with a Retry-After of up to 60 s is
   *  repeated whatever this says: it is no daily quota. */
  readonly mayRetry?: boolean
}

/** Where an answer came from, for errors about its body. `where` follows "The answer of"; `secrets` are cut out of quotations. */
export interface AnswerContext {
  readonly where: string
  readonly details: ErrorDetails
  readonly secrets: readonly string[]
}

/** An error about a 2xx body: quotes its `error` string where it has one, else says `otherwise`. The record itself is never quoted. */
export function bodyError(
  errorAction: ErrorAction,
  body: unknown,
  otherwise: string,
  { where, details, secrets }: AnswerContext,
): SyncError {
  const text = errorText(body, secrets)
  const fault = text === null ? otherwise : `is an error: "${text}".`
  return new SyncError(errorAction, `The answer of ${where} ${fault}`, { ...details, status: 200 })
}

/** The text of an error body at `path` (default: `error`), fit for a log; null when there is none. */
export function quoteError(
  text: string,
  secrets: readonly string[],
  path: JsonPath = 'error',
): string | null {
  // A body of megabytes is no error message.
  if (text.length > 65_536 || !/^\s*\{/.test(text)) return null
  try {
    return errorText(JSON.parse(text), secrets, path)
  } catch {
    // Not JSON, so nothing in it may be quoted.
    return null
  }
}

function errorText(
  body: unknown,
  secrets: readonly string[],
  path: JsonPath = 'error',
): string | null {
  // Where the document shows a body it is `error`, whatever the settings say [A §7].
  const error = valueAt(body, path) ?? valueAt(body, 'error')
  return typeof error === 'string' && error.trim() !== '' ? withoutPersons(error, secrets) : null
}

/** At most 200 characters on one line, without the secrets, emails, phone numbers and URL queries. */
function withoutPersons(error: string, secrets: readonly string[]): string {
  let text = error.slice(0, 2000)
  for (const secret of secrets) if (secret.length >= 4) text = text.replaceAll(secret, '[secret]')
  return text
    .replaceAll(/[\p{Cc}\s"]+/gu, ' ')
    .replaceAll(/\?[^\s]*=[^\s]*/g, '?[query]')
    .replaceAll(/[^\s@<>()',;:]+(?:@|%40)[^\s@<>()',;:]+/gi, '[email]')
    .replaceAll(/(?:\+|\b0)\d(?:[ ()-]{0,2}\d){7,}/g, '[phone]')
    .trim()
    .slice(0, 200)
}

/** The action for a status that the endpoint does not define. `setting` is the config's name of the base URL. */
export function defaultActionOf(status: number, setting: string): StatusAction {
  if (status === 401 || status === 403)
    return { errorAction: 'abort', advice: 'Check the API key.' }
  if (status === 404)
    return { errorAction: 'abort', advice: `Check ${setting}: there is no such path.` }
  if (status === 408 || status === 429 || status >= 500) return later
  if (status < 400)
    return {
      errorAction: 'abort',
      advice: `Redirects are not followed: set ${setting} to the final address.`,
    }
  return {
    errorAction: 'abort',
    advice: 'The source refuses the request: check the wire settings.',
  }
}

const later: StatusAction = {
  errorAction: 'retry',
  advice: 'Nothing is lost: the next sync tries again.',
}

/** The action when no answer came, or one that is not JSON. `origin` is the host and port of the base URL. */
export function noAnswerAction(setting: string, origin: string): StatusAction {
  return {
    errorAction: 'retry',
    advice: `${later.advice} If this continues, check ${setting} (${origin}) and the network.`,
  }
}

/** The action for a write whose outcome is unknown: a repeat could take effect twice. */
export const unknownOutcome: StatusAction = {
  errorAction: 'abort',
  advice: 'It was not repeated because it may have taken effect: check at the source.',
}

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
export class TransportFault extends Error {
  override readonly name = 'TransportFault'
  readonly code: string
  /** What the socket was doing, e.g. `connect`, `getaddrinfo`, `read`; null when unknown. */
  readonly syscall: string | null

  constructor(error: unknown) {
    const code = codeOf(error)
    super(phrases[code] ?? `the connection failed (${code})`)
    this.code = code
    this.syscall = syscallOf(error)
  }
}

function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  // The socket's code says more than undici's wrapper of it.
  const inner = ((error as Error | undefined)?.cause as { code?: unknown } | undefined)?.code
  if (typeof inner === 'string') return inner
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'unknown'
}

function syscallOf(error: unknown): string | null {
  const { syscall, cause, errors } = (error ?? {}) as Record<string, unknown>
  if (typeof syscall === 'string') return syscall
  if (cause instanceof Error) return syscallOf(cause)
  // A name with several addresses has one fault for each address that was tried.
  const tried = new Set(Array.isArray(errors) ? errors.map(syscallOf) : [])
  const [only = null] = tried
  return tried.size === 1 ? only : null
}

/** An attempt without a usable answer. */
export interface Failure {
  readonly status: number | null
  /** Follows the path in the message. */
  readonly what: string
  readonly cause?: Error
  /** Whether a repeat may help. */
  readonly mayRetry: boolean
  readonly retryAfterMs: number | null
  readonly action: StatusAction
}

/** The parts of a call that messages name. */
export interface NamedCall {
  readonly method: string
  readonly path: string
  readonly subject?: string
  readonly details?: ErrorDetails
}

/** The error of a failed call: method, path, status, attempts, a short cause, and what to do. */
export function errorOf(call: NamedCall, failure: Failure, attempts: number): SyncError {
  const { method, path, subject, details } = call
  const { what, action, status, cause, retryAfterMs } = failure
  // A query may hold what a message must not.
  const name = [method, path.split('?')[0] || '/', subject].filter(Boolean).join(' ')
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const asked = retryAfterMs ? `, asked to wait ${Math.ceil(retryAfterMs / 1000)} s` : ''
  const message = `${name} ${what} (${tries}${asked}). ${action.advice}`
  return new SyncError(action.errorAction, message, {
    ...details,
    ...(status === null ? {} : { status }),
    ...(cause === undefined ? {} : { cause }),
  })
}

/** What the pipeline does about a fault. `retry`: try the slice later; `skip`: leave the record out; `park`: leave the stream until
 *  tomorrow; `abort`: end the stream. */
export type ErrorAction = 'retry' | 'skip' | 'park' | 'abort'

/** What a failed request means at its operation; sources/status-rules.ts says what follows. */
export type Meaning =
  /** The key is refused (401, 403). keyOrRecord: or the record or region, the status is one. */
  | 'keyRefused'
  | 'keyOrRecordRefused'
  /** Documented for what the call is about. */
  | 'recordRefused'
  /** The request itself: nothing of this kind would be accepted. */
  | 'requestRefused'
  | 'noSuchPath'
  | 'redirected'
  /** 429 of a daily throttle or quota; of a report that is running; of a rate limit. */
  | 'quotaUsed'
  | 'reportRunning'
  | 'throttled'
  /** 503 with and without Retry-After; 408, 500, 502 and 504; any other 5xx. */
  | 'overloaded'
  | 'unavailable'
  | 'busy'
  | 'failed'
  /** No connection; no whole answer, or a page; a broken or too large body; nothing was sent. */
  | 'noConnection'
  | 'noAnswer'
  | 'brokenRecord'
  | 'tooLarge'
  | 'invalidHeader'
  | 'keyBlocked'

/** What an error is about: the message says it too, the fields are for the log and for code. */
export interface ErrorDetails extends ErrorOptions {
  readonly stream?: string
  readonly rooftopUid?: string
  readonly naturalKey?: string
  /** HTTP status of the answer, where there was one. */
  readonly status?: number
  /** The API key of the request, as in ops.rate_budget, and what the source answered to it. */
  readonly key?: string
  readonly answer?: string
  /** Where a request failed. */
  readonly meaning?: Meaning
}

/** A fault of the source or of a record. The code that knows the protocol makes it; the pipeline acts on its `errorAction`. */
export class SyncError extends Error {
  override readonly name = 'SyncError'
  readonly errorAction: ErrorAction
  readonly stream: string | undefined
  readonly rooftopUid: string | undefined
  readonly naturalKey: string | undefined
  readonly status: number | undefined
  readonly key: string | undefined
  readonly answer: string | undefined
  readonly meaning: Meaning | undefined

  constructor(errorAction: ErrorAction, message: string, details: ErrorDetails = {}) {
    super(message, details)
    this.errorAction = errorAction
    this.stream = details.stream
    this.rooftopUid = details.rooftopUid
    this.naturalKey = details.naturalKey
    this.status = details.status
    this.key = details.key
    this.answer = details.answer
    this.meaning = details.meaning
  }
}

/** Wrong usage or configuration: exit 2, nothing started. The message says what, where, and what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Postgres does not answer, or the database has no schema: exit 2, or the process waits. `mayBeConfig`: the name of its host or
 *  database may be wrong. */
export class UnreachableError extends UsageError {
  readonly mayBeConfig: boolean

  constructor(message: string, mayBeConfig: boolean) {
    super(message)
    this.mayBeConfig = mayBeConfig
  }
}

/** Another run holds the same work: exit 3, nothing started. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
}

/** This process no longer owns the work it was doing: its transaction was rolled back and wrote nothing. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

/** The warehouse has been migrated by a newer version: this process must not write to it any more. Exit 1. */
export class OutdatedError extends Error {
  override readonly name = 'OutdatedError'
}

/** The message of anything that was thrown, on one line and without the values of a record that it quotes. */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(errorText).join('; ')
  const text = withoutQuotation(
    error,
    error instanceof Error ? error.message || error.name : String(error),
  )
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** Removes quoted values: JSON.parse quotes what it read, Postgres a value that it could not read (SQLSTATE class 22). Either may be
 *  a customer's. */
function withoutQuotation(error: unknown, text: string): string {
  if (error instanceof SyntaxError && text.endsWith(' is not valid JSON')) return 'unexpected token'
  if (!isPostgresError(error) || !error.code.startsWith('22')) return text
  const start = text.split('"', 1)[0]!.trim()
  return `${start.endsWith(':') ? start.slice(0, -1) : start} (SQLSTATE ${error.code})`
}

/** Whether Postgres sent the error: it has a severity and an SQLSTATE. */
function isPostgresError(error: unknown): error is Error & { readonly code: string } {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return error instanceof Error && typeof code === 'string' && typeof severity === 'string'
}

/** The stack of an error without its beginning, which is the message and may quote a record. */
export function stackFrames(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { stack = '', message } = error
  const at = stack.indexOf(message)
  const frames = stack.slice(at < 0 ? 0 : at + message.length).split('\n')
  return frames.filter((line) => line.startsWith('    at ')).join('\n')
}

/** Whether the system gave one of these codes. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && codes.includes((error as NodeJS.ErrnoException).code ?? '')
}

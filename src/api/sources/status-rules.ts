import { type ErrorAction, type Meaning, SyncError } from '../../errors.ts'
import type { Operation } from '../contract/operation.ts'

// Every rule about failed requests: what a status means at an operation, what follows from it, and how long a key rests.

/** The parts of an operation that decide what a status means there. */
export type StatusContract = Pick<Operation, 'statuses' | 'about' | 'repeatable'>

/** The contract of a read that no document describes. */
export const plainRead: StatusContract = { statuses: {}, about: {}, repeatable: true }

/** What advice may name. */
interface AdviceFacts {
  /** What to check when the key is refused; ends with a full stop. */
  readonly keyAdvice: string
  /** When the operation gives the status; undefined where it is not documented. */
  readonly documented: string | undefined
  /** Who tries again; ends with a full stop. undefined: the caller may. */
  readonly nextTry: string | undefined
  /** Whether the call changes nothing at the source. */
  readonly isRead: boolean
  /** The config's name of the base URL. */
  readonly setting: string
  /** Host and port of the base URL. */
  readonly origin: string
}

interface Backoff {
  /** Upper bound of the first wait, in ms. */
  readonly baseMs: number
  /** No wait is longer than this, in ms. */
  readonly capMs: number
}

/** After a reset or an error of the server. */
export const faultBackoff: Backoff = { baseMs: 250, capMs: 30_000 }
/** After a 429 or 503 without Retry-After: 6 retries span a minute in expectation. */
export const throttleBackoff: Backoff = { baseMs: 2000, capMs: 60_000 }

/** What follows from a failed request. */
interface Rule {
  readonly errorAction: ErrorAction
  /** How a read waits before it is sent again within its call; null: it is not. */
  readonly backoff: Backoff | null
  /** What the key's limiter learns: the source works, it throttles the key, it is at fault; null: nothing. */
  readonly key: 'works' | 'throttle' | 'fault' | null
  /** Whether the source may have accepted the request. */
  readonly accepted: 'no' | 'unknown'
  readonly advice: (facts: AdviceFacts) => string
}

const asDocumented = ({ documented }: AdviceFacts) => `Documented as: ${documented}.`
const later = ({ nextTry, isRead }: AdviceFacts) =>
  nextTry === undefined && !isRead
    ? 'Nothing was changed: try again later.'
    : `Nothing is lost: ${nextTry ?? 'try again later.'}`
const checkNetwork = (facts: AdviceFacts) =>
  `${later(facts)} If this continues, check ${facts.setting} (${facts.origin}) and the network.`

const refusal = { errorAction: 'abort', backoff: null, key: 'works', accepted: 'no' } as const
const documentedRefusal = { ...refusal, errorAction: 'skip', advice: asDocumented } as const
const fault = {
  errorAction: 'retry',
  backoff: faultBackoff,
  key: 'fault',
  accepted: 'unknown',
} as const
const unsent = { errorAction: 'abort', backoff: null, key: null, accepted: 'no' } as const

/** The table: what follows from each meaning of a failed request. */
export const rules: Readonly<Record<Meaning, Rule>> = {
  keyRefused: { ...refusal, advice: ({ keyAdvice }) => keyAdvice || 'Check the API key.' },
  keyOrRecordRefused: {
    ...refusal,
    advice: (facts) => `${asDocumented(facts)} If it is the key: ${lowerFirst(facts.keyAdvice)}`,
  },
  recordRefused: documentedRefusal,
  requestRefused: {
    ...refusal,
    advice: () => 'The source refuses the request: check the wire settings.',
  },
  noSuchPath: {
    ...refusal,
    advice: ({ setting }) => `Check ${setting}: there is no such path.`,
  },
  redirected: {
    ...refusal,
    // 303 is the usual answer to a POST that took effect.
    accepted: 'unknown',
    advice: ({ setting }) => `Redirects are not followed: set ${setting} to the final address.`,
  },
  // A quota of the operation does not concern the key's other calls.
  quotaUsed: { ...documentedRefusal, errorAction: 'park' },
  reportRunning: { ...documentedRefusal, errorAction: 'retry' },
  throttled: { ...fault, backoff: throttleBackoff, key: 'throttle', accepted: 'no', advice: later },
  overloaded: { ...fault, key: 'throttle', advice: later },
  unavailable: { ...fault, backoff: throttleBackoff, advice: later },
  busy: { ...fault, advice: later },
  failed: { ...fault, backoff: null, advice: later },
  noConnection: { ...fault, accepted: 'no', advice: checkNetwork },
  noAnswer: { ...fault, advice: checkNetwork },
  // The fault of one record: the key goes on at its speed.
  brokenRecord: { ...fault, key: null, advice: checkNetwork },
  tooLarge: { ...unsent, accepted: 'unknown', advice: () => 'Ask for less at once.' },
  invalidHeader: {
    ...unsent,
    advice: () => 'Check the key and the rooftop uid for line ends and invalid characters.',
  },
  keyBlocked: { ...unsent, errorAction: 'retry', advice: later },
}

/** What follows when a request that must not be repeated may have taken effect. */
export const unknownOutcome = {
  errorAction: 'abort',
  advice: 'It was not repeated because it may have taken effect: check at the source.',
} as const

/** Why no usable answer came. `meaning` says what follows. */
export class RequestFault extends Error {
  override readonly name: string = 'RequestFault'
  readonly meaning: Meaning

  constructor(meaning: Meaning, message: string) {
    super(message)
    this.meaning = meaning
  }
}

/** How long calls and keys rest. Times in ms. */
export const rests = {
  /** A 429 that names a wait of at most this is a rate limit; a daily quota names none, or a longer one. A wait of at least this
   *  concerns the whole key, even if only one call was refused. */
  briefMs: 60_000,
  /** A 429 that names a wait of at most this rests its key, even if only one call was refused. */
  shortMs: 2000,
  /** The longest that a call waits for its key or its retry. Beyond it the work goes back to the pipeline instead of holding a slot. */
  longestOfCallMs: 15 * 60_000,
  /** The longest block of a key that processes share. After it, a source with a longer Retry-After is asked again. */
  longestOfKeyMs: 24 * 3_600_000,
  /** After this many refusals with no clean answer between them, the source refuses every call: the key rests however long it asks. */
  refusalsInARow: 3,
  /** When this many rooftops of a key are refused in a row, the key is at fault and not the rooftops: it rests for an operation. */
  refusedRooftops: 10,
  refusedKeyMs: 10 * 60_000,
} as const

/** What an answer outside 2xx means at an operation. `text`: its error text; `retryAfterMs`: the wait that it asks for. */
export function statusMeaning(
  { statuses, about }: StatusContract,
  answer: {
    readonly status: number
    readonly text: string | null
    readonly retryAfterMs: number | null
  },
): Meaning {
  const { status, text, retryAfterMs } = answer
  const documented = statuses[status]
  if (status === 429) {
    if (documented === undefined) return 'throttled'
    // One status for two reasons: only the text shows which [A §7 /carhistory].
    if (/request in progress/i.test(text ?? '')) return 'reportRunning'
    const isBrief = retryAfterMs !== null && retryAfterMs > 0 && retryAfterMs <= rests.briefMs
    return isBrief ? 'throttled' : 'quotaUsed'
  }
  if (status >= 500 || status === 408) {
    // A proxy answers with the same statuses: only the documented words in their order show that the service answered.
    if (documented !== undefined && holdsWords(text ?? '', documented)) return 'recordRefused'
    if (status === 503) return retryAfterMs === null ? 'unavailable' : 'overloaded'
    return [408, 500, 502, 504].includes(status) ? 'busy' : 'failed'
  }
  const isOfKey = status === 401 || status === 403
  const subject = about[status] ?? (isOfKey ? 'key' : documented === undefined ? null : 'record')
  if (subject !== null) return `${subject}Refused`
  if (status === 404) return 'noSuchPath'
  return status < 400 ? 'redirected' : 'requestRefused'
}

/** The wait before repeat `attempt` of a read, in ms; null: it is not repeated. `random` is in [0, 1). */
export function waitBeforeRepeat(
  failure: { readonly meaning: Meaning; readonly retryAfterMs: number | null },
  attempt: number,
  random: () => number,
): number | null {
  const { meaning, retryAfterMs } = failure
  const { backoff } = rules[meaning]
  if (backoff === null || (retryAfterMs ?? 0) > rests.longestOfCallMs) return null
  // Retry-After decides when it is present. 0 names no wait: the backoff keeps retries from coming all at once.
  return retryAfterMs || backoffMs(attempt, retryAfterMs === 0 ? faultBackoff : backoff, random)
}

/** Whether the source carried a failed call out: yes when it answered 2xx, however its body reads. */
export function wasAccepted(error: unknown): 'yes' | 'no' | 'unknown' {
  if (!(error instanceof SyncError)) return 'unknown'
  const { meaning, status, cause } = error
  // Also with a page, nothing or a broken encoding as its body.
  if (status !== undefined && status >= 200 && status < 300) return 'yes'
  if (meaning !== undefined) return rules[meaning].accepted
  if (status !== undefined) return 'unknown'
  return cause === undefined ? 'no' : 'unknown'
}

/** Whether the key is refused, so that no other call of the operation with it will succeed. */
export function isKeyRefused(error: unknown): boolean {
  const meaning = error instanceof SyncError ? error.meaning : undefined
  return meaning === 'keyRefused' || meaning === 'keyOrRecordRefused'
}

/** The key whose refusal an error is, or may be; null: it has another cause. */
export function findRefusedKey(error: unknown): string | null {
  return error instanceof SyncError && isKeyRefused(error) ? (error.key ?? null) : null
}

/** Whether an answer shows that the source accepts the key: it answered, or refused what the call is about. */
export function isKeyAccepted(error: SyncError): boolean {
  const { meaning, status = 0 } = error
  return meaning === 'recordRefused' || (status >= 200 && status < 300)
}

/** Whether an error may concern its record alone, while the list and other records are answered: a wrong address or key would fail
 *  the list too. 400 concerns the key's user and 401 the key, so they are not included. */
export function isPerhapsOfRecord(error: unknown): error is SyncError {
  if (!(error instanceof SyncError) || error.status === undefined) return false
  const { status, errorAction } = error
  return (
    status === 403 || (errorAction === 'abort' && status >= 300 && status !== 400 && status !== 401)
  )
}

/** Whether every other call for the rooftop would fail like this one: nothing may be sent, or the key is not known. */
export function isHopeless({ errorAction, status }: SyncError): boolean {
  return errorAction === 'abort' && (status === undefined || status === 401)
}

/** The wait before retry `retry` (1 is the first), in whole ms: uniform in [0, min(cap, base · 2^(retry−1))].
 *  Full jitter, so that callers that failed together do not come back together. `random` is in [0, 1). */
export function backoffMs(retry: number, { baseMs, capMs }: Backoff, random: () => number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** (Math.max(1, retry) - 1))
  return Math.floor(random() * (ceiling + 1))
}

function holdsWords(text: string, documented: string): boolean {
  const wanted = splitWords(documented)
  let found = 0
  for (const word of splitWords(text)) if (word === wanted[found]) found += 1
  return wanted.length > 0 && found === wanted.length
}

function splitWords(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}

function lowerFirst(text: string): string {
  return `${text[0]?.toLowerCase() ?? ''}${text.slice(1)}`
}

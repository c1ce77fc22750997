import type { Operation } from '../contract/operation.ts'
import { SyncError } from '../errors.ts'
import { TransportFault } from '../sources/http-fault.ts'
import { KeyBlocked } from '../sources/limiter.ts'
import type { Outcome } from './ledger.ts'

/** Faults before the connection was open. On an open connection the same codes do not show what was sent. */
const unsentSyscalls = new Set(['connect', 'getaddrinfo'])
const unsentCodes = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_INVALID_ARG'])

/** Whether a failed billable call may have cost money. A 2xx did. A 4xx did not, nor did a 5xx with the text that the document states
 *  for it. Any other 5xx, or no answer, may have. */
export function outcomeOf(error: unknown, { statuses }: Pick<Operation, 'statuses'>): Outcome {
  if (!(error instanceof SyncError)) return 'unknown'
  const { status, cause } = error
  if (status === undefined) return isUnsent(cause) ? 'released' : 'unknown'
  if (status >= 200 && status < 300) return 'committed'
  const isRefusal = status >= 400 && status < 500 && status !== 408
  return isRefusal || isDocumented(error, statuses[status]) ? 'released' : 'unknown'
}

function isUnsent(cause: unknown): boolean {
  if (cause === undefined || cause instanceof KeyBlocked) return true
  if (!(cause instanceof TransportFault)) return false
  return unsentSyscalls.has(cause.syscall ?? '') || unsentCodes.has(cause.code)
}

/** A proxy answers with the same statuses: only the documented words in their order prove that the service answered. */
function isDocumented(error: SyncError, documented: string | undefined): boolean {
  const answered = wordsOf(answerText(error))
  const wanted = wordsOf(documented ?? '')
  let found = 0
  for (const word of answered) if (word === wanted[found]) found += 1
  return wanted.length > 0 && found === wanted.length
}

/** The text of the answer; the advice after it in the message quotes the document. */
function answerText({ message }: SyncError): string {
  return /^[^"]*answered \d+: "([^"]*)"/.exec(message)?.[1] ?? ''
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}

/** Why a paid call was refused with 429: a report of the evaluation is running, or the daily throttle. Only the text of the answer
 *  shows it; an unknown text counts as the throttle [A §7 /carhistory]. Null: another error. */
export function throttleOf(
  error: unknown,
  documented: Readonly<Record<number, string>>,
): 'running' | 'daily' | null {
  if (!(error instanceof SyncError) || error.status !== 429) return null
  if (!Object.hasOwn(documented, 429)) return null
  return /request in progress/i.test(answerText(error)) ? 'running' : 'daily'
}

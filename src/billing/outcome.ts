import type { Operation } from '../contract/operation.ts'
import { SyncError } from '../errors.ts'
import { TransportFault } from '../sources/http-fault.ts'
import { KeyBlocked } from '../sources/limiter.ts'
import type { Outcome } from './ledger.ts'

/** Faults before there was a connection. The same codes on one that stood say nothing of what had been sent. */
const unsentSyscalls = new Set(['connect', 'getaddrinfo'])
const unsentCodes = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_INVALID_ARG'])

/** Whether a billable call that failed may have cost money. A 4xx did not, nor did a 5xx that says in its own words what the
 *  document states for it; a 2xx did; what nobody answered, or any other 5xx, may have. */
export function outcomeOf(error: unknown, { statuses }: Pick<Operation, 'statuses'>): Outcome {
  if (!(error instanceof SyncError)) return 'unknown'
  const { status, cause } = error
  if (status === undefined) return isUnsent(cause) ? 'released' : 'unknown'
  if (status >= 200 && status < 300) return 'committed'
  const isRefusal = status >= 400 && status < 500 && status !== 408
  return isRefusal || saysAsDocumented(error, statuses[status]) ? 'released' : 'unknown'
}

function isUnsent(cause: unknown): boolean {
  if (cause === undefined || cause instanceof KeyBlocked) return true
  if (!(cause instanceof TransportFault)) return false
  return unsentSyscalls.has(cause.syscall ?? '') || unsentCodes.has(cause.code)
}

/** A proxy answers with the same statuses: only the documented words, in their order, are the service's own. */
function saysAsDocumented(error: SyncError, documented: string | undefined): boolean {
  const said = wordsOf(ownWords(error))
  const wanted = wordsOf(documented ?? '')
  let found = 0
  for (const word of said) if (word === wanted[found]) found += 1
  return wanted.length > 0 && found === wanted.length
}

/** What the answer said; what follows in the message is advice, which quotes the document. */
function ownWords({ message }: SyncError): string {
  return /^[^"]*answered \d+: "([^"]*)"/.exec(message)?.[1] ?? ''
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}

/** Why a paid call was refused with 429: a report of the evaluation is running, or the day's throttle. Told by the text of
 *  the answer alone; a text that is not known is taken for the throttle [A §7 /carhistory]. Null: another error. */
export function throttleOf(
  error: unknown,
  documented: Readonly<Record<number, string>>,
): 'running' | 'daily' | null {
  if (!(error instanceof SyncError) || error.status !== 429) return null
  if (!Object.hasOwn(documented, 429)) return null
  return /request in progress/i.test(ownWords(error)) ? 'running' : 'daily'
}

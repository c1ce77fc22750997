import { SyncError } from '../errors.ts'
import { TransportFault } from '../sources/http-fault.ts'
import { KeyBlocked } from '../sources/limiter.ts'
import type { Outcome } from './ledger.ts'

/** Faults of a request that never reached the service. */
const unsent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
])

/** Whether a billable call that failed may have cost money. An error that the document states for the operation, and any
 *  other 4xx, did not; a 2xx did; what nobody answered, or an unexpected 5xx, may have. */
export function outcomeOf(error: unknown, documented: Readonly<Record<number, string>>): Outcome {
  if (!(error instanceof SyncError)) return 'unknown'
  const { status, cause } = error
  if (status !== undefined) return outcomeOfStatus(status, documented)
  const isUnsent =
    cause === undefined ||
    cause instanceof KeyBlocked ||
    (cause instanceof TransportFault && unsent.has(cause.code))
  return isUnsent ? 'released' : 'unknown'
}

function outcomeOfStatus(status: number, documented: Readonly<Record<number, string>>): Outcome {
  if (status >= 200 && status < 300) return 'committed'
  const isRefusal = status >= 400 && status < 500 && status !== 408
  return isRefusal || Object.hasOwn(documented, status) ? 'released' : 'unknown'
}

/** Why a paid call was refused with 429: a report of the evaluation is running, or the day's throttle. Told by the text of
 *  the answer alone; a text that is not known is taken for the throttle [A §7 /carhistory]. Null: another error. */
export function throttleOf(
  error: unknown,
  documented: Readonly<Record<number, string>>,
): 'running' | 'daily' | null {
  if (!(error instanceof SyncError) || error.status !== 429) return null
  if (!Object.hasOwn(documented, 429)) return null
  // What follows the answer's own words is advice, which quotes the document.
  return /^[^"]*answered 429: "[^"]*request in progress/i.test(error.message) ? 'running' : 'daily'
}

import { type ErrorAction, errorText, SyncError } from '../../errors.ts'
import { RecordIssues } from '../../values/record.ts'
import { LockTimeout } from '../../warehouse/db/locks.ts'
import type { Unavailable } from './link.ts'

/** How long a click waits for the source in total. */
export const clickTimeoutMs = 15_000

/** Seconds until another click may help: a fault passes, a key must be corrected, a quota lasts until tomorrow. */
const retryAfter: Readonly<Record<ErrorAction, number>> = {
  retry: 60,
  skip: 600,
  abort: 600,
  park: 3600,
}

/** A signal for one click's calls. */
export function withClickTimeout(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(clickTimeoutMs)])
}

/** The outcome of a click after a fault of the source. Any other error is thrown again: it is a fault of ours. */
export function unavailable(error: unknown, signal: AbortSignal): Unavailable {
  const after = (retryAfterSeconds: number): Unavailable => ({
    is: 'unavailable',
    retryAfterSeconds,
    reason: errorText(error),
  })
  if (error instanceof SyncError) return after(retryAfter[error.errorAction])
  if (error instanceof RecordIssues) return after(retryAfter.skip)
  if (error instanceof LockTimeout || signal.aborted) return after(30)
  throw error
}

import { messageOf, SyncError, type ErrorAction } from '../errors.ts'
import { RecordIssues } from '../streams/record.ts'
import type { Unavailable } from './link.ts'
import { LockTimeout } from './sign-lock.ts'

/** How long a click waits for the source in all. */
export const clickTimeoutMs = 15_000

/** When a click may help again: a fault passes, a key must be mended, a quota lasts until tomorrow. */
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

/** What a fault of the source means to a click. Anything else is thrown on: it is a fault of ours. */
export function unavailable(error: unknown, signal: AbortSignal): Unavailable {
  const told = (retryAfterSeconds: number): Unavailable => ({
    is: 'unavailable',
    retryAfterSeconds,
    reason: messageOf(error),
  })
  if (error instanceof SyncError) return told(retryAfter[error.errorAction])
  if (error instanceof RecordIssues) return told(retryAfter.skip)
  if (error instanceof LockTimeout || signal.aborted) return told(30)
  throw error
}

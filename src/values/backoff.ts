export interface Backoff {
  /** Upper bound of the first wait, in ms. */
  readonly baseMs: number
  /** No wait is longer than this, in ms. */
  readonly capMs: number
}

/** After a reset or an error of the server. */
export const faultBackoff: Backoff = { baseMs: 250, capMs: 30_000 }
/** After a 429 or 503 without Retry-After: 6 retries span a minute in expectation. */
export const throttleBackoff: Backoff = { baseMs: 2000, capMs: 60_000 }

/** The wait before retry `retry` (1 is the first), in whole ms: uniform in [0, min(cap, base · 2^(retry−1))].
 *  Full jitter, so that callers that failed together do not come back together. `random` is in [0, 1). */
export function backoffMs(retry: number, { baseMs, capMs }: Backoff, random: () => number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** (Math.max(1, retry) - 1))
  return Math.floor(random() * (ceiling + 1))
}

import { parseHttpDate } from './http-date.ts'

/** The wait that a Retry-After header asks for, in ms (0 when the moment has passed); null when it is absent or unreadable.
 *  A date is by the source's clock, so the wait is measured from its Date header, and from `now` (ours) only where that is missing.
 *  RFC 9110 §10.2.3. */
export function parseRetryAfter(
  header: string | undefined,
  dateHeader: string | undefined,
  now: Date,
): number | null {
  const text = header?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000)
  const until = parseHttpDate(text)
  if (until === null) return null
  const from = (dateHeader === undefined ? null : parseHttpDate(dateHeader)) ?? now
  return Math.max(0, until.getTime() - from.getTime())
}

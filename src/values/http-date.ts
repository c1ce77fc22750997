const months = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const time = '\\d{2}:\\d{2}:\\d{2}'
const imf = new RegExp(`^\\w{3}, \\d{2} (?:${months}) \\d{4} ${time} GMT$`)
const rfc850 = new RegExp(`^\\w{6,9}, \\d{2}-(?:${months})-\\d{2} ${time} GMT$`)
const asctime = new RegExp(`^\\w{3} (?:${months}) [ \\d]\\d ${time} \\d{4}$`)

/** An HTTP date in any of the three forms of RFC 9110 §5.6.7; null when it is none. Whole seconds, UTC. */
export function parseHttpDate(header: string): Date | null {
  const text = header.trim()
  if (imf.test(text)) return valid(text)
  if (rfc850.test(text)) return valid(text.replaceAll('-', ' '))
  // asctime names no zone: without GMT, Date would read it in the machine's.
  return asctime.test(text) ? valid(`${text} GMT`) : null
}

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

function valid(text: string): Date | null {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? null : at
}

const isoInstant = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/i
const isoDate = /^(\d{4})-(\d{2})-(\d{2})$/
const zoneless = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d+)?)?$/

/** A date (midnight UTC) or an ISO instant with a zone designator; null when it is neither or does not exist (31 February). */
export function parseInstant(text: string): Date | null {
  if (text.length === 24) {
    // The form that JavaScript and most services write: half the cost of the general case.
    const date = new Date(text)
    if (!Number.isNaN(date.getTime()) && date.toISOString() === text) return date
  }
  const date = isoDate.exec(text)
  if (date) return utc(date.slice(1, 4).map(Number))
  if (!isoInstant.test(text) || utc(text.slice(0, 10).split('-').map(Number)) === null) return null
  return valid(new Date(text.replace(' ', 'T')))
}

/** `YYYY-MM-dd hh:mm:ss` without a designator is UTC, on any machine in any zone [A §2 EntryDate]. */
export function parseUtc(text: string): Date | null {
  const parts = zoneless.exec(text.trim())
  if (!parts) return parseInstant(text.trim())
  const day = utc(parts.slice(1, 4).map(Number))
  if (day === null) return null
  const [hours, minutes, seconds] = [parts[4], parts[5], parts[6] ?? '0'].map(Number) as [
    number,
    number,
    number,
  ]
  if (hours > 23 || minutes > 59 || seconds > 59) return null
  return new Date(day.getTime() + ((hours * 60 + minutes) * 60 + seconds) * 1000)
}

/** Unix seconds or milliseconds from 1990 to 2200, as a number or in a text; null: it is neither. */
export function parseEpoch(value: unknown): Date | null {
  const number = typeof value === 'string' && /^\d{9,13}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number') return null
  const seconds = number < 100_000_000_000 ? number : number / 1000
  return seconds >= 631_152_000 && seconds < 7_258_118_400 ? new Date(seconds * 1000) : null
}

function utc([year, month, day]: number[]): Date | null {
  const date = new Date(Date.UTC(year!, month! - 1, day!))
  return date.getUTCMonth() === month! - 1 && date.getUTCDate() === day ? date : null
}

function valid(date: Date): Date | null {
  return Number.isNaN(date.getTime()) ? null : date
}

const formats = new Map<string, Intl.DateTimeFormat>()
/** Days by zone and quarter of an hour; null where a day begins, or the clocks change, within the quarter. */
const days = new Map<string, Map<number, string | null>>()
const quarterMs = 15 * 60_000
const maxQuarters = 50_000

/** The calendar day of an instant in a zone, as `YYYY-MM-DD`. */
export function localDay(at: Date, timeZone: string): string {
  const known = cachedQuarters(timeZone)
  const quarter = Math.floor(at.getTime() / quarterMs)
  const found = known.get(quarter)
  if (typeof found === 'string') return found
  if (found === undefined) known.set(quarter, dayOfQuarter(quarter, timeZone))
  return dateTimeFormat(timeZone).format(at)
}

/** The first instant of a calendar day (`YYYY-MM-DD`) in a zone, also where its midnight does not exist. */
export function startOfDay(day: string, timeZone: string): Date {
  // No zone is further from UTC; a day begins on a whole minute.
  const midnight = Date.parse(`${day}T00:00:00Z`) / 60_000
  let [before, from] = [midnight - 15 * 60, midnight + 15 * 60]
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2)
    if (localDay(new Date(middle * 60_000), timeZone) < day) before = middle
    else from = middle
  }
  return new Date(from * 60_000)
}

/** Whether a text is a calendar day that exists, of the years that data can be of. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < '1900' || text > '2100') return false
  const at = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** A calendar day, a number of days later; negative: earlier. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

/** The time of day of an instant in a zone, as `hh:mm`. */
export function localTime(at: Date, timeZone: string): string {
  const options = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return new Intl.DateTimeFormat('en-GB', options).format(at)
}

/** A cache: formatting takes longer than everything else that is done with a time, and a load has many of the same hour. */
function cachedQuarters(timeZone: string): Map<number, string | null> {
  let known = days.get(timeZone)
  if (!known || known.size >= maxQuarters) {
    known = new Map()
    days.set(timeZone, known)
  }
  return known
}

function dayOfQuarter(quarter: number, timeZone: string): string | null {
  const format = dateTimeFormat(timeZone)
  const first = format.format(quarter * quarterMs)
  return first === format.format((quarter + 1) * quarterMs - 1) ? first : null
}

function dateTimeFormat(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    })
    formats.set(timeZone, format)
  }
  return format
}

/** The years that the times of a record may have: others are mistakes, and Postgres refuses year 0. */
const [firstYear, lastYear] = [1970, 2200]
/** The issue with any other time. */
export const yearsMessage = `is not in the years ${firstYear} to ${lastYear}`

/** Whether a record may have the time. */
export function isRecordTime(at: Date): boolean {
  const year = at.getUTCFullYear()
  return year >= firstYear && year <= lastYear
}

/** How far the clocks of one service may differ. */
const clockMarginMs = 3_600_000

/** Whether a time of a record is ahead of the source's clock at the reading. */
export function isAhead(at: Date, sourceNow: Date): boolean {
  return at.getTime() > sourceNow.getTime() + clockMarginMs
}

/** An instant as every text output writes it: `2026-11-23 21:25:08 UTC`. */
export function utcText(at: Date | string): string {
  const iso = typeof at === 'string' ? at : at.toISOString()
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`
}

/** A text whose ISO instants are written as `utcText` does. */
export function withUtcTimes(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g, utcText)
}

/** null: one of them is null, or there are none. */
export function earliest(times: readonly (Date | null)[]): Date | null {
  if (times.length === 0 || times.includes(null)) return null
  return new Date(Math.min(...times.map(Number)))
}

/** null: there are none. */
export function latest(times: readonly Date[]): Date | null {
  return times.length === 0 ? null : new Date(Math.max(...times.map(Number)))
}

const isoInstant = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/i
const isoDate = /^(\d{4})-(\d{2})-(\d{2})$/
const zoneless = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d+)?)?$/

/** A date (midnight UTC) or an ISO instant with a zone designator; null when it is neither or does not exist (31 February). */
export function parseInstant(text: string): Date | null {
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

function utc([year, month, day]: number[]): Date | null {
  const date = new Date(Date.UTC(year!, month! - 1, day!))
  return date.getUTCMonth() === month! - 1 && date.getUTCDate() === day ? date : null
}

function valid(date: Date): Date | null {
  return Number.isNaN(date.getTime()) ? null : date
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The calendar day of an instant in a zone, as `YYYY-MM-DD`. */
export function localDay(at: Date, timeZone: string): string {
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
  return format.format(at)
}

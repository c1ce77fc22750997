import { type Finding, noValue, type Typed, typed } from './typed-row.ts'

type DateOrder = 'day-first' | 'month-first'

/** How the numeric dates of a column are read. `isMixed`: the column has both orders, so 02/03 is ambiguous. */
export interface DateStyle {
  readonly order: DateOrder
  readonly isMixed: boolean
  /** Excel has exchanged day and month of its real dates, `2026-04-03`. */
  readonly isSwapped?: boolean
  /** `25/08/24` is 24 August 2025. */
  readonly isYearFirst?: boolean
}

/** Counts of dates that fit only one order, and of dates that fit both. */
export interface DateEvidence {
  readonly dayFirst: number
  readonly monthFirst: number
  readonly either: number
  /** Dates with the year first, as workbooks have them, after the 12th of a month. */
  readonly after12th: number
  /** The others of them, except 3 March and the like. */
  readonly until12th: number
}

interface Parts {
  readonly year: number
  readonly month: number
  readonly day: number
}

const numeric = /^(\d{1,2})([/.\- ])(\d{1,2})\2(\d{4}|\d{2})(?:[ T,]+\d{1,2}[:.]\d{2}.*)?$/
const yearFirst = /^(\d{4})([/.\- ])(\d{1,2})\2(\d{1,2})(?:[ T]+\d{1,2}[:.]\d{2}.*)?$/
const compact = /^((?:19|20)\d{2})(\d{2})(\d{2})$/
const dayMonthName =
  /^(?:\p{L}+,? )?(\d{1,2})(?:st|nd|rd|th)?[ /\-.,]*(\p{L}+)[ /\-.,]*(\d{4}|\d{2})(?: .*)?$/u
const monthNameDay = /^(\p{L}+)[ .-]*(\d{1,2})(?:st|nd|rd|th)?[ ,-]+(\d{4})(?: .*)?$/u
const serial = /^\d{5}(\.\d+)?$/
/** Day 0 of Excel's calendar, which has a 29 February 1900. */
const excelEpoch = Date.UTC(1899, 11, 30)
const dayMs = 86_400_000
const months = new Map<string, number>(
  [
    'jan january januar jänner janv janvier ene enero يناير',
    'feb february februar févr février fevr fevrier febrero فبراير',
    'mar march märz mrz mars marzo مارس',
    'apr april avr avril abr abril أبريل ابريل',
    'may mai mayo مايو',
    'jun june juni juin junio يونيو',
    'jul july juli juil juillet julio يوليو',
    'aug august août aout ago agosto أغسطس اغسطس',
    'sep sept september septembre septiembre سبتمبر',
    'oct october okt oktober octobre octubre أكتوبر اكتوبر',
    'nov november novembre noviembre نوفمبر',
    'dec december dez dezember déc décembre decembre dic diciembre ديسمبر',
  ].flatMap((names, index) => names.split(' ').map((name) => [name, index + 1] as const)),
)

const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** The orders that a numeric date allows. null: the date shows its order itself, or it is not a date. */
function dateOrder(text: string): 'day-first' | 'month-first' | 'either' | null {
  const found = numeric.exec(text)
  return found && ordersIn(Number(found[1]), Number(found[3]))
}

/** The evidence of a cell's plain text; null: it is not a date that counts. */
export function dateEvidence(text: string): keyof DateEvidence | null {
  const found = yearFirst.exec(text)
  if (found) {
    const [month, day] = [Number(found[3]), Number(found[4])]
    return day > 12 ? 'after12th' : day === month ? null : 'until12th'
  }
  const order = dateOrder(text)
  if (order === null || order === 'either') return order
  const parts = numericParts(text, { order, isMixed: false }, '2000')
  return dayText(parts) === null ? null : proofs[order]
}

/** How old a date in stock can be for `25/08/24` to be doubted; beyond it the first number is the day. */
const yearsInStock = 10

/** The first and the last number of a date of two-digit numbers, and whether both can be the year; null: it is no such date. */
export function shortDate(
  text: string,
  today: string,
): { readonly first: string; readonly last: string; readonly maySwap: boolean } | null {
  const found = numeric.exec(text)
  if (!found || found[4]!.length !== 2) return null
  const [first, last] = [found[1]!, found[4]!]
  const year = fullYear(first, Number(today.slice(0, 4)))
  const age = Number(today.slice(0, 4)) - year
  const day = dayText({ year, month: Number(found[3]), day: Number(last) })
  return {
    first,
    last,
    maySwap: first.length === 2 && age <= yearsInStock && day !== null && day <= today,
  }
}

/** `25/08/24` with the year first, and with the year last: `2025-08-24` and `2024-08-25`. */
export function shortReadings(
  text: string,
  order: DateOrder,
  today: string,
): readonly [string, string] {
  const read = (style: DateStyle) => dayText(numericParts(text, style, today))
  const last = read({ order, isMixed: false })
  return [read({ order, isMixed: false, isYearFirst: true })!, last ?? 'no day of the calendar']
}

const proofs = { 'day-first': 'dayFirst', 'month-first': 'monthFirst' } as const

/** The text of a date with the year first, with day and month exchanged. It has the name of the month, so that no reader exchanges
 *  them again; null: it is no such date. */
export function swappedDate(text: string): string | null {
  const found = yearFirst.exec(text)
  if (!found || Number(found[4]) > 12) return null
  return `${Number(found[3])} ${monthNames[Number(found[4]) - 1]!} ${found[1]}`
}

/** The day's number in both calendars of Excel, the usual one first; empty: it is not a date. */
export function possibleSerials(text: string, style: DateStyle): readonly number[] {
  const day = dayText(numericParts(text, style, '2000') ?? clearParts(text, 2000))
  if (day === null) return []
  const serial = Math.round((Date.parse(day) - excelEpoch) / dayMs)
  return [serial, serial - 1462]
}

function ordersIn(first: number, second: number): ReturnType<typeof dateOrder> {
  if (first > 12) return second > 12 ? null : 'day-first'
  if (second > 12) return 'month-first'
  return first === second ? null : 'either'
}

/** Whether it is a date in any form except a serial number. */
export function isDateLike(text: string): boolean {
  return (
    text.length <= 40 &&
    (numeric.test(text) || yearFirst.test(text) || namedParts(text, 2000) !== null)
  )
}

/** A calendar day `YYYY-MM-DD` from a cell's plain text, without the time. `today` decides two-digit years. No
 *  vehicle needs a date: one that cannot be read is left out with a warning. */
export function typeDate(text: string, style: DateStyle, today: string): Typed<string> {
  if (text.length > 40) return leftOut('a date')
  // A text matches at most one of these forms, so the most common is tried first.
  const common = numericParts(text, style, today)
  if (common === null && serial.test(text)) return fromSerial(text, today)
  const parts = common ?? clearParts(text, Number(today.slice(0, 4)))
  if (parts === null) return leftOut('a date')
  if (parts === 'either')
    return noValue({
      code: 'DATE_ORDER_MIXED',
      severity: 'warning',
      hint: 'the column has dates with the day first and dates with the month first, so this one is ambiguous and was left out: write it as YYYY-MM-DD',
    })
  return withinRange(dayText(parts), today)
}

function leftOut(wanted: string): Typed<string> {
  return noValue({
    code: 'type-error',
    severity: 'warning',
    hint: `this is not ${wanted}; it was left out`,
  })
}

function withinRange(day: string | null, today: string): Typed<string> {
  if (day === null) return leftOut('a day of the calendar')
  if (day <= `${Number(today.slice(0, 4)) + 1}${today.slice(4)}` && day >= '1950-01-01')
    return mayBeExchanged(day, today) ? typed(day, inFuture) : typed(day)
  return noValue({
    code: 'constraint-error',
    severity: 'warning',
    hint: 'the date is out of range (before 1950, or more than a year from now) and was left out',
  })
}

/** Whether a day is still to come, and is past with day and month exchanged. Vehicles on order have days to come. */
function mayBeExchanged(day: string, today: string): boolean {
  const [year, month, date] = day.split('-')
  return day > today && date! <= '12' && `${year}-${date}-${month}` <= today
}

const inFuture: Finding = {
  code: 'DATE_DOUBTED',
  severity: 'warning',
  hint: 'the day is still to come: are day and month in the right places?',
}

/** The parts of a date whose form shows its order. */
function clearParts(text: string, thisYear: number): Parts | null {
  const found = yearFirst.exec(text)
  if (found) return { year: Number(found[1]), month: Number(found[3]), day: Number(found[4]) }
  const packed = compact.exec(text)
  if (packed) return { year: Number(packed[1]), month: Number(packed[2]), day: Number(packed[3]) }
  return namedParts(text, thisYear)
}

function namedParts(text: string, thisYear: number): Parts | null {
  const dayFirst = dayMonthName.exec(text)
  const monthFirst = dayFirst ? null : monthNameDay.exec(text)
  const month = months.get((dayFirst?.[2] ?? monthFirst?.[1] ?? '').toLowerCase())
  if (month === undefined) return null
  const year = fullYear(dayFirst?.[3] ?? monthFirst![3]!, thisYear)
  return { year, month, day: Number(dayFirst?.[1] ?? monthFirst![2]!) }
}

function numericParts(text: string, style: DateStyle, today: string): Parts | 'either' | null {
  const found = numeric.exec(text)
  if (!found) return null
  const [first, second] = [Number(found[1]), Number(found[3])]
  if (style.isYearFirst && found[4]!.length === 2) {
    const year = fullYear(found[1]!, Number(today.slice(0, 4)))
    return { year, month: second, day: Number(found[4]) }
  }
  const orders = ordersIn(first, second)
  if (orders === 'either' && style.isMixed) return 'either'
  const order = orders === 'day-first' || orders === 'month-first' ? orders : style.order
  const year = fullYear(found[4]!, Number(today.slice(0, 4)))
  return order === 'day-first'
    ? { year, month: second, day: first }
    : { year, month: first, day: second }
}

/** Two digits mean the latest such year up to next year. */
function fullYear(text: string, thisYear: number): number {
  if (text.length === 4) return Number(text)
  const year = Math.floor(thisYear / 100) * 100 + Number(text)
  return year <= thisYear + 1 ? year : year - 100
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** null: the calendar has no such day. */
function dayText(parts: Parts | 'either' | null): string | null {
  if (parts === null || parts === 'either') return null
  const { year, month, day } = parts
  const isLeap =
    month === 2 && day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  if (day < 1 || (day > (monthDays[month - 1] ?? 0) && !isLeap)) return null
  return `${String(year).padStart(4, '0')}-${month < 10 ? '0' : ''}${month}-${day < 10 ? '0' : ''}${day}`
}

/** 44927 is 2023-01-01: a date that lost its format in Excel. */
function fromSerial(text: string, today: string): Typed<string> {
  const days = Math.floor(Number(text))
  if (days < 18_264 || days > 73_050) return leftOut('a date')
  return withinRange(new Date(excelEpoch + days * dayMs).toISOString().slice(0, 10), today)
}

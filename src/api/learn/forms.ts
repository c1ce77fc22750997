import { emailKey } from '../../privacy/screen/email.ts'
import { digitsIn, phoneKey } from '../../privacy/screen/phone.ts'
import { headerKey } from '../../stock/csv/map/header-name.ts'
import { wordTests } from '../../stock/csv/map/vehicle-words.ts'
import { splitDistance } from '../../values/distance-unit.ts'
import { parseEpoch, parseUtc } from '../../values/instant.ts'
import { watchStatuses } from '../contract/appraisal/shapes.ts'

// What a value may be, by its form alone.

type Test = (value: unknown) => boolean

/** The instant that a value is: a text with or without a zone, or Unix time; null: it is none. */
export function parseInstant(value: unknown): Date | null {
  const at = parseEpoch(value) ?? (typeof value === 'string' ? parseUtc(value) : null)
  // A larger number is an id, not a time.
  return at !== null && at.getTime() < Date.UTC(2100, 0) ? at : null
}

const texts = (test: (text: string) => boolean): Test => {
  return (value) => typeof value === 'string' && test(value.trim())
}
const numberOf = (value: unknown) =>
  typeof value === 'number'
    ? value
    : typeof value === 'string'
      ? Number(value.replaceAll(/[\s,]/g, '') || Number.NaN)
      : Number.NaN
const between = (least: number, most: number): Test => {
  return (value) =>
    Number.isInteger(numberOf(value)) && numberOf(value) >= least && numberOf(value) <= most
}
const plain = texts(
  (text) => parseUtc(text) === null && !/^https?:/i.test(text) && emailKey(text) === null,
)
const words = texts((text) => /\p{L}{2}/u.test(text) && plain(text))

/** What a setting asks of the value at its path. */
export const forms = {
  id: (value) =>
    (between(1, Number.MAX_SAFE_INTEGER)(value) ||
      texts((text) => /^[\w-]{1,64}$/.test(text))(value)) &&
    parseInstant(value) === null,
  number: between(1, Number.MAX_SAFE_INTEGER),
  instant: (value) => parseInstant(value) !== null,
  link: texts((text) => /^https?:\/\//i.test(text) && URL.canParse(text)),
  make: texts(wordTests.make),
  colour: texts((text) => text.length <= 40 && wordTests.colour(text)),
  words,
  text: plain,
  year: between(1950, 2100),
  odometer: (value) => between(0, 2_000_000)(splitDistance(value).number),
  score: between(0, 10),
  plate: texts((text) => /^[\p{L}\p{N}][\p{L}\p{N} -]{0,9}$/u.test(text) && /\p{N}/u.test(text)),
  state: texts((text) => /^[A-Z]{2,3}$/.test(text)),
  postcode: (value) => /^[A-Z\d][A-Z\d -]{2,9}$/i.test(String(value)) && /\d/.test(String(value)),
  email: texts((text) => emailKey(text) !== null),
  phone: (value) =>
    ['string', 'number'].includes(typeof value) &&
    /^[+(\d][\d\s().-]*$/.test(digits(value)) &&
    phoneKey(String(value)) !== null &&
    digitsIn(String(value)).length <= 15,
  address: texts(
    (text) =>
      /^\d+[a-z]?(\/\d+)?,?\s+\p{L}{2}/iu.test(text) && !wordTests.make(text.split(/\s+/)[1] ?? ''),
  ),
  watchStatus: texts((text) => (watchStatuses as readonly string[]).includes(text)),
} as const satisfies Readonly<Record<string, Test>>
export type Form = keyof typeof forms

/** Digits of any script as ASCII, the rest as it is. */
function digits(value: unknown): string {
  return String(value)
    .trim()
    .replaceAll(/\p{Nd}/gu, (digit) => digitsIn(digit) || digit)
}

/** A value in the form in which it is compared with what is known: a time to the second, a number, or a text without case and blanks. */
export function comparable(value: unknown): string {
  const at = typeof value === 'string' ? parseUtc(value) : null
  if (at !== null && !/^\d{4}-\d\d-\d\d$/.test(String(value)))
    return `t${Math.floor(at.getTime() / 1000)}`
  if (typeof value !== 'object' && Number.isFinite(numberOf(value))) return String(numberOf(value))
  return headerKey(String(value)) || String(value).trim()
}

/** A value in the form in which it is compared with a known one: Unix time with a time. */
export function comparableWith(known: string, value: unknown): string {
  const at = /^t\d+$/.test(known) ? parseEpoch(value) : null
  return at === null ? comparable(value) : `t${Math.floor(at.getTime() / 1000)}`
}

/** Bits that the equality of such a value is worth at most: rare values are worth more. */
export function countBits(value: unknown): number {
  const text = comparable(value)
  if (forms.email(value)) return 40
  if (/^t\d+$/.test(text)) return 24
  if (/^\d+$/.test(text)) return Math.min(20, Math.max(0, 3.3 * text.length - 3))
  return Math.min(20, Math.max(2, 1.5 * text.length - 3))
}

/** What a value is, in words that show nothing of it: any may be about a customer. */
export function formText(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'boolean') return 'flag'
  if (forms.link(value)) return 'link'
  if (forms.email(value)) return 'e-mail'
  if (typeof value === 'number')
    return parseInstant(value)
      ? 'Unix time'
      : `number of ${String(Math.trunc(Math.abs(value))).length} digits`
  const text = String(value).trim()
  if (parseInstant(text) !== null) return 'time'
  if (/^\d+$/.test(text)) return `text of ${text.length} digits`
  if (/^[A-Z]{1,3}$/.test(text)) return `code of ${text.length} letters`
  const count = text.split(/\s+/).length
  return count === 1 ? 'word' : count > 6 ? 'longer text' : `${count} words`
}

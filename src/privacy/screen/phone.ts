import { normaliseText } from './normalise-text.ts'

// Phone numbers in any notation: 0412 345 678, +61 412 345 678 and (61) 412345678 are the same.

/** Calling codes of the regions, and the number of digits after them. */
const nationalDigits: readonly (readonly [code: string, lengths: readonly number[]])[] =
  Object.entries({
    '61': [9],
    '64': [8, 9, 10],
    '1': [10],
    '44': [10],
    '971': [8, 9],
    '966': [9],
    '965': [8],
    '974': [8],
    '973': [8],
    '968': [8],
  })
/** Fewer digits identify no one; more are not a phone number (E.164). */
const minDigits = 7
const maxDigits = 15

/** A phone number within a text. */
interface PhoneFound {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** The number without calling code and leading zeros; null for another text. */
export function phoneKey(text: string): string | null {
  const plain = normaliseText(text).text
  return toNational(digitsIn(plain), plain.trimStart().replace(/^\(/, '').startsWith('+'))
}

/** The decimal digits of a text, of any script, in ASCII. */
export function digitsIn(text: string): string {
  return normaliseText(text).text.replaceAll(/\D/g, '')
}

/** A row with more digit groups is a table of figures. There a number has at most `mostGroups` groups:
 *  hostile text must not give ten candidates for every digit. */
const longRow = 40
const maxGroups = 7

/** What may be between the digits of a phone number. */
export const phoneSeparators = ' \t\n\r().-/\u2010\u2011\u2012\u2013\u2014\u2212'
const separatorPattern = new RegExp(`^[\\s${phoneSeparators.replace('-', '\\-')}]{1,4}$`)

/** Every possible phone number in the text: every part of a row of adjacent digit groups. */
export function* phonesIn(text: string): Generator<PhoneFound> {
  const plain = normaliseText(text)
  for (const row of digitRows(plain.text)) {
    const most = row.length > longRow ? maxGroups : row.length
    for (const [first, { start }] of row.entries()) {
      const isInternational = plain.text[start - 1] === '+'
      let digits = ''
      for (const group of row.slice(first, first + most)) {
        digits += group.digits
        if (digits.length > maxDigits + 4) break
        const key = toNational(digits, isInternational)
        if (key !== null)
          yield { key, ...plain.rangeOf(isInternational ? start - 1 : start, group.end) }
      }
    }
  }
}

interface DigitGroup {
  readonly digits: string
  readonly start: number
  readonly end: number
}

function digitRows(text: string): DigitGroup[][] {
  const rows: DigitGroup[][] = []
  for (const { 0: digits, index: start } of text.matchAll(/\d+/g)) {
    if (isInVin(text, start, start + digits.length)) continue
    const row = rows.at(-1)
    const group = { digits, start, end: start + digits.length }
    if (row !== undefined && isSeparator(text, row.at(-1)!.end, start)) row.push(group)
    else rows.push([group])
  }
  return rows
}

/** Whether digits are part of a VIN, which may end in the digits of a phone number. */
function isInVin(text: string, start: number, end: number): boolean {
  const isLetter = (at: number) => /[a-z]/i.test(text[at] ?? '')
  if (!isLetter(start - 1) && !isLetter(end)) return false
  const [before] = /[a-z\d]*$/i.exec(text.slice(Math.max(0, start - 18), start))!
  const [behind] = /^[a-z\d]*/i.exec(text.slice(end, end + 18))!
  return /^[a-hj-npr-z\d]{17}$/i.test(before + text.slice(start, end) + behind)
}

function isSeparator(text: string, start: number, end: number): boolean {
  return end - start <= 4 && separatorPattern.test(text.slice(start, end))
}

function toNational(digits: string, plus: boolean): string | null {
  // A text has many rows of digits, most of them too short.
  if (digits.length < minDigits) return null
  const isInternational = plus || digits.startsWith('00')
  const bare = digits.startsWith('0') ? digits.replace(/^0+/, '') : digits
  const national = withoutCode(bare, isInternational || (bare === digits && digits.length >= 11))
  return national.length >= minDigits && national.length <= maxDigits ? national : null
}

function withoutCode(digits: string, mayHaveOne: boolean): string {
  if (!mayHaveOne) return digits
  for (const [code, lengths] of nationalDigits) {
    if (!digits.startsWith(code)) continue
    // The zero of "+61 (0)412 345 678".
    const rest = digits.slice(code.length).replace(/^0+/, '')
    if (lengths.includes(rest.length)) return rest
  }
  return digits
}

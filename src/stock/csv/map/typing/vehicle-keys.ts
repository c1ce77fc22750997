import { isPlaceholder } from './plain-text.ts'
import { type Finding, noValue, type Typed, typed } from './typed-row.ts'

// Stock numbers are text. Changes by Excel are reported, never reversed.

/** As Excel shows a date: a part of it, or all of it. */
const partOfDate = /^(?:(?:\d{1,2}-)?[A-Z][a-z]{2}-\d{2}|\d{1,2}-[A-Z][a-z]{2}(?:-\d{2,4})?)$/
const monthName = /Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec/
const wholeDate = /^(?:\d{1,2}([/.-])\d{1,2}\1\d{4}|\d{4}-\d{2}-\d{2})(?:[ T]0?0:00(?::00)?)?$/
const shortenedNumber = /^\d([.,]\d+)?E\+\d+$/i
/** `1234.0`, `1234.00`, and `12,345`. */
const floatLike = /^\d+\.0{1,3}$/
const grouped = /^\d{1,3}(?:,\d{3})+$/
const digitsLost = /^\d{15,}0$/
const longestStockNumber = 100

/** A stock number from a cell's plain text, unchanged but for an apostrophe before it. An error leaves the row without a key. */
export function typeStockNumber(written: string): Typed<string> {
  const text = written.startsWith("'") ? withoutApostrophe(written) : written
  if (shortenedNumber.test(text)) return noValue(shortened)
  if (text.length > longestStockNumber) return noValue(tooLong)
  if (isDateOfExcel(text)) return typed(text, turnedIntoDate)
  if (floatLike.test(text) || grouped.test(text)) return typed(text, turnedIntoNumber)
  if (digitsLost.test(text)) return typed(text, lost)
  return typed(text)
}

/** Excel writes it before a text of digits, and some programs export it. */
function withoutApostrophe(text: string): string {
  const bare = text.replace(/^'(?=[\p{L}\p{N}])/u, '')
  return isPlaceholder(bare, 'stock_number') ? text : bare
}

function isDateOfExcel(text: string): boolean {
  return wholeDate.test(text) || (partOfDate.test(text) && monthName.test(text))
}

const shortened: Finding = {
  code: 'SCI_NOTATION',
  severity: 'error',
  hint: 'Excel has shortened this stock number: format the column as Text and export again',
}
const tooLong: Finding = {
  code: 'constraint-error',
  severity: 'error',
  hint: `a stock number has at most ${longestStockNumber} characters: is this the right column?`,
}
const turnedIntoDate: Finding = {
  code: 'STOCK_LOOKS_LIKE_DATE',
  severity: 'warning',
  hint: 'Excel may have turned this stock number into a date; it was stored unchanged',
}
const turnedIntoNumber: Finding = {
  code: 'STOCK_LOOKS_LIKE_NUMBER',
  severity: 'warning',
  hint: 'a program may have added .0 or a comma to this stock number, as to an amount; it was stored unchanged',
}
const lost: Finding = {
  code: 'DIGITS_LOST',
  severity: 'warning',
  hint: 'Excel keeps 15 digits of a number; the last ones of this stock number may be lost',
}

/** A plate from a cell's plain text, as it is written: what Excel or another program has made of one is left out. */
export function typePlate(text: string): Typed<string> {
  if (floatLike.test(text)) return typed(text.replace(/\.0+$/, ''))
  if (shortenedNumber.test(text)) return noValue({ ...changedPlate, hint: plateHint('number') })
  if (isDateOfExcel(text)) return noValue({ ...changedPlate, hint: plateHint('date') })
  return typed(text)
}

const changedPlate = { code: 'type-error', severity: 'warning' } as const

function plateHint(kind: 'number' | 'date'): string {
  return `Excel has turned this plate into a ${kind}, and it was left out: format the column as Text and export again`
}

// VINs by ISO 3779: stored as typed, except for case, blanks, hyphens and asterisks.

/** A cell of a VIN column: a VIN, or another number of the vehicle. */
interface VinCell {
  /** 17 characters without I, O and Q; null when the cell has another number. */
  readonly vin: string | null
  /** A chassis, frame or shortened number: valid before 1989 and for grey imports. */
  readonly chassis: string | null
}

const allowed = /^[A-HJ-NPR-Z0-9]{17}$/
const seventeen = /^[A-Z0-9]{17}$/
const longestVin = 40
const label = /^(?:VIN|CHASSIS)(?: (?:NO|NUMBER))?\W+/
const clutter = /[\s\-‐‑–*._']/g
/** At most three digits in the exponent: a VIN may begin with a digit and an E too. */
const scientific = /^\d([.,]\d+)?E\+?\d{1,3}$/i
const oneCharacter = /^(.)\1{16}$/
const textbook = new Set(['1HGBH41JXMN109186', '1M8GDM9AXKP042788', '1HGCM82633A004352'])
const weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2]
/** The value of each character by its code; -1 where it has none. */
const values = Int8Array.from({ length: 91 }, (_, code) =>
  characterValue(String.fromCharCode(code)),
)
const confused: Readonly<Record<string, string>> = {
  ...{ S: '5', 5: 'S', B: '8', 8: 'B', Z: '2', 2: 'Z', G: '6', 6: 'G', D: '0', 0: 'D' },
}
const yearCodes = 'ABCDEFGHJKLMNPRSTVWXY123456789'

/** A VIN from a cell's plain text. The check digit is law in North America alone (first character 1 to 5). */
export function typeVin(text: string): Typed<VinCell> {
  if (allowed.test(text)) return checked(text)
  if (scientific.test(text)) return noValue(vinLost)
  const vin = text.toUpperCase().replace(label, '').replace(clutter, '')
  if (allowed.test(vin)) return checked(vin)
  if (seventeen.test(vin)) return typed({ vin: null, chassis: vin }, badCharacters(vin))
  if (vin.length > longestVin || !/\d/.test(vin)) return noValue(noNumber)
  return typed({ vin: null, chassis: vin }, notSeventeen(vin))
}

function checked(vin: string): Typed<VinCell> {
  const value = { vin, chassis: null }
  if ((vin[0] === vin[1] && oneCharacter.test(vin)) || (vin[0] === '1' && textbook.has(vin)))
    return typed(value, {
      code: 'VIN_TEST',
      severity: 'warning',
      hint: 'this VIN is an example from textbooks or one character repeated: is it a real vehicle?',
    })
  if (vin[8] === checkDigit(vin)) return typed(value)
  return isCheckDigitLaw(vin) ? typed(value, failedByLaw(vin)) : typed(value, failedOptional)
}

/** Whether the check digit is mandatory for this maker. */
export function isCheckDigitLaw(vin: string): boolean {
  return vin[0]! >= '1' && vin[0]! <= '5'
}

/** The correct ninth character; null when the text is not a VIN. */
export function checkDigit(vin: string): string | null {
  let sum = 0
  for (let at = 0; at < 17; at += 1) {
    const value = values[vin.charCodeAt(at)] ?? -1
    if (value < 0) return null
    sum += value * weights[at]!
  }
  return sum % 11 === 10 ? 'X' : String(sum % 11)
}

function characterValue(character: string): number {
  if (character >= '0' && character <= '9') return Number(character)
  const at = 'ABCDEFGH.JKLMN.P.R..STUVWXYZ'.indexOf(character)
  if (at < 0 || character === '.') return -1
  return at < 18 ? (at % 9) + 1 : at - 18
}

/** The VIN that a single misread or swapped character explains; null for none or several. */
export function suggestedVin(vin: string): string | null {
  const found = new Set<string>()
  for (let at = 0; at < 17; at += 1) {
    const swap = confused[vin[at]!]
    if (swap !== undefined) found.add(vin.slice(0, at) + swap + vin.slice(at + 1))
    if (at < 16 && vin[at] !== vin[at + 1])
      found.add(vin.slice(0, at) + vin[at + 1]! + vin[at]! + vin.slice(at + 2))
  }
  const right = [...found].filter((other) => checkDigit(other) === other[8])
  return right.length === 1 ? right[0]! : null
}

/** The model years that the tenth character can mean; empty for none. */
export function possibleModelYears(vin: string): readonly number[] {
  const at = yearCodes.indexOf(vin[9]!)
  return at < 0 ? [] : [1980 + at, 2010 + at]
}

function failedByLaw(vin: string): Finding {
  const other = suggestedVin(vin)
  return {
    code: 'VIN_CHECK_DIGIT',
    severity: 'error',
    hint: `the ninth character should be ${checkDigit(vin)}: check the vehicle${other ? `; did you mean ${other}?` : ''}`,
  }
}

const failedOptional: Finding = {
  code: 'VIN_CHECK_DIGIT',
  severity: 'info',
  hint: 'the check digit does not agree; outside North America makers need not use one',
}
const noNumber: Finding = {
  code: 'VIN_LENGTH',
  severity: 'warning',
  hint: 'this is not a VIN and no chassis number: it was left out',
}
const vinLost: Finding = {
  code: 'SCI_NOTATION',
  severity: 'error',
  hint: 'Excel has shortened this VIN: format the column as Text and export again',
}

function badCharacters(vin: string): Finding {
  const fixed = vin.replace(/[OQ]/g, '0').replace(/I/g, '1')
  return {
    code: 'VIN_CHAR',
    severity: isCheckDigitLaw(vin) ? 'error' : 'warning',
    hint: `a VIN has no I, O or Q, so this is not one; did you mean ${fixed}?`,
  }
}

function notSeventeen(text: string): Finding {
  const isNear = /^[A-Z0-9]{15,19}$/.test(text) && text.length !== 17
  return {
    code: 'VIN_LENGTH',
    severity: isNear ? 'warning' : 'info',
    hint: `${text.length} characters instead of 17: stored as a chassis number, not as a VIN`,
  }
}

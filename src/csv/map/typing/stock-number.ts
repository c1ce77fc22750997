import { type Finding, type Typed, typed } from './issue.ts'

// Stock numbers are text. Changes by Excel are reported, never reversed.

const dateLike =
  /^((\d{1,2}-)?[A-Z][a-z]{2}-\d{2}|\d{1,2}-[A-Z][a-z]{2}(-\d{2,4})?|\d{4}-\d{2}-\d{2} 00:00(:00)?)$/
const scientific = /^\d([.,]\d+)?E\+\d+$/i
const floatLike = /^\d+\.0$/
const digitsLost = /^\d{15,}0$/
const longest = 100

/** A stock number from a cell's plain text, unchanged. An error leaves the row without a key. */
export function typeStockNumber(text: string): Typed<string> {
  if (scientific.test(text)) return typed<string>(null, shortened)
  if (text.length > longest) return typed<string>(null, tooLong)
  if (dateLike.test(text)) return typed(text, turnedIntoDate)
  if (floatLike.test(text)) return typed(text, turnedIntoNumber)
  if (digitsLost.test(text)) return typed(text, lost)
  return typed(text)
}

const shortened: Finding = {
  code: 'SCI_NOTATION',
  severity: 'error',
  hint: 'Excel has shortened this stock number: format the column as Text and export again',
}
const tooLong: Finding = {
  code: 'constraint-error',
  severity: 'error',
  hint: `a stock number has at most ${longest} characters: is this the right column?`,
}
const turnedIntoDate: Finding = {
  code: 'STOCK_LOOKS_LIKE_DATE',
  severity: 'warning',
  hint: 'Excel may have turned this stock number into a date; it was stored unchanged',
}
const turnedIntoNumber: Finding = {
  code: 'STOCK_LOOKS_LIKE_NUMBER',
  severity: 'warning',
  hint: 'a program may have added the .0 to this stock number; it was stored unchanged',
}
const lost: Finding = {
  code: 'DIGITS_LOST',
  severity: 'warning',
  hint: 'Excel keeps 15 digits of a number; the last ones of this stock number may be lost',
}

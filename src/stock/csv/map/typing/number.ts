// Numbers as people write them. The column, not the cell, decides what a single `.` or `,` before three digits means.

/** Digits of a number: `-12345` and `67` are -12345.67. No leading zeros, except a single one. */
interface Digits {
  readonly whole: string
  readonly fraction: string
}

export type Separator = '.' | ','

/** Evidence of a column's separators. */
export interface SeparatorEvidence {
  readonly decimal: Record<Separator, number>
  readonly group: Record<Separator, number>
  /** One separator before exactly three digits: 12.990. */
  readonly either: Record<Separator, number>
}

/** How a column's separators are read where a cell is ambiguous. */
export interface NumberStyle {
  readonly either: Readonly<Record<Separator, 'decimal' | 'group'>>
}

/** Three digits after one separator are thousands, as usual for prices and odometers. */
export const thousands: NumberStyle = { either: { '.': 'group', ',': 'group' } }

/** The digits of a number. One separator before three digits has two readings, which the column's style decides. */
export type Reading =
  | { readonly kind: 'certain'; readonly digits: Digits; readonly shows: Shows | null }
  | {
      readonly kind: 'either'
      readonly separator: Separator
      readonly grouped: Digits
      readonly decimal: Digits
    }

interface Shows {
  readonly role: 'decimal' | 'group'
  readonly separator: Separator
}

const plainDigits = /^\d+$/
const plainPoint = /^(\d+)\.(\d{1,2})$/
const showsPoint = { role: 'decimal', separator: '.' } as const
const plainSeparators = /^[\d.,]+$/
const arabicComma = /\u060c/g
const grouped: Readonly<Record<Separator, RegExp>> = {
  '.': /^\d{1,3}(\.\d{2,3})*\.\d{3}$/,
  ',': /^\d{1,3}(,\d{2,3})*,\d{3}$/,
}

/** Evidence with all counts 0. */
export function separatorEvidence(): SeparatorEvidence {
  const none = { '.': 0, ',': 0 }
  return { decimal: { ...none }, group: { ...none }, either: { ...none } }
}

/** Reads `12990` and `12990.00`, as most programs write numbers; null for any other form. */
function readPlainNumber(text: string): Reading | null {
  if (plainDigits.test(text)) return certain(text, '', null)
  const point = plainPoint.exec(text)
  return point ? certain(point[1]!, point[2]!, showsPoint) : null
}

/** Reads digits with separators (no sign, no currency). null when they follow no style. */
function readSeparated(text: string): Reading | null {
  const core = withoutSureGroups(text)
  if (core === null) return null
  if (core.includes('\u066b')) return readArabicDecimal(core)
  const dot = core.lastIndexOf('.')
  const comma = core.lastIndexOf(',')
  if (dot < 0 && comma < 0) return plainDigits.test(core) ? certain(core, '', null) : null
  if (dot >= 0 && comma >= 0) return readBoth(core, dot > comma ? '.' : ',')
  return readOne(core, dot >= 0 ? '.' : ',')
}

/** Removes separators that only group digits: blanks, apostrophes and the Arabic thousands mark. */
function withoutSureGroups(text: string): string | null {
  if (plainSeparators.test(text)) return text
  const core = text.replace(arabicComma, ',').replace(/[’`´ʼ]/g, "'")
  if (!/[ '\u066c]/.test(core)) return core
  if (!/^\d{1,3}(([ '\u066c])\d{3})(\2\d{3})*([.,\u066b]\d*)?$/.test(core)) return null
  return core.replace(/[ '\u066c]/g, '')
}

function readArabicDecimal(core: string): Reading | null {
  const [whole = '', fraction = '', more] = core.split('\u066b')
  const digits = whole.replace(/[.,]/g, '')
  if (more !== undefined || !/^\d*$/.test(digits + fraction)) return null
  return certain(digits, fraction, null)
}

function readBoth(core: string, decimal: Separator): Reading | null {
  const at = core.lastIndexOf(decimal)
  const whole = core.slice(0, at)
  const fraction = core.slice(at + 1)
  if (whole.includes(decimal)) return null
  if (!grouped[decimal === '.' ? ',' : '.'].test(whole) || !/^\d*$/.test(fraction)) return null
  return certain(whole.replace(/[.,]/g, ''), fraction, { role: 'decimal', separator: decimal })
}

function readOne(core: string, separator: Separator): Reading | null {
  const at = core.indexOf(separator)
  if (at !== core.lastIndexOf(separator)) {
    if (!grouped[separator].test(core)) return null
    return certain(core.replaceAll(separator, ''), '', { role: 'group', separator })
  }
  const whole = core.slice(0, at)
  const fraction = core.slice(at + 1)
  if (!plainDigits.test(whole + fraction)) return null
  const isEither = fraction.length === 3 && whole.length <= 3 && whole !== '' && whole[0] !== '0'
  if (!isEither)
    return certain(whole, fraction, fraction === '' ? null : { role: 'decimal', separator })
  return {
    kind: 'either',
    separator,
    grouped: { whole: whole + fraction, fraction: '' },
    decimal: { whole, fraction },
  }
}

function certain(whole: string, fraction: string, shows: Shows | null): Reading {
  return { kind: 'certain', digits: toDigits(whole, fraction), shows }
}

function toDigits(whole: string, fraction: string): Digits {
  const isPadded = whole.charCodeAt(0) === 0x30 || whole === ''
  return { whole: isPadded ? whole.replace(/^0+(?=\d)/, '') || '0' : whole, fraction }
}

/** The reading of a number in thousands, `18.990k`: no one groups such a number with a point. */
function inThousands(reading: Reading): Reading {
  if (reading.kind === 'certain' || reading.separator === ',') return reading
  return { kind: 'certain', digits: reading.decimal, shows: showsPoint }
}

/** A number as written in a cell. */
export interface WrittenNumber {
  readonly reading: Reading
  readonly isNegative: boolean
  /** 45k, 165 ألف */
  readonly isThousands: boolean
}

/** Words for thousands behind a number. */
export const thousandWords = new Set(['k', 'ألف', 'الف'])

/** The number of a quantity whose words are read. */
export function writtenNumber(
  { reading, isNegative }: Quantity,
  isThousands: boolean,
): WrittenNumber {
  return { reading: isThousands ? inThousands(reading) : reading, isNegative, isThousands }
}

/** Its digits in a column of that style; 1.5k is 1500. */
export function writtenDigits({ reading, isThousands }: WrittenNumber, style: NumberStyle): Digits {
  const { whole, fraction } = digitsIn(style, reading)
  if (!isThousands) return { whole, fraction }
  const moved = whole + fraction.slice(0, 3).padEnd(3, '0')
  return { whole: moved.replace(/^0+(?=\d)/, ''), fraction: fraction.slice(3) }
}

/** Adds a cell's evidence to its column's. */
export function noteSeparators(evidence: SeparatorEvidence, reading: Reading): void {
  if (reading.kind === 'either') evidence.either[reading.separator] += 1
  else if (reading.shows) evidence[reading.shows.role][reading.shows.separator] += 1
}

/** The digits of a reading in a column of that style. */
export function digitsIn(style: NumberStyle, reading: Reading): Digits {
  if (reading.kind === 'certain') return reading.digits
  return style.either[reading.separator] === 'group' ? reading.grouped : reading.decimal
}

/** Decimal text as `numeric(15,3)` writes it, rounded half up on the digits; null when it does not fit. */
export function decimalText({ whole, fraction }: Digits): string | null {
  if (whole.length > 12) return null
  if (fraction.length <= 3) return `${whole}.${fraction.padEnd(3, '0')}`
  const thousandths = BigInt(whole + fraction.slice(0, 3)) + (fraction[3]! >= '5' ? 1n : 0n)
  const text = thousandths.toString().padStart(4, '0')
  return text.length > 15 ? null : `${text.slice(0, -3)}.${text.slice(-3)}`
}

/** A number and the words around it: `R 619 900`, `150,000km`, `$39,998 drive away`. */
interface Quantity {
  readonly reading: Reading
  readonly isNegative: boolean
  /** Lower case, without punctuation; a currency sign is a word. */
  readonly words: readonly string[]
}

const parts = /^(\D*?)([.,]?\d(?:[\d .,'’`´ʼ\u060c\u066b\u066c]*\d)?[.,]?)(\D*)$/
/** A longer text is prose, not a number with its unit. */
const longest = 60
const noWords: readonly string[] = []

/** Splits a cell's plain text; null when it has no number, or more than one. */
export function readQuantity(text: string): Quantity | null {
  if (text.length > longest) return null
  const plain = readPlainNumber(text)
  if (plain) return { reading: plain, isNegative: false, words: noWords }
  const found = parts.exec(text)
  if (!found) return null
  const [before, core, after] = [found[1]!, found[2]!, found[3]!]
  const digits = before === '' ? core : withoutStop(before, core)
  const reading = readPlainNumber(digits) ?? readSeparated(digits)
  if (!reading) return null
  if (before === '' && after === '') return { reading, isNegative: false, words: noWords }
  return { reading, ...wordsAround(before, after) }
}

type WordsAround = Omit<Quantity, 'reading'>
/** A cache: the text around a column's numbers repeats. */
const seen = new Map<string, WordsAround>()
const maxSeen = 1000

function wordsAround(before: string, after: string): WordsAround {
  const key = `${before}0${after}`
  const known = seen.get(key)
  if (known) return known
  const found = { isNegative: isNegative(before, after), words: unitWords(`${before} ${after}`) }
  if (seen.size < maxSeen) seen.set(key, found)
  return found
}

/** Removes the full stop of `Rs.500`, which belongs to the word. */
function withoutStop(before: string, core: string): string {
  const isStop = core[0] === '.' || core[0] === ','
  return isStop && /\p{L}$/u.test(before) ? core.slice(1) : core
}

/** Whether there is a minus sign or accountants' brackets; `AED - 500` and `500/-` are not negative. */
function isNegative(before: string, after: string): boolean {
  if (before.includes('(') && after.includes(')')) return /\(\D?$/.test(before)
  return /^\s*[-−]/.test(before) || /[-−]$/.test(before)
}

/** The words around a number, lower case, without punctuation; a currency sign is one. */
export function unitWords(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s()+*/\-−:|]+/)
    .map((word) => word.replace(/^[.,]+|[.,]+$/g, ''))
    .filter((word) => word !== '')
}

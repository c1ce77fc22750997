import type { CellNumber } from '../csv/read/csv-file.ts'
import {
  dayText,
  type Epoch,
  type SerialParts,
  serialParts,
  timeText,
  twoDigits,
} from './date-serial.ts'

/** Turns the number of a cell, as written in the file, into its text. */
type ShowNumber = (written: string) => string

/** How cells of a number format are read. */
export interface CellFormat {
  readonly show: ShowNumber
  /** The number behind a text that may be read as another one; null: the text can only be this number. */
  readonly number: (written: string, text: string) => CellNumber | null
}

const builtIn: Readonly<Record<number, string>> = {
  ...{ 9: '0%', 10: '0.00%', 14: 'm/d/yyyy', 15: 'd-mmm-yy', 16: 'd-mmm', 17: 'mmm-yy' },
  ...{ 18: 'h:mm AM/PM', 19: 'h:mm:ss AM/PM', 20: 'h:mm', 21: 'h:mm:ss', 22: 'm/d/yyyy h:mm' },
  ...{ 45: 'mm:ss', 46: '[h]:mm:ss', 47: 'mm:ss.0' },
}
/** Dates of East Asian versions of Excel. */
const isEastAsianDate = (id: number) => (id >= 27 && id <= 36) || (id >= 50 && id <= 58)

/** How cells of a number format are read. `code`: of a format that the workbook defines itself. */
export function cellFormat(id: number, code: string | undefined, epoch: Epoch): CellFormat {
  const format = code ?? builtIn[id] ?? (isEastAsianDate(id) ? 'yyyy/m/d' : 'General')
  const sections = splitSections(format).map((section) => ({
    ...section,
    show: showBy(section.tokens, epoch),
  }))
  const isByCondition = sections.some(({ holds }) => holds !== null)
  const sectionFor = (value: number) =>
    isByCondition
      ? (sections.find(({ holds }) => holds?.(value)) ?? sections.findLast(({ holds }) => !holds))
      : sections[value < 0 ? 1 : value === 0 ? 2 : 0]
  const chosen = (written: string) =>
    (sections.length > 1 && sectionFor(Number(written))) || sections[0]!
  return {
    show: (written) => chosen(written).show(written),
    number: (written, text) => numberIn(written, text, chosen(written).tokens, epoch),
  }
}

/** One separator before three digits: as a text, it may be thousands. */
const mayBeThousands = /^-?\d{1,3}\.\d{3}$/

function numberIn(
  written: string,
  text: string,
  tokens: readonly Token[],
  epoch: Epoch,
): CellNumber | null {
  const plain = generalText(written)
  const isOwnText = text === plain && !/E/.test(plain) && !mayBeThousands.test(plain)
  if ((isOwnText && epoch === 1900) || !Number.isFinite(Number(written)) || written.trim() === '')
    return null
  const value = /E/.test(plain) ? exponentless(Number(plain)) : plain
  if (value === null) return null
  const shape = tokenShape(tokens)
  const isDate = isDateShape(shape, tokens)
  const parts = isDate || epoch === 1904 ? serialParts(Math.floor(Number(written)), epoch) : null
  return {
    value: mayBeThousands.test(value) ? `${value}0` : value,
    around: tokens.map(({ kind, text }) => (kind === 'literal' ? text : ' ')).join(''),
    isScaled: isScaled(shape),
    isDate,
    day: parts === null || parts.day === 0 ? null : dayText(parts),
  }
}

/** Whether the format shows per cent, or commas behind its digits divide by thousands. */
function isScaled(shape: string): boolean {
  return /%|[0#?],+(?![0#?,])/.test(shape)
}

/** `1E-7` as 0.0000001; null beyond what a price or a distance can be. */
function exponentless(value: number): string | null {
  if (Math.abs(value) >= 1e15) return null
  return value.toFixed(15).replace(/\.?0+$/, '')
}

/** How numbers of one section of a format are shown. */
function showBy(tokens: readonly Token[], epoch: Epoch): ShowNumber {
  const shape = tokenShape(tokens)
  if (isDateShape(shape, tokens)) return dateText(tokens, epoch)
  if (shape.includes('%')) return percentText
  const isZeros = /0/.test(shape) && !/[#?.,/E@]/i.test(shape)
  return isZeros ? (written) => zerosText(written, tokens) : withUnits(tokens)
}

function tokenShape(tokens: readonly Token[]): string {
  return tokens.map(({ kind, text }) => (kind === 'sign' ? text : '')).join('')
}

function isDateShape(shape: string, tokens: readonly Token[]): boolean {
  return /[ymdhs]/i.test(shape) || tokens.some(({ kind }) => kind === 'elapsed')
}

interface Token {
  /** `literal`: text that is shown as it is. `elapsed`: hours, minutes or seconds of a duration. */
  readonly kind: 'sign' | 'literal' | 'elapsed'
  readonly text: string
}

/** The part of a format for some numbers. */
interface Section {
  readonly tokens: readonly Token[]
  /** null: the format names no condition. */
  readonly holds: ((value: number) => boolean) | null
}

const token =
  /"([^"]*)"|\\(.)|[_*].|\[([hms]+)\]|\[(<=|>=|<>|<|>|=)\s*(-?[\d.]+)\]|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]|(general|AM\/PM|A\/P|y+|m+|d+|h+|s+)|([\s\S])/giu
const comparisons: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  ...{ '<': (value, limit) => value < limit, '<=': (value, limit) => value <= limit },
  ...{ '>': (value, limit) => value > limit, '>=': (value, limit) => value >= limit },
  ...{ '=': (value, limit) => value === limit, '<>': (value, limit) => value !== limit },
}

/** The sections of a format: for positive numbers, negative ones and zero, or by their conditions. The fourth is for texts. */
function splitSections(format: string): readonly Section[] {
  let [tokens, holds]: [Token[], Section['holds']] = [[], null]
  const sections: Section[] = []
  const end = () => {
    sections.push({ tokens, holds })
    tokens = []
    holds = null
  }
  for (const found of format.matchAll(token)) {
    const [all, quoted, escaped, elapsed, sign, limit, currency, word, other] = found
    if (other === ';') end()
    else if (sign !== undefined) holds = (value) => comparisons[sign]!(value, Number(limit))
    else if (elapsed !== undefined) tokens.push({ kind: 'elapsed', text: elapsed })
    else if (word !== undefined || (other !== undefined && /[0#?.,%/E@+]/i.test(other)))
      tokens.push({ kind: 'sign', text: all })
    else tokens.push({ kind: 'literal', text: quoted ?? escaped ?? currency ?? other ?? '' })
  }
  end()
  return sections.slice(0, 3)
}

/** A number without a format: up to 15 digits, as Excel stores them. */
function generalText(written: string): string {
  if (/^-?\d{1,15}$/.test(written) || /^\d{16,}$/.test(written)) return written
  const value = Number(written)
  if (written.trim() === '' || !Number.isFinite(value)) return written
  const rounded = Number(value.toPrecision(15))
  const text = Math.abs(value) < 1e15 ? String(rounded) : rounded.toExponential()
  return text.replace('e', 'E')
}

function percentText(written: string): string {
  const value = Number(written)
  if (written.trim() === '' || !Number.isFinite(value)) return written
  return `${generalText(String(Number((value * 100).toPrecision(15))))}%`
}

/** `000123`, `STK-0042`: a format of zeros and literals fills up whole numbers. */
function zerosText(written: string, tokens: readonly Token[]): string {
  const plain = generalText(written)
  if (!/^-?\d+$/.test(plain)) return plain
  const zeros = tokens.filter(({ kind, text }) => kind === 'sign' && text === '0').length
  const digits = plain.replace('-', '').padStart(zeros, '0')
  let [used, isFirst] = [digits.length - zeros, true]
  const shown = tokens.map(({ kind, text }) => {
    if (kind !== 'sign' || text !== '0') return text
    const from = isFirst ? 0 : used
    isFirst = false
    used += 1
    return digits.slice(from, used)
  })
  return `${plain.startsWith('-') ? '-' : ''}${shown.join('').trim()}`
}

/** The whole number, and the unit or currency that the format shows beside it. Digits are neither grouped, rounded away nor
 *  divided: what a format shows beside thousands or millions is left out. */
function withUnits(tokens: readonly Token[]): ShowNumber {
  const first = tokens.findIndex(isDigit)
  const last = tokens.findLastIndex(isDigit)
  const [before, after] = [unitText(tokens.slice(0, first)), unitText(tokens.slice(last + 1))]
  if (first < 0 || before + after === '' || isScaled(tokenShape(tokens))) return generalText
  return (written) => {
    const text = generalText(written)
    return text.startsWith('-') ? `-${before}${text.slice(1)}${after}` : `${before}${text}${after}`
  }
}

function isDigit({ kind, text }: Token): boolean {
  return kind === 'sign' && /^([0#?]|general)$/i.test(text)
}

/** Literals with a letter, a digit or a currency sign, without the sign or the brackets of a negative number; brackets, dashes and
 *  blanks alone are not units. */
function unitText(tokens: readonly Token[]): string {
  const text = tokens.map((one) => (one.kind === 'literal' ? one.text : '')).join('')
  return /[\p{L}\p{N}\p{Sc}]/u.test(text) ? text.replace(/^[-(]|\)$/, '') : ''
}

/** A whole date as `YYYY-MM-DD`, a time as `HH:MM:SS`; a part of a date as Excel shows it, such as `Nov-97`. */
function dateText(tokens: readonly Token[], epoch: Epoch): ShowNumber {
  const signs = tokens.filter(({ kind }) => kind === 'sign').map(({ text }) => text.toLowerCase())
  const isElapsed = tokens.some(({ kind }) => kind === 'elapsed')
  const hasTime = isElapsed || signs.some((sign) => /^[hs]/.test(sign))
  const [hasYear, hasDay] = [/^y/, /^d/].map((one) => signs.some((sign) => one.test(sign)))
  const hasMonth = signs.some((sign, at) => /^m/.test(sign) && !isMinute(signs, at))
  return (written) => {
    const serial = Number(written)
    if (written.trim() === '' || !Number.isFinite(serial)) return written
    if (isElapsed && serial >= 0) return timeText(Math.round(serial * 86_400))
    const parts = serialParts(hasTime ? serial : Math.floor(serial), epoch)
    if (parts === null) return '########'
    const time = hasTime ? timeText(parts.seconds) : ''
    if (!hasYear && !hasMonth && !hasDay) return time
    if (hasYear && hasMonth && hasDay) return dayText(parts) + (hasTime ? `T${time}` : '')
    return hasTime ? `${dayText(parts)}T${time}` : partOfDate(parts, tokens)
  }
}

/** `m` means minutes after hours and before seconds. */
function isMinute(signs: readonly string[], at: number): boolean {
  const isPart = (sign: string | undefined) => sign !== undefined && /^[ymdhs]+$/.test(sign)
  const before = signs.slice(0, at).findLast(isPart)
  const after = signs.slice(at + 1).find(isPart)
  return /^h/.test(before ?? '') || /^s/.test(after ?? '')
}

const monthNames = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'],
  ...['September', 'October', 'November', 'December'],
]

function partOfDate(parts: SerialParts, tokens: readonly Token[]): string {
  const { year, month, day } = parts
  const name = monthNames[month - 1]!
  const shown: Readonly<Record<string, string>> = {
    ...{ y: twoDigits(year % 100), yy: twoDigits(year % 100), yyy: String(year) },
    ...{ yyyy: String(year), m: String(month), mm: twoDigits(month), mmm: name.slice(0, 3) },
    ...{ mmmm: name, mmmmm: name[0]!, d: String(day), dd: twoDigits(day) },
  }
  const texts = tokens.map(({ kind, text }) =>
    kind === 'sign' ? (shown[text.toLowerCase()] ?? (/^\w/.test(text) ? null : text)) : text,
  )
  // A weekday, an era: the whole date says more.
  return texts.includes(null) ? dayText(parts) : texts.join('').trim()
}

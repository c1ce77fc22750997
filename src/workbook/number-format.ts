import {
  dayText,
  type Epoch,
  serialParts,
  timeText,
  type SerialParts,
  twoDigits,
} from './date-serial.ts'

/** Turns the number of a cell, as written in the file, into its text. */
export type ShowNumber = (written: string) => string

const builtIn: Readonly<Record<number, string>> = {
  ...{ 9: '0%', 10: '0.00%', 14: 'm/d/yyyy', 15: 'd-mmm-yy', 16: 'd-mmm', 17: 'mmm-yy' },
  ...{ 18: 'h:mm AM/PM', 19: 'h:mm:ss AM/PM', 20: 'h:mm', 21: 'h:mm:ss', 22: 'm/d/yyyy h:mm' },
  ...{ 45: 'mm:ss', 46: '[h]:mm:ss', 47: 'mm:ss.0' },
}
/** Dates of East Asian versions of Excel. */
const isEastAsianDate = (id: number) => (id >= 27 && id <= 36) || (id >= 50 && id <= 58)

/** How cells of a number format are shown. `code`: of a format that the workbook defines itself. */
export function showBy(id: number, code: string | undefined, epoch: Epoch): ShowNumber {
  const format = code ?? builtIn[id] ?? (isEastAsianDate(id) ? 'yyyy/m/d' : 'General')
  const tokens = tokensOf(format)
  const shape = tokens.map(({ kind, text }) => (kind === 'sign' ? text : '')).join('')
  if (/^general$/i.test(shape)) return generalText
  if (/[ymdhs]/i.test(shape) || tokens.some(({ kind }) => kind === 'elapsed'))
    return dateText(tokens, epoch)
  if (shape.includes('%')) return percentText
  const isZeros = /0/.test(shape) && !/[#?.,/E@]/i.test(shape)
  return isZeros ? (written) => zerosText(written, tokens) : withUnits(tokens)
}

interface Token {
  /** `literal`: text that is shown as it is. `elapsed`: hours, minutes or seconds of a duration. */
  readonly kind: 'sign' | 'literal' | 'elapsed'
  readonly text: string
}

const token =
  /"([^"]*)"|\\(.)|[_*].|\[([hms]+)\]|\[\$([^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]|(general|AM\/PM|A\/P|y+|m+|d+|h+|s+)|([\s\S])/giu

/** The parts of the first section of a format, which is the one for positive numbers. */
function tokensOf(format: string): readonly Token[] {
  const tokens: Token[] = []
  for (const [all, quoted, escaped, elapsed, currency, word, other] of format.matchAll(token)) {
    if (other === ';') break
    if (elapsed !== undefined) tokens.push({ kind: 'elapsed', text: elapsed })
    else if (word !== undefined || (other !== undefined && /[0#?.,%/E@+]/i.test(other)))
      tokens.push({ kind: 'sign', text: all })
    else tokens.push({ kind: 'literal', text: quoted ?? escaped ?? currency ?? other ?? '' })
  }
  return tokens
}

/** A number without a format: up to 15 digits, as Excel stores them. */
export function generalText(written: string): string {
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

/** The whole number, and the unit or currency that the format shows beside it. Digits are neither grouped nor rounded away. */
function withUnits(tokens: readonly Token[]): ShowNumber {
  const first = tokens.findIndex(isDigit)
  const last = tokens.findLastIndex(isDigit)
  const [before, after] = [unitText(tokens.slice(0, first)), unitText(tokens.slice(last + 1))]
  if (first < 0 || before + after === '') return generalText
  return (written) => {
    const text = generalText(written)
    return text.startsWith('-') ? `-${before}${text.slice(1)}${after}` : `${before}${text}${after}`
  }
}

function isDigit({ kind, text }: Token): boolean {
  return kind === 'sign' && /[0#?]/.test(text)
}

/** Literals with a letter or a currency sign; brackets, dashes and blanks alone are no unit. */
function unitText(tokens: readonly Token[]): string {
  const text = tokens.map((one) => (one.kind === 'literal' ? one.text : '')).join('')
  return /[\p{L}\p{Sc}]/u.test(text) ? text : ''
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

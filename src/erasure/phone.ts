// Phone numbers however they are written: 0412 345 678, +61 412 345 678 and (61) 412345678 are one.

/** Calling codes of the regions, and how many digits a number has behind them. */
const nationalDigits: Readonly<Record<string, readonly number[]>> = {
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
}
/** Fewer are no number that names anybody; more are no phone number (E.164). */
const least = 7
const most = 15

/** A phone number within a text. */
export interface PhoneFound {
  readonly key: string
  readonly start: number
  readonly end: number
}

/** The number without calling code and leading zeros; null when the text is none. */
export function phoneKey(text: string): string | null {
  const digits = text.replaceAll(/\D/g, '')
  return nationalOf(digits, text.trimStart().replace(/^\(/, '').startsWith('+'))
}

/** Everything in the text that can be read as a phone number: every row of digit groups that stand close together. */
export function phonesIn(text: string): PhoneFound[] {
  const groups = [...text.matchAll(/\d+/g)].map(({ 0: digits, index }) => ({
    digits,
    start: index,
    end: index + digits.length,
  }))
  const found: PhoneFound[] = []
  for (const [first, { start }] of groups.entries()) {
    const isInternational = text[start - 1] === '+'
    let digits = ''
    for (let last = first; last < groups.length; last++) {
      const group = groups[last]!
      if (last > first && !isSeparator(text.slice(groups[last - 1]!.end, group.start))) break
      digits += group.digits
      if (digits.length > most + 4) break
      const key = nationalOf(digits, isInternational)
      if (key !== null)
        found.push({ key, start: isInternational ? start - 1 : start, end: group.end })
    }
  }
  return found
}

function isSeparator(between: string): boolean {
  return /^[\s().\-–/\u00a0]{1,4}$/.test(between)
}

function nationalOf(digits: string, plus: boolean): string | null {
  const isInternational = plus || digits.startsWith('00')
  const bare = digits.replace(/^0+/, '')
  const national = withoutCode(bare, isInternational || (bare === digits && digits.length >= 11))
  return national.length >= least && national.length <= most ? national : null
}

function withoutCode(digits: string, mayHaveOne: boolean): string {
  if (!mayHaveOne) return digits
  for (const [code, lengths] of Object.entries(nationalDigits)) {
    if (!digits.startsWith(code)) continue
    // The zero of "+61 (0)412 345 678".
    const rest = digits.slice(code.length).replace(/^0+/, '')
    if (lengths.includes(rest.length)) return rest
  }
  return digits
}

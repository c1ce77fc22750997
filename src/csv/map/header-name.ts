/** What a header says besides its name: `Mileage (km)`, `Price AED`, `Cost ex GST`. */
export interface HeaderEvidence {
  readonly unit: 'km' | 'mi' | null
  /** ISO 4217. */
  readonly currency: string | null
}

export interface HeaderName extends HeaderEvidence {
  /** Letters and digits of any script; compared exactly, never as a part of another. `#` where nothing else is left. */
  readonly key: string
  /** The key without a unit, currency or tax word at its end; null where there is none. */
  readonly shortKey: string | null
}

const marks = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u0640]/g
const qualifiers = /[([{]([^()[\]{}]*)[)\]}]/g
const units: Readonly<Record<string, 'km' | 'mi'>> = {
  ...{ km: 'km', kms: 'km', klm: 'km', klms: 'km', kilometers: 'km', kilometres: 'km' },
  ...{ kilometer: 'km', kilometre: 'km', كم: 'km', كيلومتر: 'km', كيلومترات: 'km' },
  ...{ mi: 'mi', mile: 'mi', miles: 'mi', ميل: 'mi' },
}
const currencies: Readonly<Record<string, string>> = {
  ...{ aed: 'AED', dhs: 'AED', dirham: 'AED', dirhams: 'AED', درهم: 'AED' },
  ...{ sar: 'SAR', ريال: 'SAR', qar: 'QAR', kwd: 'KWD', bhd: 'BHD', omr: 'OMR' },
  ...{ aud: 'AUD', usd: 'USD', nzd: 'NZD', cad: 'CAD', gbp: 'GBP', eur: 'EUR', zar: 'ZAR' },
}
const bracketed: Readonly<Record<string, string>> = {
  ...{ sr: 'SAR', qr: 'QAR', kd: 'KWD', bd: 'BHD', ro: 'OMR', dh: 'AED', r: 'ZAR' },
  ...{ '£': 'GBP', '€': 'EUR' },
}
const ignored =
  /^(|\$|cc|l|kw|hp|days?|optional|required|mandatory|text|number|date|yyyy|(dd|mm)+yy+|yyyymmdd)$/
const tax = /^((incl?|including|excl?|excluding|plus)?(gst|vat|tax|taxes)(incl?|included|excl?)?)$/

/** Letters of one sound in one form: alef, ta marbuta and ya are typed as it comes. */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .replace(marks, '')
    .replace(/[أإآٱ]/g, 'ا')
    .replace(/ة/g, 'ه')
    .replace(/[ىی]/g, 'ي')
    .replace(/ک/g, 'ك')
    .replace(/[\u0660-\u0669\u06f0-\u06f9]/g, (digit) => String(digit.codePointAt(0)! & 15))
}

/** Letters and digits of any script, lower case. */
export function headerKey(text: string): string {
  const key = folded(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
  return key === '' && text.includes('#') ? '#' : key
}

/** Reads a header: its key to look up, and what it says of unit and currency. */
export function readHeader(text: string): HeaderName {
  const evidence: { unit: 'km' | 'mi' | null; currency: string | null } = {
    unit: null,
    currency: null,
  }
  const name = folded(text).replace(qualifiers, (whole, inner: string) =>
    takeQualifier(inner.toLowerCase(), evidence) ? ' ' : whole,
  )
  const words = wordsOf(name)
  for (const word of words) takeWord(word, evidence)
  return { key: headerKey(name), shortKey: withoutSuffix(words), ...evidence }
}

type Found = { unit: 'km' | 'mi' | null; currency: string | null }

function takeQualifier(inner: string, found: Found): boolean {
  const words = inner.split(/[^\p{L}\p{N}$£€]+/u).filter(Boolean)
  const key = words.join('')
  if (ignored.test(key) || tax.test(key)) return true
  const isKnown = words.every(
    (word) => takeWord(word, found) || word in bracketed || tax.test(word),
  )
  for (const word of words) if (isKnown && word in bracketed) found.currency ??= bracketed[word]!
  return isKnown
}

function takeWord(word: string, found: Found): boolean {
  if (Object.hasOwn(units, word)) found.unit ??= units[word]!
  else if (Object.hasOwn(currencies, word)) found.currency ??= currencies[word]!
  else return false
  return true
}

/** `priceAED`, `mileage_km`, `Price AED` → words. */
function wordsOf(name: string): string[] {
  return name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
}

function withoutSuffix(words: readonly string[]): string | null {
  let end = words.length
  while (end > 1 && isSuffix(words[end - 1]!)) end -= 1
  return end === words.length ? null : words.slice(0, end).join('')
}

function isSuffix(word: string): boolean {
  return (
    Object.hasOwn(units, word) ||
    Object.hasOwn(currencies, word) ||
    /^(inc|incl|including|ex|excl|excluding|plus)$/.test(word) ||
    tax.test(word)
  )
}

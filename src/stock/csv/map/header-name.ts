import { hash } from 'node:crypto'
import { isCurrencyCode } from '../../../values/currency-codes.ts'
import { findDistanceUnit } from '../../../values/distance-unit.ts'

/** The unit and currency in a header: `Mileage (km)`, `Price AED`, `Cost ex GST`. */
interface HeaderEvidence {
  readonly unit: 'km' | 'mi' | null
  /** ISO 4217. */
  readonly currency: string | null
}

/** A header in the forms that are compared with known names. */
export interface HeaderName extends HeaderEvidence {
  /** Letters and digits of any script; compared exactly, never as a part of another. `#` where nothing else is left. */
  readonly key: string
  /** The key without a unit, currency or tax word at its end; null where there is none. */
  readonly shortKey: string | null
  /** Its words without that end, lower case, abbreviations in full: `Stk Mdl` → stock, model. */
  readonly words: readonly string[]
}

const marks = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u0640]/g
const qualifiers = /[([{]([^()[\]{}]*)[)\]}]/g
const currencies: Readonly<Record<string, string>> = {
  ...{ aed: 'AED', dhs: 'AED', dirham: 'AED', dirhams: 'AED', درهم: 'AED' },
  ...{ sar: 'SAR', ريال: 'SAR', qar: 'QAR', kwd: 'KWD', bhd: 'BHD', omr: 'OMR' },
  ...{ euro: 'EUR', euros: 'EUR' },
  ...{ aud: 'AUD', usd: 'USD', nzd: 'NZD', cad: 'CAD', gbp: 'GBP', eur: 'EUR', zar: 'ZAR' },
}
const bracketed: Readonly<Record<string, string>> = {
  ...{ sr: 'SAR', qr: 'QAR', kd: 'KWD', bd: 'BHD', ro: 'OMR', dh: 'AED', r: 'ZAR' },
  ...{ '£': 'GBP', '€': 'EUR' },
}
/** Currency codes that are English words too; in a header they are words. */
const englishCodes = /^(all|top|try|cup|mad|pen|gel|ron|sos|mop|bam|kgs|nio|bob|mdl)$/
const inFull = new Map<string, string>(
  Object.entries({
    ...{ desc: 'description', descr: 'description', dt: 'date', yr: 'year', prc: 'price' },
    ...{ no: 'number', num: 'number', nr: 'number', nbr: 'number', amt: 'amount' },
    ...{ mdl: 'model', modl: 'model', mk: 'make', mfr: 'manufacturer', veh: 'vehicle' },
    ...{ mfg: 'manufacture', manu: 'manufacture', manuf: 'manufacture' },
    ...{ manufactured: 'manufacture', manufacturing: 'manufacture' },
    ...{ adv: 'advertised', advert: 'advertised', stk: 'stock', dlr: 'dealer', loc: 'location' },
    ...{ ext: 'exterior', int: 'interior', color: 'colour', clr: 'colour', col: 'colour' },
    ...{ odo: 'odometer', reg: 'registration', rego: 'registration', regn: 'registration' },
    ...{ eng: 'engine', trans: 'transmission', exp: 'expiry', cyl: 'cylinders' },
    ...{ purch: 'purchase', purchased: 'purchase', acq: 'acquired', acquisition: 'acquired' },
    ...{ recd: 'received', rcvd: 'received', receipt: 'received', arrived: 'arrival' },
    ...{ entered: 'entry' },
  }),
)
const ignored =
  /^(|\$|cc|l|kw|hp|days?|optional|required|mandatory|text|number|date|yyyy|(dd|mm)+yy+|yyyymmdd)$/
const tax =
  /^((incl?|including|excl?|excluding|plus)?(gst|vat|tax|taxes|ttc|tva|mwst|iva)(incl?|included|excl?)?)$/

/** Most names: they have neither accents nor forms to exchange. */
const ascii = /^[ -~]*$/

/** One form for letters that writers exchange freely: alef, ta marbuta and ya. */
function folded(text: string): string {
  if (ascii.test(text)) return text
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

/** `Kilométrage` → Kilometrage, `Außenfarbe` → Aussenfarbe. The marks of Arabic letters stay. */
export function withoutAccents(text: string): string {
  if (ascii.test(text)) return text
  return text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replaceAll('ß', 'ss')
    .normalize('NFC')
}

/** Reads a header: its lookup key, unit and currency. */
export function readHeader(text: string): HeaderName {
  const evidence: Found = { unit: null, currency: null, isOfTwoUnits: false }
  const name = folded(text).replace(qualifiers, (whole, inner: string) =>
    takeQualifier(inner.toLowerCase(), evidence) ? ' ' : whole,
  )
  const words = splitWords(name)
  const isBracketed = evidence.unit !== null
  for (const word of words)
    if (!isBracketed || findDistanceUnit(word) === null) takeWord(word, evidence)
  const short = withoutSuffix(words)
  return {
    key: headerKey(name),
    shortKey: short.length === words.length ? null : short.join(''),
    words: short.map((word) => inFull.get(word) ?? word),
    // `Odometer (km/mi)` names none: each cell, another column or the rooftop does.
    unit: evidence.isOfTwoUnits ? null : evidence.unit,
    currency: evidence.currency,
  }
}

/** While the header is read. */
type Found = { -readonly [Key in keyof HeaderEvidence]: HeaderEvidence[Key] } & {
  isOfTwoUnits: boolean
}

function takeQualifier(inner: string, found: Found): boolean {
  const words = inner.split(/[^\p{L}\p{N}$£€]+/u).filter(Boolean)
  const key = words.join('')
  if (ignored.test(key) || tax.test(key)) return true
  const isKnown = words.every(
    (word) =>
      takeWord(word, found) ||
      Object.hasOwn(bracketed, word) ||
      tax.test(word) ||
      isCurrencyCode(upper(word)),
  )
  for (const word of words)
    if (isKnown && Object.hasOwn(bracketed, word)) found.currency ??= bracketed[word]!
    else if (isKnown && isCurrencyCode(upper(word))) found.currency ??= upper(word)
  return isKnown
}

const upper = (word: string) => word.toUpperCase()

function takeWord(word: string, found: Found): boolean {
  const unit = findDistanceUnit(word)
  if (unit !== null) {
    found.isOfTwoUnits ||= found.unit !== null && found.unit !== unit
    found.unit ??= unit
  } else if (isCurrency(word)) found.currency ??= currencies[word] ?? upper(word)
  else return false
  return true
}

function isCurrency(word: string): boolean {
  return (
    Object.hasOwn(currencies, word) || (isCurrencyCode(upper(word)) && !englishCodes.test(word))
  )
}

/** `priceAED`, `mileage_km`, `Price AED` → words. */
function splitWords(name: string): string[] {
  return name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
}

function withoutSuffix(words: readonly string[]): readonly string[] {
  let end = words.length
  while (end > 1 && isSuffix(words[end - 1]!)) end -= 1
  return words.slice(0, end)
}

function isSuffix(word: string): boolean {
  return (
    findDistanceUnit(word) !== null ||
    isCurrency(word) ||
    /^(inc|incl|including|ex|excl|excluding|plus|inkl|zzgl|con)$/.test(word) ||
    tax.test(word)
  )
}

/**
 * sha256 (hex) of the normalised headers in their order, by which a mapping is remembered for a rooftop. A file
 * without a header is identified by its number of columns alone.
 */
export function headerFingerprint(names: readonly string[] | null, width: number): string {
  const shape = names === null ? { columns: width } : names.map(headerKey)
  return hash('sha256', JSON.stringify(shape))
}

/** A text in its plain form, and where each of its characters is in the original. */
export interface NormalisedText {
  readonly text: string
  /** The range of the original that `start` to `end` of `text` was made of. */
  readonly rangeOf: (start: number, end: number) => { readonly start: number; readonly end: number }
}

/**
 * The one form in which texts are searched: escapes of HTML, links and JSON as characters, compatibility forms (full-width,
 * mathematical) and decimal digits of any script in ASCII, without invisible characters. Case and accents stay. Takes linear time.
 */
export function normaliseText(text: string): NormalisedText {
  return replaceIn({ text, rangeOf: (start, end) => ({ start, end }) }, notPlain, plainMatch)
}

/** The text with every match replaced. Positions still count in the original. */
export function replaceIn(
  from: NormalisedText,
  pattern: RegExp,
  by: (match: RegExpExecArray) => string,
): NormalisedText {
  const matches = from.text.matchAll(pattern)
  const starts: number[] = []
  const ends: number[] = []
  let [text, at] = ['', 0]
  const copyTo = (end: number) => {
    text += from.text.slice(at, end)
    for (; at < end; at++) ends[starts.push(at) - 1] = at + 1
  }
  let isSame = true
  for (const match of matches) {
    const next = by(match)
    if (next === match[0]) continue
    isSame = false
    copyTo(match.index)
    at = match.index + match[0].length
    text += next
    for (let each = 0; each < next.length; each++) ends[starts.push(match.index) - 1] = at
  }
  if (isSame) return from
  copyTo(from.text.length)
  return { text, rangeOf: (start, end) => from.rangeOf(starts[start]!, ends[end - 1]!) }
}

/** SQL `like` patterns of ASCII texts that may change when they are normalised. */
export const escapePatterns = [
  ...['%&%;%', '%&#%', '%\\\\u%'],
  ...['%\\%25%', '%\\%4%', '%\\%5%', '%\\%6%', '%\\%7%', '%\\%c%', '%\\%d%', '%\\%e%'],
]

let disguises: string | null = null

/** A regular expression of Postgres: characters beyond ASCII that vanish, or become letters, digits or signs of a contact. */
export function disguisePattern(): string {
  disguises ??= `[${disguiseRanges()
    .map((range) => range.map((code) => String.fromCodePoint(code)).join('-'))
    .join('')}]`
  return disguises
}

/** Code points beyond the planes in use are private, except the tags of the last plane that has any. */
const planes = [
  [0x80, 0xd7ff],
  [0xe000, 0x1ffff],
  [0xe0000, 0xe0fff],
] as const

function disguiseRanges(): number[][] {
  const ranges: number[][] = []
  for (const [first, last] of planes)
    for (let code = first; code <= last; code++) {
      const plain = plainCharacter(String.fromCodePoint(code))
      if (plain !== '' && !/[0-9a-z@.+]/i.test(plain)) continue
      const range = ranges.at(-1)
      if (range?.at(-1) === code - 1) range[1] = code
      else ranges.push([code])
    }
  return ranges
}

const link = '%(?:25)*'
/** An escape, or a character beyond ASCII with its marks. The number of marks is limited: to sort them takes more than linear time. */
const notPlain = new RegExp(
  [
    String.raw`&(?:amp;)*(?:#(?<decimal>\d{1,7});?|#x(?<hex>[0-9a-f]{1,6});|(?<named>[a-z]{2,8});)`,
    `(?<link>${link}[0-7][0-9a-f]|${link}[c-f][0-9a-f](?:${link}[89ab][0-9a-f]){1,3})`,
    String.raw`\\u(?<unit>[0-9a-f]{4}(?:(?<=d[89ab]..)\\ud[c-f][0-9a-f]{2})?)|(?<blank>\\[bfnrt])`,
    String.raw`(?!\s)\p{Cc}`,
    String.raw`(?:[A-Za-z](?=\p{M})|[^\x00-\x7f])\p{M}{0,8}`,
  ].join('|'),
  'giu',
)

const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', commat: '@', period: '.', plus: '+', hyphen: '-', dash: '-', lowbar: '_' },
  ...{ nbsp: ' ', ensp: ' ', emsp: ' ', thinsp: ' ', shy: '', zwj: '', zwnj: '', lrm: '', rlm: '' },
  ...{ lpar: '(', rpar: ')', lsqb: '[', rsqb: ']', apos: "'", ndash: '-' },
}

function plainMatch(match: RegExpExecArray): string {
  const [whole] = match
  const { decimal, hex, named, link: encoded, unit, blank } = match.groups!
  if (named !== undefined) return entities[named.toLowerCase()] ?? whole
  if (blank !== undefined) return ' '
  if (unit !== undefined)
    return plainCharacter(
      unit
        .split(/\\u/i)
        .map((each) => String.fromCharCode(Number.parseInt(each, 16)))
        .join(''),
    )
  if (encoded !== undefined) return plainCharacter(decodedLink(encoded) ?? whole)
  if (decimal === undefined && hex === undefined) return plainCharacter(whole)
  const code = Number.parseInt(hex ?? decimal!, hex === undefined ? 10 : 16)
  return code > 0 && code <= 0x10ffff ? plainCharacter(String.fromCodePoint(code)) : whole
}

function decodedLink(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded.replaceAll(/%(?:25)+/g, '%'))
  } catch {
    return null
  }
}

const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|(?!\s|\u0085)\p{Cc}/gu

function plainCharacter(character: string): string {
  if (/^[\t-\r\x20-\x7e]*$/.test(character)) return character
  const visible = character.replaceAll(invisible, '')
  return visible
    .normalize('NFKC')
    .replaceAll(/[\u3002\uff61]/g, '.')
    .replaceAll(/(?!\d)\p{Nd}/gu, (digit) => asciiDigits().get(digit)!)
}

let digits: ReadonlyMap<string, string> | null = null

/** Unicode has the decimal digits of each script in a row, from zero to nine. */
function asciiDigits(): ReadonlyMap<string, string> {
  if (digits !== null) return digits
  const found: string[] = []
  for (let code = 0x30; code < 0x20000; code++) {
    const character = String.fromCodePoint(code)
    if (/\p{Nd}/u.test(character)) found.push(character)
  }
  digits = new Map(found.map((digit, index) => [digit, String(index % 10)]))
  return digits
}

import { isName, type SearchTerm } from './search-terms.ts'
import { tokenize } from './tokenize.ts'

// Needles as LIKE patterns over text as it is stored, JSON with its escapes included. They find more than is meant; redact.ts
// decides. Regular expressions would say more and take a hundred times as long.

/** What a search compares: `texts` with the text in lower case, `digits` with the text without what stands between digits. */
export interface Patterns {
  readonly texts: readonly string[]
  readonly digits: readonly string[]
  /** Those of `texts` that count in the rows of other rooftops too; names do not. */
  readonly anywhere: readonly string[]
  /** Where all of them count; null: everywhere. */
  readonly rooftopIds: readonly number[] | null
}

/** Stands between the digits of a phone number, as JSON escapes it too. */
const betweenDigits = [
  ...[' ', '-', '(', ')', '.', '/', '\t', '\n', '\u00a0', '\u2010', '\u2013'],
  ...['\\t', '\\n'],
]

/** With rooftops given, names are searched for in their rows and in those of no rooftop alone. */
export function patternsOf(
  needles: readonly SearchTerm[],
  rooftopIds: readonly number[] | null = null,
): Patterns {
  const texts = needles.filter(({ kind }) => kind === 'email' || kind === 'phrase')
  const phones = needles.filter(({ kind }) => kind === 'phone')
  const distinct = (of: readonly SearchTerm[]) => [...new Set(of.flatMap(containing))]
  return {
    texts: distinct(texts),
    digits: [...new Set(phones.map(({ key }) => `%${key}%`))],
    anywhere: distinct(texts.filter((needle) => !isName(needle))),
    rooftopIds,
  }
}

/** Whether the column of a row of `rooftop` matches `parametersOf`. Nested `replace` is several times quicker than `translate`,
 *  and still the dearest part: it is left out where no number is searched for. */
export function matching(column: string, rooftop: string): string {
  const text = `${column}::text`
  const digits = betweenDigits.reduce((all, one) => `replace(${all}, '${one}', '')`, text)
  const texts = `case when ${rooftop} <> all($4::int[]) then $3::text[] else $1::text[] end`
  return `($1::text[] <> '{}' and lower(${text} collate "C") like any(${texts}) or $2::text[] <> '{}' and ${digits} like any($2::text[]))`
}

/** Tells patterns from others; personal data. */
export function patternsKey({ texts, digits, anywhere, rooftopIds }: Patterns): string {
  const sorted = [texts, digits, anywhere].map((of) => [...of].sort())
  return JSON.stringify([...sorted, rooftopIds && [...rooftopIds].sort((a, b) => a - b)])
}

/** The parameters of `matching`. */
export function parametersOf({ texts, digits, anywhere, rooftopIds }: Patterns): unknown[] {
  return [texts, digits, anywhere, rooftopIds]
}

/** Fewer letters in a row would match half of the warehouse. */
const leastRun = 3

/** The patterns of a phrase or an e-mail; none when all its runs of letters are too short to tell anything. */
function containing(needle: SearchTerm): string[] {
  const parts = partsOf(needle)
  const loose = pattern(parts.map(loosened))
  if (longestRun(loose) >= leastRun) return [loose]
  const spelled = parts.some(isBeyondAscii) ? spellings(parts) : [parts]
  // Words so short tell something only as they stand together.
  return spelled
    .map((words) => (words.some((word) => word.length >= leastRun) ? words : [words.join(' ')]))
    .filter((words) => words.some((word) => word.length >= leastRun))
    .flatMap((words) => [pattern(words.map(asWritten)), pattern(words.map(asEscaped))])
}

function partsOf({ kind, key, spelling }: SearchTerm): string[] {
  if (kind === 'email') return key.split('@')
  return tokenize(spelling).map(({ start, end }) => spelling.slice(start, end))
}

/** Words in their order, whatever is between them. */
function pattern(words: readonly string[]): string {
  return `%${words.join('%')}%`
}

/** An accented letter of our alphabet may be stored in many ways, the bare letter among them: anything may stand for it. */
function loosened(word: string): string {
  return asWritten(word).replaceAll(/(?:(?![\x20-\x7e])[\p{Script=Latin}\p{M}])+/gu, '%')
}

/** Of a loosened pattern, in ASCII: another script has to be spelled out. */
function longestRun(loose: string): number {
  if (isBeyondAscii(loose)) return 0
  return Math.max(...loose.split(/[%_]/).map((run) => run.length))
}

/** As names of any script are stored: composed, decomposed and without marks, in either letter case. */
function spellings(words: readonly string[]): string[][] {
  const forms: ((word: string) => string)[] = [
    (word) => word.normalize('NFC'),
    (word) => word.normalize('NFD'),
    (word) => word.normalize('NFKD').replaceAll(/\p{M}/gu, ''),
  ]
  return forms.flatMap((form) => {
    const formed = words.map(form)
    const upper = formed.map((word) => word.toUpperCase())
    return [formed, formed.map((word) => word.toLowerCase()), upper]
  })
}

/** Lower case as the collation "C" makes it: that of ASCII alone. */
function asWritten(word: string): string {
  return word.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()).replaceAll(/[\\%_]/g, '_')
}

/** As JSON may have it, `\u00e9`; the search lowers the digits. */
function asEscaped(word: string): string {
  return asWritten(word).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `_u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function isBeyondAscii(text: string): boolean {
  return /[^\x20-\x7e]/.test(text)
}

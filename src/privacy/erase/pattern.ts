import { disguisePattern, escapePatterns } from '../screen/normalise-text.ts'
import { phoneSeparators } from '../screen/phone.ts'
import { isName, plainTerms, type SearchTerm, type SearchTerms } from '../screen/search-terms.ts'
import { tokenize } from '../screen/tokenize.ts'

// Search terms as LIKE patterns over stored text, including JSON with its escapes. They find too much; redact.ts
// decides. Regular expressions would be more exact, but take a hundred times as long.

/** Patterns of a search: `texts` for the lower-case text, `digits` for the text without separators between digits. */
export interface Patterns {
  readonly texts: readonly string[]
  readonly digits: readonly string[]
  /** The `texts` that also count in rows of other rooftops; names do not. */
  readonly anywhere: readonly string[]
  /** Rooftops where all patterns count; null: everywhere. */
  readonly rooftopIds: readonly number[] | null
  /** What the patterns were made of, for texts that SQL cannot normalise. */
  readonly terms: SearchTerms
}

/** Separators between the digits of a phone number, also as escapes of JSON and links. */
const betweenDigits = [...phoneSeparators, '\u00a0', '\\t', '\\n', '%20']

/** With rooftops given, names are searched only in their rows and in rows without a rooftop. */
export function buildPatterns(
  terms: readonly SearchTerm[],
  rooftopIds: readonly number[] | null = null,
): Patterns {
  const texts = terms.filter(({ kind }) => kind === 'email' || kind === 'phrase')
  const phones = terms.filter(({ kind }) => kind === 'phone')
  const distinct = (of: readonly SearchTerm[]) => [...new Set(of.flatMap(patternsOfTerm))]
  return {
    texts: distinct(texts),
    digits: [...new Set(phones.map(({ key }) => `%${key}%`))],
    anywhere: distinct(texts.filter((term) => !isName(term))),
    rooftopIds,
    terms: plainTerms(terms),
  }
}

/** SQL: whether the column of a row of `rooftop` matches `parametersOf`. Nested `replace` is several times faster than `translate`,
 *  and still the slowest part, so it is left out if no number is searched for. */
export function matching(column: string, rooftop: string): string {
  const text = `${column}::text`
  const digits = betweenDigits.reduce((all, one) => `replace(${all}, '${one}', '')`, text)
  const texts = `case when ${rooftop} <> all($4::int[]) then $3::text[] else $1::text[] end`
  return `($1::text[] <> '{}' and lower(${text} collate "C") like any(${texts}) or $2::text[] <> '{}' and ${digits} like any($2::text[]))`
}

/** SQL: whether the column may match once it is normalised, which takes too long in SQL. */
export function disguised(column: string): string {
  const text = `${column}::text`
  return `(${text} like any($5::text[]) or octet_length(${text}) <> char_length(${text}) and ${text} collate "C" ~ $6::text)`
}

/** Identifies the patterns; personal data. */
export function patternsKey({ texts, digits, anywhere, rooftopIds }: Patterns): string {
  const sorted = [texts, digits, anywhere].map((of) => [...of].sort())
  return JSON.stringify([...sorted, rooftopIds && [...rooftopIds].sort((a, b) => a - b)])
}

/** The parameters of `matching` and `disguised`. */
export function patternParameters({ texts, digits, anywhere, rooftopIds }: Patterns): unknown[] {
  return [texts, digits, anywhere, rooftopIds, escapePatterns, disguisePattern()]
}

/** A shorter run of letters would match half of the warehouse. */
const minRun = 3

/** The patterns of a phrase or an e-mail; none if all its runs of letters are too short. */
function patternsOfTerm(term: SearchTerm): string[] {
  const parts = termParts(term)
  const loose = pattern(parts.map(loosened))
  if (longestRun(loose) >= minRun) return [loose]
  const spelled = parts.some(isBeyondAscii) ? spellings(parts) : [parts]
  // Such short words are significant only together.
  return spelled
    .map((words) => (words.some((word) => word.length >= minRun) ? words : [words.join(' ')]))
    .filter((words) => words.some((word) => word.length >= minRun))
    .flatMap((words) => [pattern(words.map(asWritten)), pattern(words.map(asEscaped))])
}

function termParts({ kind, key, spelling }: SearchTerm): string[] {
  // The signs of an e-mail may be written in words.
  if (kind === 'email') {
    const parts = key.split(/[^\p{L}\p{M}\p{N}]+/u).filter((part) => part !== '')
    return parts.some((part) => part.length >= minRun) ? parts : key.split('@')
  }
  return tokenize(spelling).map(({ start, end }) => spelling.slice(start, end))
}

/** Words in their order, with any text between them. */
function pattern(words: readonly string[]): string {
  return `%${words.join('%')}%`
}

/** A wildcard for each accented Latin letter: it may be stored in many forms, also without the accent. */
function loosened(word: string): string {
  return asWritten(word).replaceAll(/(?:(?![\x20-\x7e])[\p{Script=Latin}\p{M}])+/gu, '%')
}

/** The longest run of ASCII letters in a loosened pattern: other scripts must be spelled out. */
function longestRun(loose: string): number {
  if (isBeyondAscii(loose)) return 0
  return Math.max(...loose.split(/[%_]/).map((run) => run.length))
}

/** Spellings in which names of any script may be stored: composed, decomposed and without marks, in both cases. */
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

/** Lower case as in the collation "C": ASCII only. */
function asWritten(word: string): string {
  return word.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()).replaceAll(/[\\%_]/g, '_')
}

/** As JSON may escape it, `\u00e9`; the search has the digits in lower case. */
function asEscaped(word: string): string {
  return asWritten(word).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `_u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function isBeyondAscii(text: string): boolean {
  return /[^\x20-\x7e]/.test(text)
}

import type { Person } from '../../values/person.ts'
import { emailKey, emailsIn } from './email.ts'
import { phoneKey, phonesIn } from './phone.ts'
import { phraseKey, tokenize } from './tokenize.ts'

/** Replaces erased personal data. */
export const erasedMark = '[erased]'

/** The mark in an older body, which must still differ from the next body. */
export function numberedMark(version: number): string {
  return `[erased ${version}]`
}

/** Whether a value is one of the marks. */
export function isErasedMark(value: unknown): boolean {
  return typeof value === 'string' && /^\[erased( \d+)?\]$/.test(value)
}

/** `whole` matches a complete text; the others match within a text. */
type SearchTermKind = 'email' | 'phone' | 'phrase' | 'whole'

/** A text that names a person, normalised for comparison. Personal data: never printed, never stored. */
export interface SearchTerm {
  readonly kind: SearchTermKind
  readonly key: string
  /** The original spelling, for a search in SQL. */
  readonly spelling: string
}

/** A set of search terms: plain, or as digests. */
export interface SearchTerms {
  readonly has: (kind: SearchTermKind, key: string) => boolean
  /** The distinct lengths of the phrases, in words. */
  readonly phraseWords: readonly number[]
}

/** A set of plain search terms. */
export function plainTerms(terms: readonly SearchTerm[]): SearchTerms {
  const keys = new Map<SearchTermKind, Set<string>>()
  for (const { kind, key } of terms) keys.set(kind, (keys.get(kind) ?? new Set()).add(key))
  return {
    has: (kind, key) => keys.get(kind)?.has(key) === true,
    phraseWords: phraseLengths(terms),
  }
}

/** The terms of both sets. */
export function unionOfTerms(one: SearchTerms, other: SearchTerms): SearchTerms {
  return {
    has: (kind, key) => one.has(kind, key) || other.has(kind, key),
    phraseWords: [...new Set([...one.phraseWords, ...other.phraseWords])],
  }
}

/** Leaves out terms of kind `whole`, for data where a single word proves nothing. */
export function withoutWholeTerms({ has, phraseWords }: SearchTerms): SearchTerms {
  return { has: (kind, key) => kind !== 'whole' && has(kind, key), phraseWords }
}

/** Only e-mails and phone numbers, for the facts of a vehicle, which may equal a name. */
export function contactsOnly({ has }: SearchTerms): SearchTerms {
  return {
    has: (kind, key) => (kind === 'email' || kind === 'phone') && has(kind, key),
    phraseWords: [],
  }
}

/** Leaves out names, for data of other dealer groups, where a name may be a common word or another person's. */
export function withoutNames({ has, phraseWords }: SearchTerms): SearchTerms {
  return { has: (kind, key) => !isName({ kind, key }) && has(kind, key), phraseWords }
}

/** Whether it is a phrase without a number; address lines have one. */
export function isName({ kind, key }: Pick<SearchTerm, 'kind' | 'key'>): boolean {
  return kind === 'phrase' && !/\p{N}/u.test(key)
}

/** Kind and key as one text, for sets and digests. */
export function termId({ kind, key }: Pick<SearchTerm, 'kind' | 'key'>): string {
  return `${kind}:${key}`
}

/** The lengths of the phrases in words, so that a search forms only phrases of these lengths. */
export function phraseLengths(terms: readonly SearchTerm[]): number[] {
  const phrases = terms.filter(({ kind }) => kind === 'phrase')
  return [...new Set(phrases.map(({ key }) => key.split(' ').length))].sort((a, b) => a - b)
}

/** The terms without repetition. */
export function distinctTerms(terms: readonly SearchTerm[]): SearchTerm[] {
  return [...new Map(terms.map((term) => [termId(term), term])).values()]
}

/** Longer than any real name, address or list of contacts. The rest is ignored, or a hostile field of a megabyte
 *  would give hundreds of thousands of terms. */
const longestField = 1000
const maxWords = 24

/** The e-mails and phone numbers of a person's fields; a field may have several. */
export function contactTerms(person: Person): SearchTerm[] {
  const { email, phone } = shortened(person)
  const emails = [emailKey(email ?? ''), ...emailsIn(email ?? '').map(({ key }) => key)]
  const phones = [phoneKey(phone ?? ''), ...phonesIn(phone ?? '').map(({ key }) => key)]
  return distinctTerms([
    ...emails.flatMap((key) => (key === null ? [] : [term('email', key, key)])),
    ...phones.flatMap((key) => (key === null ? [] : [term('phone', key, key)])),
  ])
}

/** Values of a person without a name that are compared at most: a hostile record may have millions. */
const unnamedLimit = 1000

/** `contactsOf`, and the values without a name that are a contact as a whole. They prove whose record it is to who has the contact;
 *  they may be a lender's, so no other record is searched for them. */
export function possibleContactTerms(person: Person): SearchTerm[] {
  const unnamed = (person.unnamed ?? []).slice(0, unnamedLimit).flatMap((text) => {
    const [email, phone] = [emailKey(text), phoneKey(text)]
    return [
      ...(email === null ? [] : [term('email', email, email)]),
      ...(phone === null ? [] : [term('phone', phone, phone)]),
    ]
  })
  return distinctTerms([...contactTerms(person), ...unnamed])
}

/** The terms that name the person in any text: contacts, the full name, an address line. Never a first name or a suburb alone. */
export function personTerms(found: Person): SearchTerm[] {
  const person = withoutMarks(found)
  return distinctTerms([
    ...contactTerms(person),
    ...phrases(nameSpellings(person.name), isFullName),
    ...phrases(addressSpellings(person.address), (words) => words.length >= 3 && hasDigit(words)),
  ])
}

/** The terms that name the person in their own evaluation, where shorter terms are enough. */
export function termsForOwnEvaluation(found: Person): SearchTerm[] {
  const person = withoutMarks(found)
  const { name, suburb, plate } = person
  const wholes = [...tokenize(name ?? '').map(({ key }) => key), phraseKey(suburb ?? '')]
  return distinctTerms([
    ...personTerms(person),
    ...possibleContactTerms(person),
    ...phrases(nameSpellings(name), (words) => letters(words) >= 4),
    ...phrases(addressSpellings(person.address), (words) => words.length >= 2),
    ...phrases(plateSpellings(plate), (words) => letters(words) >= 4 && hasDigit(words)),
    ...wholes.filter((key) => key.length >= 2).map((key) => term('whole', key, key)),
  ])
}

/** Ignores fields that were erased before. */
function withoutMarks(person: Person): Person {
  return mapFields(shortened(person), (value) => (isErasedMark(value) ? null : value))
}

function shortened(person: Person): Person {
  return mapFields(person, (value) => value?.slice(0, longestField) ?? null)
}

function mapFields(person: Person, change: (value: string | null) => string | null): Person {
  const { unnamed, ...texts } = person
  const fields = Object.entries(texts).map(([key, value]) => [key, change(value)])
  return { ...Object.fromEntries(fields), ...(unnamed ? { unnamed } : {}) } as unknown as Person
}

function term(kind: SearchTermKind, key: string, spelling: string): SearchTerm {
  return { kind, key, spelling }
}

function phrases(
  spellings: readonly string[],
  isSpecific: (words: readonly string[]) => boolean,
): SearchTerm[] {
  return spellings.flatMap((spelling) => {
    const words = tokenize(spelling).map(({ key }) => key)
    return words.length > 0 && isSpecific(words) ? [term('phrase', words.join(' '), spelling)] : []
  })
}

/** Jane Ann Citizen, Citizen Jane Ann (for any start of the family name), and Jane Citizen. */
function nameSpellings(name: string | null): string[] {
  const words =
    name === null
      ? []
      : tokenize(name)
          .slice(0, maxWords)
          .map(({ start, end }) => name.slice(start, end))
  if (words.length < 2) return words
  const rotations = words.map((_, begin) =>
    [...words.slice(begin), ...words.slice(0, begin)].join(' '),
  )
  return [...rotations, `${words[0]} ${words.at(-1)}`]
}

/** The whole address, and its first line. */
function addressSpellings(address: string | null): string[] {
  if (address === null) return []
  const beginning = address.slice(0, tokenize(address)[maxWords - 1]?.end)
  return [beginning, beginning.split(/[,\n]/)[0]!]
}

function plateSpellings(plate: string | null): string[] {
  return plate === null ? [] : [plate, plate.replaceAll(/[^\p{L}\p{N}]/gu, '')]
}

/** Whether at least two words have more than one letter: an initial and a family name are not enough. */
function isFullName(words: readonly string[]): boolean {
  return words.filter((word) => word.length >= 2).length >= 2 && letters(words) >= 5
}

function letters(words: readonly string[]): number {
  return words.join('').length
}

function hasDigit(words: readonly string[]): boolean {
  return words.some((word) => /\p{N}/u.test(word))
}

import { randomInt } from 'node:crypto'
import { makeKeys } from '../../stock/csv/map/vehicle-words.ts'
import { maxJsonDepth } from '../../values/json-depth.ts'
import { valueAtKey } from '../../values/json-path.ts'
import { documentedEvaluationPaths, watchStatuses } from '../contract/appraisal/shapes.ts'
import { type Answer, isEmpty } from './answers.ts'
import { comparable, forms, formText, parseInstant } from './forms.ts'
import { evaluationsIn } from './learn.ts'
import { listsIn } from './learn-lists.ts'

/** The body of an answer as it may be shown: in the place of what is hidden there is something else. */
export type Mask = (answer: Answer) => unknown

/** Answers that name no person. */
interface Substituted {
  readonly answers: readonly Answer[]
  /** How many different values have another one in their place. */
  readonly replaced: number
  /** How many of them have null, because no other value of their form was found. */
  readonly dropped: number
}

/**
 * The answers with other values in the place of the hidden ones, of the same form: equal values stay equal and different ones stay
 * different, so that the learner finds the same in them. A text or a longer number stays only if it is shown at each of its places, and
 * none of its words is hidden anywhere. Which value replaced which is forgotten.
 */
export function withSubstitutes(answers: readonly Answer[], mask: Mask): Substituted {
  const ids = new Set<unknown>([
    ...evaluationsIn(answers).map(({ key }) => key),
    ...answers.map(({ rooftop }) => String(rooftop?.dealerId)),
  ])
  const { hidden, shown } = splitValues(answers, mask, (value) => ids.has(comparable(value)))
  const rareKeys = keysOfOne(answers)
  const substitutes = new Substitutes(hidden, shown)
  const change = (value: unknown, left = maxJsonDepth): unknown => {
    if (left === 0) return null
    if (Array.isArray(value)) return value.map((each) => change(each, left - 1))
    if (value === null || typeof value !== 'object')
      return isScalar(value) && !isPlain(value) && hidden.has(comparable(value))
        ? substitutes.replace(value)
        : value
    const entries = Object.entries(value).map(([key, each]) => [
      isFieldName(key) && !rareKeys.has(key) ? key : `key ${String(substitutes.replace(key))}`,
      change(each, left - 1),
    ])
    return Object.fromEntries(entries) as unknown
  }
  const uids = [...new Set(answers.map(({ rooftop }) => rooftop?.uid))]
  const changed = answers.map(({ operation, request, body, rooftop }) => ({
    operation,
    request: change(request) as Answer['request'],
    body: change(body),
    ...(rooftop && {
      rooftop: {
        uid: `rooftop-${uids.indexOf(rooftop.uid) + 1}`,
        dealerId: change(rooftop.dealerId) as number | null,
      },
    }),
  }))
  return { answers: changed, replaced: substitutes.replaced, dropped: substitutes.dropped }
}

type Scalar = string | number

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number'
}

/** Whether a value says nothing about a person wherever it is: a short number, a time of these years, a documented word. */
function isPlain(value: Scalar): boolean {
  if (isEmpty(value) || (watchStatuses as readonly unknown[]).includes(value)) return true
  const isNumber = typeof value === 'number'
  if (
    isNumber ? String(value).replaceAll(/\D/g, '').length < 7 : /^\d{1,3}(,?\d{3})? km$/.test(value)
  )
    return true
  // No mobile number of a region is a time of these years, in seconds or milliseconds.
  if (!isNumber && !/^\d{4}-\d\d-\d\d/.test(value)) return false
  const at = parseInstant(value)?.getTime() ?? 0
  return at > Date.UTC(2010, 0) && at < Date.now() + 370 * 86_400_000
}

const documentedNames = new Set([
  ...documentedEvaluationPaths.flatMap((path) => path.split(/[.[\]]+/)),
  ...['Name', 'Email', 'WatchStatus', 'SearchNumber', 'CertificateNumber'],
])

function isFieldName(key: string): boolean {
  return /^[A-Za-z_][\w-]{0,39}$/.test(key)
}

/** Keys that one record alone has: each may be the name of a person. */
function keysOfOne(answers: readonly Answer[]): ReadonlySet<string> {
  const counts = new Map<string, number>()
  const records = [
    ...evaluationsIn(answers).map(({ body }) => body),
    ...answers
      .filter(({ operation }) => operation !== 'geteval')
      .flatMap(({ body }) => listsIn(body).flatMap(({ items }) => items)),
  ]
  for (const record of records)
    for (const key of new Set(keysIn(record))) counts.set(key, (counts.get(key) ?? 0) + 1)
  return new Set(
    [...counts.keys()].filter((key) => counts.get(key) === 1 && !documentedNames.has(key)),
  )
}

function keysIn(value: unknown, left = maxJsonDepth): string[] {
  if (value === null || typeof value !== 'object' || left === 0) return []
  const below = Object.values(value).flatMap((each) => keysIn(each, left - 1))
  return Array.isArray(value) ? below : [...Object.keys(value), ...below]
}

/** Words of a text, in which another text may name the same person. */
function wordsIn(value: Scalar): string[] {
  return String(value)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
}

/** What may not be shown, and the rest, as it is compared. */
function splitValues(
  answers: readonly Answer[],
  mask: Mask,
  isId: (value: Scalar) => boolean,
): { readonly hidden: ReadonlySet<string>; readonly shown: ReadonlySet<string> } {
  const hidden = new Set<string>()
  const words = new Set<string>()
  const shown: Scalar[] = []
  const compare = (value: unknown, masked: unknown, left = maxJsonDepth) => {
    if (left === 0) return
    if (value !== null && typeof value === 'object') {
      for (const [key, each] of Object.entries(value))
        compare(each, valueAtKey(masked, key), left - 1)
    } else if (isScalar(value)) {
      // A time of other years may be a date of birth.
      const isText = typeof value === 'string' && !forms.link(value) && !forms.instant(value)
      const isShown = isPlain(value) || isId(value) || (isText && value === masked)
      if (isShown) shown.push(value)
      else hidden.add(comparable(value))
      if (!isShown && !forms.link(value)) for (const word of wordsIn(value)) words.add(word)
    }
  }
  for (const answer of answers) {
    compare(answer.body, mask(answer))
    compare(answer.request, {})
  }
  for (const text of shown)
    if (!isPlain(text) && !isId(text) && wordsIn(text).some((word) => words.has(word)))
      hidden.add(comparable(text))
  return { hidden, shown: new Set(shown.map(comparable)).difference(hidden) }
}

const maxTries = 5_000
const start = /^[^\p{L}\p{N}]*0*/u
const letters = /[\p{L}\p{N}]/gu
/** Letters that replace others: ASCII, others of Europe, and the rest. */
const alphabets = ['abcdefghijklmnopqrstuvwxyz', 'àáâçèéêíîñòóôùú', 'ابتثجحخدذرزسشصضطظعغفقكلمنهوي']
const colours =
  'black white silver grey blue red green brown beige gold orange yellow purple maroon bronze pearl cream navy burgundy charcoal champagne tan ivory pink turquoise'.split(
    ' ',
  )
const makes = [...makeKeys]

/** Other values of the same form, each for one value. */
class Substitutes {
  dropped = 0
  readonly #known = new Map<string, { readonly of: string; readonly found: string | null }>()
  readonly #used = new Set<string>()
  readonly #links = new Map<string, string>()
  readonly #hidden: ReadonlySet<string>
  readonly #shown: ReadonlySet<string>

  constructor(hidden: ReadonlySet<string>, shown: ReadonlySet<string>) {
    this.#hidden = hidden
    this.#shown = shown
  }

  get replaced(): number {
    return this.#known.size
  }

  replace(value: Scalar): Scalar | null {
    if (typeof value === 'string' && forms.link(value)) return this.#link(value)
    const key = comparable(value)
    if (!this.#known.has(key)) {
      const found = this.#find(value)
      if (found === null) this.dropped += 1
      else this.#used.add(comparable(found))
      this.#known.set(key, { of: String(value), found })
    }
    const { of, found } = this.#known.get(key)!
    if (found === null) return null
    const text = of === String(value) ? found : sameMarks(String(value), found)
    return typeof value === 'number' ? Number(text) : text
  }

  /** A link without host and signature; one that was signed again is another one of the same path. */
  #link(link: string): string {
    const known = this.#links.get(link)
    if (known !== undefined) return known
    const { pathname, search } = new URL(link.trim())
    const path = String(this.replace(pathname))
    const text = `https://recorded.example/${path.replace(/^\//, '')}${search === '' ? '' : `?n=${this.#links.size}`}`
    this.#links.set(link, text)
    return text
  }

  #find(value: Scalar): string | null {
    const isNumber = typeof value === 'number'
    const hasKnown = [value, ...String(value).split(' ')].some(isKnownWord)
    const wanted = signature(value, hasKnown)
    for (let tries = 0; tries < maxTries; tries += 1) {
      const text = otherText(String(value))
      const candidate = isNumber ? Number(text) : text
      const key = comparable(candidate)
      // Of short numbers and known words there are few: one may replace another.
      const isTooFew = /^(.|\d{2,3})$/u.test(key) || (hasKnown && tries * 2 > maxTries)
      if (this.#used.has(key) || this.#shown.has(key) || (!isTooFew && this.#hidden.has(key)))
        continue
      if (signature(candidate, hasKnown) === wanted) return text
    }
    return null
  }
}

/** What the learner sees of a value by itself. Of a known word the length, and the script, may be another one. */
function signature(value: Scalar, hasKnown: boolean): string {
  const tests = Object.entries(forms).map(
    ([name, test]) => (hasKnown && name === 'id') || test(value),
  )
  const size = hasKnown ? '' : [formText(value), comparable(value).length]
  return JSON.stringify([tests, isEmpty(value), size])
}

function isKnownWord(value: Scalar): boolean {
  return forms.make(value) || forms.colour(value)
}

function pick<T>(choices: ArrayLike<T>): T {
  return choices[randomInt(choices.length)]!
}

/** Another letter for each letter, and another digit for each digit but the zeros at the start. */
function otherLetters(text: string): string {
  const zeros = start.exec(text)![0].length
  return text.replaceAll(letters, (one, at: number) => {
    if (/\p{N}/u.test(one)) return at < zeros ? one : otherDigit(one)
    const letter = pick(alphabets[one < '\u0080' ? 0 : one < '\u0250' ? 1 : 2]!)
    return one === one.toLowerCase() ? letter : letter.toUpperCase()
  })
}

/** Of the same script: the digits of ASCII and of Arabic begin at a multiple of 16. */
function otherDigit(one: string): string {
  const code = one.codePointAt(0)!
  return [0x30, 0x660, 0x6f0].includes(code & ~15)
    ? String.fromCodePoint((code & ~15) + randomInt(10))
    : String(randomInt(10))
}

/** Other letters and digits; another make or colour for a known one. */
function otherText(text: string): string {
  if (forms.make(text)) return spelledAs(text, pick(makes))
  return text.replaceAll(/[\p{L}\p{N}]+/gu, (word) =>
    forms.make(word)
      ? spelledAs(word, pick(makes))
      : forms.colour(word)
        ? spelledAs(word, pick(colours))
        : otherLetters(word),
  )
}

function spelledAs(like: string, word: string): string {
  if (like === like.toLowerCase()) return word
  return like === like.toUpperCase()
    ? word.toUpperCase()
    : word.charAt(0).toUpperCase() + word.slice(1)
}

/** The letters and digits of another text with the marks, blanks and zeros that this one has; the other text where they do not fit. */
function sameMarks(text: string, other: string): string {
  const rest = text.replace(start, '')
  const found = other.replace(start, '').match(letters) ?? []
  if (found.length !== (rest.match(letters) ?? []).length) return other
  let at = 0
  const changed = rest.replaceAll(letters, (one) => {
    const letter = found[at++]!
    return one === one.toLowerCase() ? letter.toLowerCase() : letter.toUpperCase()
  })
  return start.exec(text)![0] + changed
}

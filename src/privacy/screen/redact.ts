import { emailsIn } from './email.ts'
import { phonesIn } from './phone.ts'
import { erasedMark, type SearchTerms } from './search-terms.ts'
import { tokenize, type Word } from './tokenize.ts'

/** The text of a whole body that is withheld, because it is unknown which of its fields are about the customer. */
export const withheldBody = JSON.stringify({ withheld: 'names a customer that was erased' })

interface Range {
  readonly start: number
  readonly end: number
}

/** Replaces every term in the text by the mark; returns the same text if it has none. A second call changes nothing. */
export function redactText(text: string, terms: SearchTerms): string {
  const ranges = found(text, terms).sort((a, b) => a.start - b.start || b.end - a.end)
  if (ranges.length === 0) return text
  let [result, at] = ['', 0]
  for (const { start, end } of ranges) {
    if (start >= at) result += text.slice(at, start) + erasedMark
    at = Math.max(at, end)
  }
  return result + text.slice(at)
}

/** A cheap test for an e-mail or phone number in any spelling, which most cells of a list fail. */
export function mayHaveContact(text: string): boolean {
  return /[@&\\]|%[2-7c-f]|[([{<]\s{0,2}at|[^\x20-\x7e]|(?:\d\D{0,4}){7}/i.test(text)
}

/** The same for all strings, numbers and keys of a JSON value. Returns the same object if it has no term. */
export function redactJson(value: unknown, terms: SearchTerms): unknown {
  if (typeof value === 'string') return redactText(value, terms)
  if (typeof value === 'number') return redactNumber(value, terms)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, terms))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  const entries = Object.entries(value)
  const redacted = entries.map(([key, item]) => [redactText(key, terms), redactJson(item, terms)])
  const isSame = redacted.every(([key, item], index) => {
    const [oldKey, oldItem] = entries[index]!
    return key === oldKey && item === oldItem
  })
  return isSame ? value : Object.fromEntries(redacted)
}

/** Redacts a number: a phone number may be sent as one. */
export function redactNumber(value: number, terms: SearchTerms): number | string {
  if (!Number.isSafeInteger(value) || value < 1_000_000) return value
  return redactText(String(value), terms) === String(value) ? value : erasedMark
}

function found(text: string, terms: SearchTerms): Range[] {
  const words = tokenize(text)
  const keys = words.map(({ key }) => key)
  const whole = keys.join(' ')
  if (whole !== '' && terms.has('whole', whole)) return [{ start: 0, end: text.length }]
  return [
    ...emailsIn(text).filter(({ key }) => terms.has('email', key)),
    ...phonesIn(text).filter(({ key }) => terms.has('phone', key)),
    ...terms.phraseWords.flatMap((length) => phrasesIn(words, keys, length, terms)),
  ]
}

function phrasesIn(
  words: readonly Word[],
  keys: readonly string[],
  length: number,
  terms: SearchTerms,
): Range[] {
  const ranges: Range[] = []
  for (let first = 0; first + length <= words.length; first++) {
    let phrase = keys[first]!
    for (let next = first + 1; next < first + length; next++) phrase += ` ${keys[next]!}`
    if (terms.has('phrase', phrase))
      ranges.push({ start: words[first]!.start, end: words[first + length - 1]!.end })
  }
  return ranges
}

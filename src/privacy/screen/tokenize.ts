import { normaliseText } from './normalise-text.ts'

/** A word of a text, normalised for comparison, with its position. */
export interface Word {
  readonly key: string
  readonly start: number
  readonly end: number
}

const wordPattern = /[\p{L}\p{N}\p{M}]+/gu

/** The words of a text: letters and digits, without case and accents. */
export function tokenize(text: string): Word[] {
  const plain = normaliseText(text)
  return [...plain.text.matchAll(wordPattern)].map(({ 0: word, index }) => ({
    key: wordKey(word),
    ...plain.rangeOf(index, index + word.length),
  }))
}

/** The whole text as words, e.g. `jane o brien`. */
export function phraseKey(text: string): string {
  return tokenize(text)
    .map(({ key }) => key)
    .join(' ')
}

function wordKey(word: string): string {
  // Most words are ASCII, and this check is much cheaper.
  if (/^[\x20-\x7e]*$/.test(word)) return word.toLowerCase()
  return word.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
}

import { type Reading, readNumber, readPlainNumber } from './number.ts'

/** A number and the words around it: `R 619 900`, `150,000km`, `$39,998 drive away`. */
export interface Quantity {
  readonly reading: Reading
  readonly isNegative: boolean
  /** Lower case, without punctuation; a currency sign is a word. */
  readonly words: readonly string[]
}

const parts = /^(\D*?)([.,]?\d(?:[\d .,'’`´ʼ\u060c\u066b\u066c]*\d)?[.,]?)(\D*)$/
/** A longer text is prose, not a number with its unit. */
const longest = 60
const noWords: readonly string[] = []

/** Splits a cell's plain text; null when it has no number, or more than one. */
export function readQuantity(text: string): Quantity | null {
  if (text.length > longest) return null
  const plain = readPlainNumber(text)
  if (plain) return { reading: plain, isNegative: false, words: noWords }
  const found = parts.exec(text)
  if (!found) return null
  const [before, core, after] = [found[1]!, found[2]!, found[3]!]
  const reading = readNumber(before === '' ? core : withoutStop(before, core))
  if (!reading) return null
  if (before === '' && after === '') return { reading, isNegative: false, words: noWords }
  return { reading, ...wordsAround(before, after) }
}

type WordsAround = Omit<Quantity, 'reading'>
/** A cache: the text around a column's numbers repeats. */
const seen = new Map<string, WordsAround>()
const mostSeen = 1000

function wordsAround(before: string, after: string): WordsAround {
  const key = `${before}0${after}`
  const known = seen.get(key)
  if (known) return known
  const found = { isNegative: isNegative(before, after), words: wordsOf(`${before} ${after}`) }
  if (seen.size < mostSeen) seen.set(key, found)
  return found
}

/** Removes the full stop of `Rs.500`, which belongs to the word. */
function withoutStop(before: string, core: string): string {
  const isStop = core[0] === '.' || core[0] === ','
  return isStop && /\p{L}$/u.test(before) ? core.slice(1) : core
}

/** Whether there is a minus sign or accountants' brackets; `AED - 500` and `500/-` are not negative. */
function isNegative(before: string, after: string): boolean {
  if (before.includes('(') && after.includes(')')) return /\(\D?$/.test(before)
  return /^\s*[-−]/.test(before) || /[-−]$/.test(before)
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s()+*/\-−:|]+/)
    .map((word) => word.replace(/^[.,]+|[.,]+$/g, ''))
    .filter((word) => word !== '')
}

import { findColumnUnit, findDistanceUnit } from '../../../values/distance-unit.ts'
import { isDateLike } from './typing/date.ts'
import { isTitle, readModelYear } from './typing/description.ts'
import { usualCurrency } from './typing/money.ts'
import { numberIn } from './typing/numbers-above.ts'
import { readDistance } from './typing/odometer.ts'
import { isOnApplication, isPlaceholder, plainText } from './typing/plain-text.ts'
import { isStatusText } from './typing/sold-words.ts'
import { wordTests } from './vehicle-words.ts'

/** Statistics of a column's values. Shares are 0..1 of the filled cells. */
export interface ColumnProfile {
  readonly cells: number
  /** Cells that are not empty. */
  readonly filled: number
  readonly distinct: number
  readonly isConstant: boolean
  /** 0, 1, 2 … or 1, 2, 3 …: a row number, not a key. */
  readonly isRowIndex: boolean
  readonly averageLength: number
  /** The middle number; null when there is none. */
  readonly median: number | null
  readonly share: Readonly<Record<Trait, number>>
}

type Test = RegExp | ((text: string) => boolean)

const tests = {
  ...wordTests,
  vin: (text: string) => /^[A-HJ-NPR-Z0-9]{17}$/i.test(text.replace(/[\s*-]/g, '')),
  // A vehicle's number: digits, perhaps with letters and punctuation; no blanks within.
  code: /^(?=.*\d)[\p{L}\d][\p{L}\d./_#-]{2,24}$/u,
  plate: /^(?=.*\d)(?=.{2,12}$)[\p{L}\d]+([ ./-][\p{L}\d]+){0,3}$/u,
  year: /^(19[89]\d|20[012]\d)$/,
  modelYear: (text: string) => readModelYear(text) !== null,
  title: isTitle,
  digits: /\d/,
  distance: (text: string) => (readDistance(text)?.unit ?? null) !== null,
  unit: (text: string) => findDistanceUnit(text) !== null,
  // Only where the header means units: in another column an M may mean Manual.
  unitLetter: (text: string) => findColumnUnit(text) !== null,
  currency: (text: string) => text.length > 1 && usualCurrency(text) !== null,
  date: isDateLike,
  // Two decimals or a currency sign: money rather than distance.
  cents: /\d[.,]\d\d$|[$£€]/,
  url: /^(https?:)?\/\/|^www\./i,
  flag: /^(true|false|yes|no|y|n|0|1)$/i,
  remaining: /^\d+ (day|hour|minute|week)s? (left|remaining)$/i,
  generation:
    /\bMY\s?\d\d|\bMk\s?[IVX\d]+|\bSeries \w|^[A-Z]{1,5}\d{1,4}[A-Z]?$|^[A-Z]{2} I+$|^\d{3}\b/i,
  onApplication: isOnApplication,
  onHand: isStatusText,
} satisfies Readonly<Record<string, Test>>

/** A property that a cell's text may have. A cell may have several. */
export type Trait = keyof typeof tests | 'number' | 'positive' | 'decimal' | 'text'

/** Counts the traits of one column's cells in a sample, in the file's order. */
export function profileColumn(cells: readonly string[]): ColumnProfile {
  const texts = cells.map((cell) => plainText(cell.slice(0, 400)))
  const filled = texts.filter((text) => !isPlaceholder(text, null))
  const numbers = filled.map(numberIn).filter((number) => number !== null)
  const count = new Map<string, number>()
  for (const text of filled) count.set(text, (count.get(text) ?? 0) + 1)
  return {
    cells: cells.length,
    filled: filled.length,
    distinct: count.size,
    isConstant: filled.length >= 3 && count.size === 1,
    isRowIndex: isRowIndex(filled),
    averageLength: filled.reduce((sum, text) => sum + text.length, 0) / (filled.length || 1),
    median: median(numbers),
    share: traitShares(count, filled.length, numbers),
  }
}

/** Whether it has values, or the list has no rows that could show any. */
export function mayBeFilled({ filled, cells }: ColumnProfile): boolean {
  return filled > 0 || cells === 0
}

/** Whether enough cells are filled: a few cells of a long column prove nothing. */
export function isWellFilled({ filled, cells }: ColumnProfile): boolean {
  return filled * 2 >= cells ? filled > 0 : filled >= 3 && filled * 10 >= cells
}

/** Tests each distinct text once. */
function traitShares(
  count: ReadonlyMap<string, number>,
  filled: number,
  numbers: readonly number[],
): Record<Trait, number> {
  const share: Record<string, number> = {}
  const part = (number: number) => (filled === 0 ? 0 : number / filled)
  for (const [trait, test] of Object.entries<Test>(tests)) {
    const has = typeof test === 'function' ? test : (text: string) => test.test(text)
    let hits = 0
    for (const [text, times] of count) if (has(text)) hits += times
    share[trait] = part(hits)
  }
  share['number'] = part(numbers.length)
  share['positive'] = part(numbers.filter((number) => number > 0).length)
  share['decimal'] = part(numbers.filter((number) => !Number.isInteger(number)).length)
  let textual = 0
  for (const [text, times] of count) if (/\p{L}{2}/u.test(text)) textual += times
  share['text'] = part(textual)
  return share as Record<Trait, number>
}

/** The middle number; null when there is none. */
export function median(numbers: readonly number[]): number | null {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? null
}

/** Whether it starts at 0 or 1 and counts up; a few gaps do not matter. */
function isRowIndex(texts: readonly string[]): boolean {
  if (texts.length < 2 || !texts.every((text) => /^\d{1,9}$/.test(text))) return false
  const numbers = texts.map(Number)
  const steps = numbers.filter((number, index) => index > 0 && number === numbers[index - 1]! + 1)
  return numbers[0]! <= 1 && steps.length >= (numbers.length - 1) * 0.95
}

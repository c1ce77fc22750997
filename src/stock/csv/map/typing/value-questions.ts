import { plural } from '../../../../values/text.ts'
import { columnName } from '../candidates.ts'
import type { ColumnMapping, MappingQuestion } from '../column-mapping.ts'
import { readingName } from '../overrides.ts'
import type { DoubtfulCell } from './cell-numbers.ts'
import { type DateEvidence, shortReadings, swappedDate } from './date.ts'
import { yearBehindDate } from './description.ts'
import type { Separator, SeparatorEvidence } from './number.ts'
import type { TypingOptions } from './typing-options.ts'

/** An earlier model year is asked about. */
export const oldestYear = 1950

/** What the cells of a column show about how they are read. */
export interface ColumnEvidence {
  readonly kind: 'money' | 'odometer' | 'date' | 'year'
  readonly column: ColumnMapping
  readonly separators: SeparatorEvidence
  readonly dates: DateEvidence
  /** Dates such as `25/08/24`: how many, the numbers in the first and the last place, and whether each of them can be a year in front. */
  readonly shortDates: {
    readonly count: number
    readonly firsts: ReadonlySet<string>
    readonly lasts: ReadonlySet<string>
    readonly maySwap: boolean
    readonly example: string
  }
  /** Years before `oldestYear`. */
  readonly years: { readonly count: number; readonly earliest: number; readonly example: string }
  /** Cells whose format shows another value than their number. */
  readonly doubts: number
  readonly doubt: Omit<DoubtfulCell, 'column'> | null
  /** A cell of each kind. */
  readonly examples: Partial<Record<Example, string>>
}

type Example = `${'decimal' | 'group' | 'either'}${Separator}` | 'ungrouped' | keyof DateEvidence

/** Dates of the first twelve days of months alone, beside dates as text that prove an order: Excel turns into real dates only what fits
 *  its own order. */
export function areSwapped(dates: DateEvidence): boolean {
  const proved = dates.dayFirst + dates.monthFirst
  return proved > 0 && dates.until12th > 0 && dates.after12th === 0
}

interface Context {
  readonly options: TypingOptions
  /** Amounts have three decimals. */
  readonly isThree: boolean
}

/** A doubt in words, with the readings to choose from: the likeliest first. */
interface Doubt {
  readonly message: string
  readonly choices: readonly (readonly [reading: string, meaning: string])[]
}

/** What a person must decide about a column's cells; null: nothing, or it was answered. */
export function valueQuestion(
  evidence: ColumnEvidence,
  columns: readonly ColumnMapping[],
  context: Context,
): MappingQuestion | null {
  const { column } = evidence
  const { field, readings = [] } = column
  const name = columnName(column, columns)
  const isOpen = ({ choices }: Doubt) => !choices.some(([reading]) => readings.includes(reading))
  const doubt = [formatDoubt, numberDoubt, dateDoubt, shortDateDoubt, yearDoubt]
    .map((find) => find(evidence, context))
    .find((found) => found !== null && isOpen(found))
  if (!doubt) return null
  const answers = doubt.choices.map(([reading, meaning]) => {
    const known = readings.filter((one) => !/^\d{4}$/.test(one) || !/^\d{4}$/.test(reading))
    const answer = readingName(field!, [...known, reading])
    return { name: answer, map: `${answer}=${name}`, meaning }
  })
  return {
    code: 'TWO_READINGS',
    message: `The column "${name}" ${doubt.message}`,
    maps: [answers[0]!.map],
    readings: answers,
  }
}

/** A cell such as `45k` whose number is 45, or a date in place of a number. */
function formatDoubt({ doubts, doubt }: ColumnEvidence): Doubt | null {
  if (doubt === null) return null
  const { shown, number } = doubt
  return {
    message: `has ${plural(doubts, 'cell')} whose format shows another value than its number: "${shown}" is the number ${number}.`,
    choices: [
      ['numbers', `"${shown}" is the number ${number}`],
      ['shown', `"${shown}" is read as it is shown`],
    ],
  }
}

/** A separator before three digits that other cells contradict. */
function numberDoubt(
  { kind, separators, examples }: ColumnEvidence,
  { isThree }: Context,
): Doubt | null {
  if (kind !== 'money' && kind !== 'odometer') return null
  const { decimal, group, either } = separators
  const contrary = (separator: Separator): string | undefined => {
    if (either[separator] === 0) return undefined
    const other = separator === '.' ? ',' : '.'
    const isProved = group[separator] > 0 || decimal[other] > 0
    if (decimal[separator] > 0 && (!isThree || isProved)) return examples[`decimal${separator}`]
    if (isProved || isThree) return undefined
    if (group[other] > 0) return examples[`group${other}`]
    // A comma is not a decimal sign in our markets, unless a cell shows it.
    return separator === '.' ? (examples[`either${other}`] ?? examples.ungrouped) : undefined
  }
  const found = (['.', ','] as const).find((separator) => contrary(separator) !== undefined)
  if (found === undefined) return null
  const cell = examples[`either${found}`]!
  const digits = /[\d.,]*\d/.exec(cell)![0]
  const [decimals, thousands] = [digits.replace(',', '.'), digits.replace('.', ',')]
  return {
    message: `has "${cell}" beside "${contrary(found)}": ${digits} is either ${decimals} (a number with three decimals) or ${thousands.replace(',', '')} (thousands).`,
    choices: [
      ['decimals', `${digits} has three decimals`],
      ['thousands', `${digits} is ${thousands.replace(',', '')}`],
    ],
  }
}

/** Real dates of Excel in which day and month may be exchanged. */
function dateDoubt({ kind, dates, examples }: ColumnEvidence): Doubt | null {
  if (kind !== 'date' || !areSwapped(dates)) return null
  const text = examples.dayFirst ?? examples.monthFirst!
  const cell = examples.until12th!
  const swapped = swappedDate(cell)!
  return {
    message: `has ${plural(dates.until12th, 'date')} and none after the 12th of a month, beside texts such as "${text}": Excel has probably exchanged day and month where it could. "${cell}" is then ${swapped}.`,
    choices: [
      ['swapped', `"${cell}" is ${swapped}`],
      ['unswapped', `"${cell}" is right as it is`],
    ],
  }
}

const enoughDates = 3

/** `25/08/24` in every cell: a list that was written with the day first has other numbers in the first place too. */
function shortDateDoubt({ kind, shortDates }: ColumnEvidence, { options }: Context): Doubt | null {
  const { count: dates, firsts, lasts, maySwap, example } = shortDates
  if (kind !== 'date' || !maySwap || dates < enoughDates) return null
  const order = options.market === 'US' ? 'month-first' : 'day-first'
  const [first, last] = shortReadings(example, order, options.today)
  const choices = [
    ['yearfirst', `"${example}" is ${first}`],
    ['yearlast', `"${example}" is ${last}`],
  ] as const
  return {
    message: `has ${plural(dates, 'date')} such as "${example}", whose first and last number can each be the year.`,
    choices: firsts.size <= lasts.size ? choices : choices.toReversed(),
  }
}

/** Years that hardly any car for sale has. */
function yearDoubt({ kind, years, column }: ColumnEvidence, { options }: Context): Doubt | null {
  const isConfirmed = column.readings?.some((one) => Number(one) <= years.earliest) ?? false
  if (kind !== 'year' || years.count === 0 || isConfirmed) return null
  const { earliest, example } = years
  const stored = yearBehindDate(example, options)
  const asWritten = [String(earliest), `years from ${earliest} on are right`] as const
  const what = `has ${plural(years.count, 'year')} before ${oldestYear}, the earliest ${earliest} ("${example}").`
  if (stored === null)
    return { message: `${what} If they are wrong, correct them.`, choices: [asWritten] }
  return {
    message: `${what} Excel shows the number ${stored} so where its cell is formatted as a date.`,
    choices: [['numbers', `"${example}" is the year ${stored}`], asWritten],
  }
}

import type { DistanceUnit } from '../../../../values/distance-unit.ts'
import type { CsvRecord } from '../../read/csv-file.ts'
import type { ColumnMapping, Mapping, MappingQuestion } from '../column-mapping.ts'
import { median } from '../column-profile.ts'
import type { Field } from '../stock-fields.ts'
import { numberReader } from './cell-numbers.ts'
import { type DateEvidence, type DateStyle, dateEvidence, shortDate } from './date.ts'
import { readModelYear, yearBehindDate } from './description.ts'
import { hasThreeDecimals, readAmount } from './money.ts'
import {
  digitsIn,
  type NumberStyle,
  noteSeparators,
  type Reading,
  separatorEvidence,
  thousands,
} from './number.ts'
import { readDistance } from './odometer.ts'
import { plainText } from './plain-text.ts'
import { isNameWithoutTax } from './tax-words.ts'
import type { CellIssue, Finding } from './typed-row.ts'
import { lastModelYear, type TypingOptions } from './typing-options.ts'
import { areSwapped, type ColumnEvidence, oldestYear, valueQuestion } from './value-questions.ts'

/** How the columns of a file are read, by the evidence of all their cells. */
export interface ColumnStyles {
  readonly options: TypingOptions
  /** By index of the column. */
  readonly numbers: ReadonlyMap<number, NumberStyle>
  readonly dates: ReadonlyMap<number, DateStyle>
  readonly odometerUnit: DistanceUnit
  /** Assumptions and contradictions, one issue for each column. */
  readonly issues: readonly CellIssue[]
  /** What no cell decides: to be answered before the list is loaded. */
  readonly questions: readonly MappingQuestion[]
}

/** Collects the evidence of the columns' styles: observe every record, then read the styles. A damaged record does not count, nor does one of another table. */
interface StyleEvidence {
  observe(record: Pick<CsvRecord, 'cells' | 'numbers' | 'problem' | 'belowHeader'>): void
  styles(): ColumnStyles
}

/** Memory is bounded: counts, and the first numbers of a column for their median. */
export function startStyles(mapping: Mapping, options: TypingOptions): StyleEvidence {
  const hasYear = mapping.columns.some(({ field }) => field === 'model_year')
  const watches = mapping.columns.flatMap((column) =>
    hasYear && column.field === 'title_combined' ? [] : columnWatches(column, options),
  )
  const read = numberReader(mapping, lastModelYear(options), ({ column, ...doubt }) => {
    const watch = watches.find((one) => one.column === column)!
    watch.doubts += 1
    watch.doubt ??= doubt
  })
  return {
    observe(record) {
      if (record.problem?.repaired === false || record.belowHeader !== undefined) return
      const { cells } = record.numbers ? read({ ...record, line: 0 }) : record
      for (const watch of watches) {
        const cell = cells[watch.column.index]
        if (cell !== undefined && cell !== '') watch.observe(cell)
      }
    },
    styles: () => findStyles(mapping, watches, options),
  }
}

/**
 * Whether both read every cell alike. If so, rows that were typed with the styles of the sample need not be typed again
 * with those of the whole file.
 */
export function hasSameStyles(one: ColumnStyles, other: ColumnStyles): boolean {
  const shape = ({ numbers, dates, odometerUnit }: ColumnStyles) =>
    JSON.stringify([[...numbers], [...dates], odometerUnit])
  return shape(one) === shape(other)
}

interface Watch extends ColumnEvidence {
  readonly dates: { -readonly [Key in keyof DateEvidence]: number }
  readonly shortDates: {
    count: number
    readonly firsts: Set<string>
    readonly lasts: Set<string>
    maySwap: boolean
    example: string
  }
  readonly years: { -readonly [Key in keyof ColumnEvidence['years']]: ColumnEvidence['years'][Key] }
  readonly examples: { -readonly [Key in keyof ColumnEvidence['examples']]: string }
  /** The first numbers, with decimals only where the cell proves them. */
  readonly numbers: number[]
  /** Cells that name a unit themselves. */
  unitsInCells: number
  /** The first amount with a $ alone. */
  dollars: string | null
  doubts: number
  doubt: ColumnEvidence['doubt']
  observe(cell: string): void
}

const kinds: Partial<Record<Field, Watch['kind']>> = {
  price_asking: 'money',
  cost: 'money',
  odometer: 'odometer',
  received_date: 'date',
  ...{ model_year: 'year', title_combined: 'year' },
}
const enoughNumbers = 5000

function columnWatches(column: ColumnMapping, options: TypingOptions): Watch[] {
  const kind = column.field === null ? undefined : kinds[column.field]
  if (kind === undefined) return []
  const notes = { date: noteDate, year: noteYear, money: noteNumber, odometer: noteNumber }
  const watch: Watch = {
    ...{
      kind,
      column,
      separators: separatorEvidence(),
      numbers: [],
      unitsInCells: 0,
      dollars: null,
      examples: {},
    },
    dates: { dayFirst: 0, monthFirst: 0, either: 0, after12th: 0, until12th: 0 },
    shortDates: { count: 0, firsts: new Set(), lasts: new Set(), maySwap: true, example: '' },
    ...{ years: { count: 0, earliest: oldestYear, example: '' }, doubts: 0, doubt: null },
    observe: (cell) => notes[kind](watch, cell, options),
  }
  return [watch]
}

function noteDate(watch: Watch, cell: string, options: TypingOptions): void {
  const text = plainText(cell)
  const short = shortDate(text, options.today)
  if (short !== null) {
    const { shortDates } = watch
    shortDates.count += 1
    shortDates.firsts.add(short.first)
    shortDates.lasts.add(short.last)
    shortDates.maySwap &&= short.maySwap
    shortDates.example ||= text
  }
  const evidence = dateEvidence(text)
  if (evidence === null) return
  watch.dates[evidence] += 1
  watch.examples[evidence] ??= text
}

/** Of a title, its first word. */
function noteYear({ column, years }: Watch, cell: string, options: TypingOptions): void {
  const text = plainText(cell)
  const year = readModelYear(column.field === 'model_year' ? text : text.split(' ', 1)[0]!)
  if (year === null || year >= oldestYear) return
  if (column.readings?.includes('numbers') && yearBehindDate(text, options) !== null) return
  years.count += 1
  if (year >= years.earliest) return
  years.earliest = year
  years.example = text
}

const plainDigits = /^\d{1,9}$/

function noteNumber(watch: Watch, cell: string): void {
  if (plainDigits.test(cell)) {
    if (cell.length > 3) watch.examples.ungrouped ??= cell
    if (watch.numbers.length < enoughNumbers) watch.numbers.push(Number(cell))
    return
  }
  const text = plainText(cell)
  const found = watch.kind === 'money' ? readAmount(text) : readDistance(text)
  if (!found) return
  noteSeparators(watch.separators, found.reading)
  if ('unit' in found && found.unit !== null) watch.unitsInCells += 1
  if ('currency' in found && found.currency === null && text.includes('$')) watch.dollars ??= cell
  noteReading(watch, found.reading, cell)
  if (watch.numbers.length >= enoughNumbers) return
  const { whole, fraction } = digitsIn(thousands, found.reading)
  watch.numbers.push(Number(`${whole}.${fraction || '0'}`))
}

function noteReading(watch: Watch, reading: Reading, cell: string): void {
  if (reading.kind === 'either') watch.examples[`either${reading.separator}`] ??= cell
  else if (reading.shows !== null) {
    const { role, separator } = reading.shows
    watch.examples[`${role}${separator}`] ??= cell
  } else if (reading.digits.whole.length > 3) watch.examples.ungrouped ??= cell
}

function findStyles(
  mapping: Mapping,
  watches: readonly Watch[],
  options: TypingOptions,
): ColumnStyles {
  const numbers = new Map<number, NumberStyle>()
  const dates = new Map<number, DateStyle>()
  const issues: CellIssue[] = []
  const questions: MappingQuestion[] = []
  const addIssue = (watch: Watch, finding: Finding | null) => {
    if (finding) issues.push(columnIssue(watch, finding))
  }
  const hasCurrencies = mapping.columns.some(({ field }) => field === 'price_currency')
  for (const watch of watches) {
    const { kind, column } = watch
    const style = dateStyle(watch, options)
    if (kind === 'date') {
      dates.set(column.index, style)
      if (!style.isYearFirst) addIssue(watch, dateFinding(watch, style, options))
    } else if (kind !== 'year') {
      numbers.set(column.index, numberStyle(watch, options))
      addIssue(watch, numberFinding(watch, options))
    }
    if (kind === 'money') addIssue(watch, currencyFinding(watch, options))
    if (kind === 'money' && !hasCurrencies) addIssue(watch, dollarFinding(watch, options))
    if (column.field === 'price_asking') addIssue(watch, taxFinding(watch))
    const isThree = hasThreeDecimalsIn(watch, options)
    const question = valueQuestion(watch, mapping.columns, { options, isThree })
    if (question !== null) questions.push(question)
  }
  const odometer = watches.find(({ kind }) => kind === 'odometer')
  const unit =
    odometer?.column.unit ?? options.odometerUnit ?? (options.market === 'US' ? 'mi' : 'km')
  if (odometer) addIssue(odometer, unitFinding(odometer, mapping, unit))
  return { options, numbers, dates, odometerUnit: unit, issues, questions }
}

/** A header with another currency than the rooftop's applies to all its cells. */
function currencyFinding({ column }: Watch, { currency }: TypingOptions): Finding | null {
  if (column.currency === null || column.currency === currency) return null
  return {
    code: 'CURRENCY_DIFFERS',
    severity: 'warning',
    hint: `its header, or a title, names ${column.currency}, the rooftop sells in ${currency}; amounts without a currency of their own were read in ${column.currency}`,
  }
}

/** Currencies whose sign is the $. */
const dollars = new Set(
  'AUD USD NZD CAD SGD HKD TWD FJD BND JMD TTD BSD BBD BZD XCD KYD GYD SRD SBD NAD LRD MXN ARS CLP COP UYU DOP'.split(
    ' ',
  ),
)

/** A $ where neither the header nor the rooftop names a dollar: the amounts may be in another currency than they are stored in. */
function dollarFinding(
  { column, dollars: cell }: Watch,
  { currency }: TypingOptions,
): Finding | null {
  const stored = column.currency ?? currency
  const name = column.header ?? ''
  if (dollars.has(stored) || (cell === null && !name.includes('$'))) return null
  return {
    code: 'CURRENCY_DIFFERS',
    severity: 'warning',
    hint: `"${cell ?? name}" has a dollar sign, and the rooftop sells in ${currency}; such amounts were stored in ${stored}: name their currency in the header, as in Price (USD)`,
  }
}

/** A price before tax is lower than what the customer pays. */
function taxFinding({ column }: Watch): Finding | null {
  if (!isNameWithoutTax(column.header ?? '')) return null
  return {
    code: 'PRICE_WITHOUT_TAX',
    severity: 'warning',
    hint: 'its header says that tax is not included: the prices were stored as written, and are lower than what a customer pays',
  }
}

/** As a person chose; else thousands, except for currencies with three decimals: there the column, or the size of its numbers, decides. */
function numberStyle(watch: Watch, options: TypingOptions): NumberStyle {
  const { readings = [] } = watch.column
  if (readings.includes('thousands')) return thousands
  if (readings.includes('decimals')) return { either: { '.': 'decimal', ',': 'decimal' } }
  if (!hasThreeDecimalsIn(watch, options)) return thousands
  const { decimal, group } = watch.separators
  const role = (separator: '.' | ',', other: '.' | ',') => {
    if (decimal[separator] > 0 && group[separator] === 0) return 'decimal'
    if (group[separator] > 0 || decimal[other] > 0) return 'group'
    // Read as thousands, the amounts would be too high for cars: 850.000 dinars are 850.
    return (median(watch.numbers) ?? 0) > 300_000 ? 'decimal' : 'group'
  }
  return { either: { '.': role('.', ','), ',': role(',', '.') } }
}

function hasThreeDecimalsIn({ kind, column }: Watch, { currency }: TypingOptions): boolean {
  return kind === 'money' && hasThreeDecimals(column.currency ?? currency)
}

function numberFinding(watch: Watch, options: TypingOptions): Finding | null {
  const { decimal, group, either } = watch.separators
  const isContradiction = (['.', ','] as const).every((one) => decimal[one] > 0)
  if (isContradiction)
    return {
      code: 'NUMBER_STYLE_MIXED',
      severity: 'warning',
      hint: 'this column has decimals after a point and after a comma; each cell was read on its own',
    }
  const three = hasThreeDecimalsIn(watch, options)
  const isProved = (separator: '.' | ',') => group[separator] + decimal[separator] > 0
  const isPointUnproved = either['.'] > 0 && !isProved('.') && decimal[','] === 0
  const isCommaUnproved = three && either[','] > 0 && !isProved(',') && decimal['.'] === 0
  if (!isPointUnproved && !isCommaUnproved) return null
  const role = numberStyle(watch, options).either[isPointUnproved ? '.' : ',']
  return {
    code: 'NUMBER_STYLE_ASSUMED',
    severity: 'info',
    hint: `"${ambiguousExample(watch)}" was read ${role === 'group' ? 'in thousands' : 'with three decimals'}; no cell of the column proves it`,
  }
}

/** The order that a header names, `Date In (MM/DD/YYYY)`; null: none. */
function namedOrder({ header }: ColumnMapping): DateStyle['order'] | null {
  const found = /(mm)\W?dd\W?yy|dd\W?mm\W?yy/i.exec(header ?? '')
  return found && (found[1] === undefined ? 'day-first' : 'month-first')
}

function dateStyle({ dates, column }: Watch, { market }: TypingOptions): DateStyle {
  const isMixed = dates.dayFirst > 0 && dates.monthFirst > 0
  const isSwapped = areSwapped(dates) && (column.readings?.includes('swapped') ?? false)
  const isUsual = isMixed || dates.dayFirst + dates.monthFirst === 0
  const usual = namedOrder(column) ?? (market === 'US' ? 'month-first' : 'day-first')
  const proved = dates.monthFirst > 0 ? 'month-first' : 'day-first'
  return {
    ...{ order: isUsual ? usual : proved, isMixed },
    ...(isSwapped && { isSwapped }),
    ...(column.readings?.includes('yearfirst') && { isYearFirst: true }),
  }
}

function dateFinding(
  { dates, column }: Watch,
  style: DateStyle,
  options: TypingOptions,
): Finding | null {
  if (dates.dayFirst > 0 && dates.monthFirst > 0)
    return {
      code: 'DATE_ORDER_MIXED',
      severity: 'warning',
      hint: `${dates.dayFirst} dates have the day first and ${dates.monthFirst} the month first; ${dates.either} more are ambiguous: write them as YYYY-MM-DD`,
    }
  if (areSwapped(dates))
    return {
      code: 'DATES_SWAPPED',
      severity: 'warning',
      hint: `Excel has probably exchanged day and month of its ${dates.until12th} real dates, since none is after the 12th; they were ${style.isSwapped ? 'exchanged again' : 'read as they are'}`,
    }
  if (dates.either === 0) return null
  const { order } = style
  const proofs = dates.dayFirst + dates.monthFirst
  const named = namedOrder(column)
  if (named === order) return null
  const isUsual = (order === 'month-first') === (options.market === 'US')
  const isSure = named === null && (isUsual || proofs * 4 > dates.either)
  if (proofs > 0 && isSure) return null
  if (proofs > 0)
    return {
      code: 'DATE_ORDER_ASSUMED',
      severity: 'warning',
      hint: `read ${orderName(order)}, because of ${proofs} of ${proofs + dates.either} dates; ${named === null ? `usual in the market ${options.market} is` : 'its header names'} the other order`,
    }
  return {
    code: 'DATE_ORDER_ASSUMED',
    severity: 'warning',
    hint: `read ${orderName(order)}, as is usual in the market ${options.market}; no date of the column proves it`,
  }
}

function orderName(order: DateStyle['order']): string {
  return order === 'day-first' ? 'with the day first' : 'with the month first'
}

/** A median above this is implausible; in the other unit it would be usual. */
const unusual: Readonly<Record<DistanceUnit, number>> = { mi: 120_000, km: 300_000 }

function unitFinding(watch: Watch, mapping: Mapping, unit: DistanceUnit): Finding | null {
  const middle = median(watch.numbers)
  const hasUnitColumn = mapping.columns.some(({ field }) => field === 'odometer_unit')
  const isNamed = watch.column.unit !== null || hasUnitColumn || watch.unitsInCells > 0
  if (isNamed || middle === null) return null
  return middle > unusual[unit]
    ? {
        code: 'UNIT_DOUBTED',
        severity: 'warning',
        hint: `read as ${unit}, but the median reading of ${middle} is unusual: name the unit in the header, as in Odometer (km)`,
      }
    : {
        code: 'UNIT_ASSUMED',
        severity: 'info',
        hint: `read as ${unit}, the unit of the rooftop; neither the header nor the cells name one`,
      }
}

function columnIssue(watch: Watch, finding: Finding): CellIssue {
  const column = watch.column.header ?? `#${watch.column.index + 1}`
  return { ...finding, line: null, column, text: ambiguousExample(watch) }
}

/** A cell that can be read in two ways. */
function ambiguousExample({ kind, examples }: Watch): string {
  return (kind === 'date' ? examples.either : (examples['either.'] ?? examples['either,'])) ?? ''
}

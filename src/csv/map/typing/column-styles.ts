import type { Market } from '../../read/csv-file.ts'
import type { ColumnMapping, Mapping } from '../column-mapping.ts'
import type { Field } from '../stock-fields.ts'
import { type DateEvidence, type DateStyle, ordersOf } from './date.ts'
import type { CellIssue, Finding } from './typed-row.ts'
import { hasThreeDecimals, readAmount } from './money.ts'
import {
  digitsIn,
  noteSeparators,
  type NumberStyle,
  type SeparatorEvidence,
  separatorEvidence,
  thousands,
} from './number.ts'
import { type DistanceUnit, readDistance } from './odometer.ts'
import { plainText } from './plain-text.ts'

/** The rooftop's defaults for what the file does not state. */
export interface TypingOptions {
  readonly market: Market
  /** ISO 4217 of the rooftop. */
  readonly currency: string
  /** The rooftop's unit; default: miles in the US, else km. */
  readonly odometerUnit?: DistanceUnit
  /** `YYYY-MM-DD`: decides two-digit years and which dates are in the future. */
  readonly today: string
}

/** How the columns of a file are read, by the evidence of all their cells. */
export interface ColumnStyles {
  readonly options: TypingOptions
  /** By index of the column. */
  readonly money: ReadonlyMap<number, NumberStyle>
  readonly dates: ReadonlyMap<number, DateStyle>
  readonly odometerUnit: DistanceUnit
  /** Assumptions and contradictions, one issue for each column. */
  readonly issues: readonly CellIssue[]
}

/** Collects the evidence of the columns' styles: observe every record, then read the styles. */
export interface StyleEvidence {
  observe(cells: readonly string[]): void
  styles(): ColumnStyles
}

/** Memory is bounded: counts, and the first numbers of a column for their median. */
export function startStyles(mapping: Mapping, options: TypingOptions): StyleEvidence {
  const watches = mapping.columns.flatMap((column) => watchOf(column))
  return {
    observe(cells) {
      for (const watch of watches) {
        const cell = cells[watch.column.index]
        if (cell !== undefined && cell !== '') watch.observe(cell)
      }
    },
    styles: () => stylesOf(mapping, watches, options),
  }
}

/**
 * Whether both read every cell alike. If so, rows that were typed with the styles of the sample need not be typed again
 * with those of the whole file.
 */
export function hasSameStyles(one: ColumnStyles, other: ColumnStyles): boolean {
  const shape = ({ money, dates, odometerUnit }: ColumnStyles) =>
    JSON.stringify([[...money], [...dates], odometerUnit])
  return shape(one) === shape(other)
}

interface Watch {
  readonly kind: 'money' | 'odometer' | 'date'
  readonly column: ColumnMapping
  readonly separators: SeparatorEvidence
  readonly dates: { -readonly [Key in keyof DateEvidence]: number }
  /** The first numbers, with decimals only where the cell proves them. */
  readonly numbers: number[]
  /** Cells that name a unit themselves. */
  ownUnits: number
  /** A cell that can be read in two ways. */
  example: string | null
  observe(cell: string): void
}

const kinds: Partial<Record<Field, Watch['kind']>> = {
  price_asking: 'money',
  cost: 'money',
  odometer: 'odometer',
  received_date: 'date',
}
const enoughNumbers = 5000

function watchOf(column: ColumnMapping): Watch[] {
  const kind = column.field === null ? undefined : kinds[column.field]
  if (kind === undefined) return []
  const watch: Watch = {
    ...{ kind, column, separators: separatorEvidence(), numbers: [], ownUnits: 0, example: null },
    dates: { dayFirst: 0, monthFirst: 0, either: 0 },
    observe: (cell) => (kind === 'date' ? noteDate(watch, cell) : noteNumber(watch, cell)),
  }
  return [watch]
}

function noteDate(watch: Watch, cell: string): void {
  const text = plainText(cell)
  const orders = ordersOf(text)
  if (orders === 'day-first') watch.dates.dayFirst += 1
  if (orders === 'month-first') watch.dates.monthFirst += 1
  if (orders !== 'either') return
  watch.dates.either += 1
  watch.example ??= text
}

const plainDigits = /^\d{1,9}$/

function noteNumber(watch: Watch, cell: string): void {
  if (plainDigits.test(cell)) {
    if (watch.numbers.length < enoughNumbers) watch.numbers.push(Number(cell))
    return
  }
  const text = plainText(cell)
  const found = watch.kind === 'money' ? readAmount(text) : readDistance(text)
  if (!found) return
  noteSeparators(watch.separators, found.reading)
  if ('unit' in found && found.unit !== null) watch.ownUnits += 1
  if (found.reading.kind === 'either') watch.example ??= cell
  if (watch.numbers.length >= enoughNumbers) return
  const { whole, fraction } = digitsIn(thousands, found.reading)
  watch.numbers.push(Number(`${whole}.${fraction || '0'}`))
}

function stylesOf(
  mapping: Mapping,
  watches: readonly Watch[],
  options: TypingOptions,
): ColumnStyles {
  const money = new Map<number, NumberStyle>()
  const dates = new Map<number, DateStyle>()
  const issues: CellIssue[] = []
  const addIssue = (watch: Watch, finding: Finding | null) => {
    if (finding) issues.push(columnIssue(watch, finding))
  }
  for (const watch of watches) {
    if (watch.kind === 'money') money.set(watch.column.index, moneyStyle(watch, options))
    if (watch.kind === 'date') dates.set(watch.column.index, dateStyle(watch.dates, options))
    if (watch.kind === 'date') addIssue(watch, dateFinding(watch.dates, options))
    else addIssue(watch, numberFinding(watch, options))
    if (watch.kind === 'money') addIssue(watch, currencyFinding(watch, options))
  }
  const odometer = watches.find(({ kind }) => kind === 'odometer')
  const unit = odometer?.column.unit ?? defaultUnit(options)
  if (odometer) addIssue(odometer, unitFinding(odometer, mapping, unit))
  return { options, money, dates, odometerUnit: unit, issues }
}

/** A header with another currency than the rooftop's applies to all its cells. */
function currencyFinding({ column }: Watch, { currency }: TypingOptions): Finding | null {
  if (column.currency === null || column.currency === currency) return null
  return {
    code: 'CURRENCY_DIFFERS',
    severity: 'warning',
    hint: `its header names ${column.currency}, the rooftop sells in ${currency}; amounts without a currency of their own were stored in ${column.currency}`,
  }
}

/** Thousands, except for currencies with three decimals: there the column, or the size of its numbers, decides. */
function moneyStyle(watch: Watch, options: TypingOptions): NumberStyle {
  if (!hasThreeDecimals(watch.column.currency ?? options.currency)) return thousands
  const { decimal, group } = watch.separators
  const role = (separator: '.' | ',', other: '.' | ',') => {
    if (decimal[separator] > 0 && group[separator] === 0) return 'decimal'
    if (group[separator] > 0 || decimal[other] > 0) return 'group'
    return areDecimals(watch) ? 'decimal' : 'group'
  }
  return { either: { '.': role('.', ','), ',': role(',', '.') } }
}

/** Whether the separators are decimals: read as thousands, the amounts would be too high for cars. 850.000 dinars are 850. */
function areDecimals(watch: Watch): boolean {
  const middle = watch.numbers.toSorted((a, b) => a - b)[Math.floor(watch.numbers.length / 2)] ?? 0
  return middle > 300_000
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
  const three =
    watch.kind === 'money' && hasThreeDecimals(watch.column.currency ?? options.currency)
  const isProved = (separator: '.' | ',') => group[separator] + decimal[separator] > 0
  const isPointUnproved = either['.'] > 0 && !isProved('.') && decimal[','] === 0
  const isCommaUnproved = three && either[','] > 0 && !isProved(',') && decimal['.'] === 0
  if (!isPointUnproved && !isCommaUnproved) return null
  const role = moneyStyle(watch, options).either[isPointUnproved ? '.' : ',']
  return {
    code: 'NUMBER_STYLE_ASSUMED',
    severity: 'info',
    hint: `"${watch.example}" was read ${role === 'group' ? 'in thousands' : 'with three decimals'}; no cell of the column proves it`,
  }
}

function dateStyle(dates: DateEvidence, { market }: TypingOptions): DateStyle {
  const isMixed = dates.dayFirst > 0 && dates.monthFirst > 0
  if (dates.dayFirst > 0 && !isMixed) return { order: 'day-first', isMixed }
  if (dates.monthFirst > 0 && !isMixed) return { order: 'month-first', isMixed }
  return { order: market === 'US' ? 'month-first' : 'day-first', isMixed }
}

function dateFinding(dates: DateEvidence, options: TypingOptions): Finding | null {
  if (dates.dayFirst > 0 && dates.monthFirst > 0)
    return {
      code: 'DATE_ORDER_MIXED',
      severity: 'warning',
      hint: `${dates.dayFirst} dates have the day first and ${dates.monthFirst} the month first; ${dates.either} more are ambiguous: write them as YYYY-MM-DD`,
    }
  if (dates.either === 0 || dates.dayFirst + dates.monthFirst > 0) return null
  const { order } = dateStyle(dates, options)
  return {
    code: 'DATE_ORDER_ASSUMED',
    severity: 'warning',
    hint: `read ${order === 'day-first' ? 'with the day first' : 'with the month first'}, as is usual in the market ${options.market}; no date of the column proves it`,
  }
}

function defaultUnit({ odometerUnit, market }: TypingOptions): DistanceUnit {
  return odometerUnit ?? (market === 'US' ? 'mi' : 'km')
}

/** A median above this is implausible; in the other unit it would be usual. */
const unusual: Readonly<Record<DistanceUnit, number>> = { mi: 120_000, km: 300_000 }

function unitFinding(watch: Watch, mapping: Mapping, unit: DistanceUnit): Finding | null {
  const middle = watch.numbers.toSorted((a, b) => a - b)[Math.floor(watch.numbers.length / 2)] ?? 0
  const hasUnitColumn = mapping.columns.some(({ field }) => field === 'odometer_unit')
  const isNamed = watch.column.unit !== null || hasUnitColumn || watch.ownUnits > 0
  if (isNamed || watch.numbers.length === 0) return null
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
  return { ...finding, line: null, column, text: watch.example ?? '' }
}

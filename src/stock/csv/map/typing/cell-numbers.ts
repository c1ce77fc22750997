import { findDistanceUnit } from '../../../../values/distance-unit.ts'
import type { CellNumber } from '../../read/csv-file.ts'
import type { ColumnMapping, Mapping } from '../column-mapping.ts'
import type { Field } from '../stock-fields.ts'
import { type DateStyle, swappedDate } from './date.ts'
import { findCurrency, isBesideAmount, readAmount } from './money.ts'
import { unitWords, type WrittenNumber } from './number.ts'
import { readDistance } from './odometer.ts'
import { plainText } from './plain-text.ts'
import type { TypableRecord } from './typed-row.ts'
import { lastModelYear, type TypingOptions } from './typing-options.ts'

/** A cell whose format shows another value than its number. */
export interface DoubtfulCell {
  readonly column: ColumnMapping
  readonly shown: string
  /** The text of its number. */
  readonly number: string
}

type ReadNumber = (number: CellNumber, shown: string) => string

/**
 * Puts the numbers of a workbook's cells in place of their texts, in columns of numbers and dates: as texts that can only be read
 * as that number, wherever they are written to. Other columns have what a person sees. `onDoubt` gets the cells whose format
 * shows another value.
 */
export function numberReader(
  mapping: Mapping,
  lastYear: number,
  onDoubt?: (doubtful: DoubtfulCell) => void,
): <Record extends TypableRecord>(record: Record) => Record {
  const columns = mapping.columns.flatMap((column) => {
    const read = column.field && readers(lastYear)[column.field]
    return read ? [{ column, read, isAmount: isAmount(column.field) }] : []
  })
  return (record) => {
    const { numbers, cells } = record
    if (numbers === undefined) return record
    let read: string[] | null = null
    for (const { column, read: readNumber, isAmount } of columns) {
      const number = numbers[column.index]
      const shown = cells[column.index]
      if (number === undefined || shown === undefined) continue
      const text = readNumber(number, shown)
      if (text === shown) continue
      const isDoubtful = isAmount && mayMeanAnother(number)
      if (isDoubtful) onDoubt?.({ column, shown, number: text })
      if (isDoubtful && column.readings?.includes('shown')) continue
      read ??= cells.slice()
      read[column.index] = text
    }
    return read === null ? record : { ...record, cells: read }
  }
}

/**
 * Gives the cells as they are typed and stored: numbers of a workbook as their own texts, and dates whose day and month Excel has
 * exchanged as they were, so that a row that is written out and comes back alone is read in the same way.
 */
export function cellReader(
  mapping: Mapping,
  {
    options,
    dates,
  }: { readonly options: TypingOptions; readonly dates: ReadonlyMap<number, DateStyle> },
): <Record extends TypableRecord>(record: Record) => Record {
  const withNumbers = numberReader(mapping, lastModelYear(options))
  const swapped = [...dates].flatMap(([index, { isSwapped }]) => (isSwapped ? [index] : []))
  if (swapped.length === 0) return withNumbers
  return (record) => {
    const read = withNumbers(record)
    const cells = read.cells.slice()
    for (const index of swapped)
      if (cells[index]) cells[index] = swappedDate(plainText(cells[index])) ?? cells[index]
    return { ...read, cells }
  }
}

function isAmount(field: Field | null): boolean {
  return field === 'price_asking' || field === 'cost' || field === 'odometer'
}

/** Whether the format shows a date, or a scale that it does not divide by: 45 as `45k`. */
function mayMeanAnother({ isDate, isScaled, around }: CellNumber): boolean {
  if (isDate || isScaled) return isDate
  return unitWords(around).some((word) => !isBesideAmount(word) && findDistanceUnit(word) === null)
}

const readers = (lastYear: number): Partial<Record<Field, ReadNumber>> => ({
  price_asking: readMoney,
  cost: readMoney,
  odometer: readOdometer,
  model_year: (number, shown) => readYear(number, shown, lastYear),
  received_date: ({ day, isDate }, shown) => readDay(day, isDate, shown),
})

function readMoney({ value, around }: CellNumber, shown: string): string {
  if (isSameNumber(readAmount(plainText(shown)), value)) return shown
  const currency = unitWords(around).find((word) => findCurrency(word) !== null)
  return currency === undefined ? value : `${value} ${currency.toUpperCase()}`
}

function readOdometer({ value, around }: CellNumber, shown: string): string {
  if (isSameNumber(readDistance(plainText(shown)), value)) return shown
  // What divides by thousands may show `tkm`.
  const unit = unitWords(around)
    .map((word) => findDistanceUnit(word.replace(/^[tk](?=km)/, '')))
    .find((one) => one !== null)
  return unit === undefined ? value : `${value} ${unit}`
}

/** Whether a text can only be read as that number. */
function isSameNumber(found: WrittenNumber | null, value: string): boolean {
  if (found?.reading.kind !== 'certain' || found.isThousands) return false
  const { whole, fraction } = found.reading.digits
  return Number(`${found.isNegative ? '-' : ''}${whole}.${fraction || '0'}`) === Number(value)
}

/** A year whose cell is formatted as a date is shown as a day of 1905. */
function readYear({ value, day, isDate }: CellNumber, shown: string, lastYear: number): string {
  const year = Number(value)
  if (Number.isInteger(year) && year >= 1900 && year <= lastYear) return String(year)
  return isDate && day !== null ? day : shown
}

/** The whole date, whatever part of it the format shows; a number without a format of dates, if it may be one. */
function readDay(day: string | null, isDate: boolean, shown: string): string {
  if (day === null || shown.startsWith(day)) return shown
  return isDate || (/^\d{5}(\.\d+)?$/.test(shown) && day >= '1950') ? day : shown
}

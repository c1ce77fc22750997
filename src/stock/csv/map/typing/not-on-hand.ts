import type { Mapping } from '../column-mapping.ts'
import type { Field } from '../stock-fields.ts'
import { leadingMake, wordTests } from '../vehicle-words.ts'
import { NumbersAbove, numberIn } from './numbers-above.ts'
import { isPlaceholder, plainText } from './plain-text.ts'
import { type FieldColumn, type FieldColumns, findFieldColumns } from './row-notes.ts'
import {
  hasSoldMark,
  isColourLegend,
  isSoldCell,
  isSoldText,
  isUnavailable,
  soldByColour,
} from './sold-words.ts'
import { isPageLine, isSummaryLabel } from './summary-words.ts'
import type { CellIssue, TypableRecord } from './typed-row.ts'

/** Why a row is not a vehicle on hand; `OTHER_HEADER`: it may be one, but its cells are in other columns. */
export interface NotOnHand extends Pick<CellIssue, 'hint' | 'advice'> {
  /** Left out: `info`. */
  readonly severity?: 'warning'
  readonly code:
    | ('blank-row' | 'repeated-header' | 'TOTALS_ROW' | 'NO_VEHICLE' | 'not-in-stock')
    | ('OTHER_HEADER' | 'SOLD_BY_COLOUR')
}

/** Fields that name the vehicle in words. */
const names: readonly Field[] = [
  ...(['make', 'model', 'variant', 'series', 'title_combined', 'body', 'plate'] as const),
]
/** Fields with a number that each vehicle has. */
const numberFields: ReadonlySet<Field> = new Set<Field>([
  ...(['model_year', 'odometer', 'price_asking', 'cost', 'price_wholesale', 'price_msrp'] as const),
])
/** Fields that identify the vehicle. */
const naming: readonly Field[] = [
  ...(['make', 'model', 'variant', 'series', 'title_combined', 'model_year', 'plate'] as const),
  ...(['body', 'adcode', 'nvic', 'redbook_code'] as const),
]
/** Other fields that a vehicle's row has. */
const content: readonly Field[] = [
  ...naming,
  ...(['odometer', 'price_asking', 'cost', 'price_wholesale', 'price_msrp'] as const),
  ...(['colour_exterior', 'colour_combined', 'fuel', 'transmission', 'engine'] as const),
  ...(['received_date', 'days_in_stock'] as const),
]

const day = /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}$/
const vinLike = /^[A-HJ-NPR-Z0-9]{17}$/i
const chassisLike = /^(?=.*\d)[A-Z0-9][A-Z0-9*._-]{4,}$/i

/**
 * Finds rows that are not vehicles (blank rows, totals, repeated headers, titles, footers) and vehicles that have left
 * by their status. null: a vehicle in stock, or a row to reject. The rows must come in their order: a total is known by those above it.
 */
export function notOnHandTest(mapping: Mapping): (record: TypableRecord) => NotOnHand | null {
  const rows = new ListRows(mapping)
  return (record) => rows.test(record)
}

class ListRows {
  readonly #layout: FieldColumns
  readonly #absent: Mapping['absent']
  readonly #places: NamedColumns
  readonly #above: NumbersAbove
  /** The forms of the stock numbers so far; see `formOf`. */
  readonly #forms = new Set<string>()
  #keys = 0

  constructor(mapping: Mapping) {
    const layout = findFieldColumns(mapping)
    const placesOf = (fields: readonly Field[]) =>
      fields.map((field) => layout[field]).filter((place) => place !== undefined)
    this.#layout = layout
    this.#absent = mapping.absent
    this.#places = { names: placesOf(names), naming: placesOf(naming), content: placesOf(content) }
    this.#above = new NumbersAbove(mapping)
  }

  test(record: TypableRecord): NotOnHand | null {
    const layout = this.#layout
    // A block of sold vehicles may have a column such as Date Sold.
    const isSold = record.soldTitle !== undefined && !this.#absent.includes('sold')
    const first = blankOrHeader(record, layout) ?? (isSold ? null : misplaced(record))
    if (first !== null) return first
    const stockNumber = plainText(textAt(record.cells, layout.stock_number))
    const not = this.#isVehicle(record, stockNumber)
      ? null
      : (this.#summaryRow(record, stockNumber) ??
        noVehicle(record, layout, this.#places, stockNumber) ??
        this.#footer(record, stockNumber))
    if (not !== null) this.#above.endGroup()
    else if (record.problem?.repaired !== false) this.#addVehicle(record, stockNumber)
    return not ?? leftStock(record, layout, this.#absent)
  }

  #addVehicle({ cells }: TypableRecord, stockNumber: string): void {
    this.#above.add(cells)
    if (!isKeyLike(stockNumber)) return
    this.#keys += 1
    if (this.#forms.size < maxForms) this.#forms.add(textShape(stockNumber))
  }

  /** Whether nothing else is asked: it has a VIN, or a stock number and a name. */
  #isVehicle({ cells, problem }: TypableRecord, stockNumber: string): boolean {
    if (isVehicleNumber(textAt(cells, this.#layout.vin))) return true
    if (problem?.repaired === false || !isKeyLike(stockNumber) || isSummaryLabel(stockNumber))
      return false
    return this.#namesIn(cells) > 0
      ? this.#isKnownForm(stockNumber)
      : this.#isKnownForm(stockNumber) && !this.#above.isCount(stockNumber)
  }

  /** A stock number like those above. The first ones prove nothing. */
  #isKnownForm(stockNumber: string): boolean {
    return (
      this.#keys < minKeys ||
      this.#forms.size >= maxForms ||
      this.#forms.has(textShape(stockNumber))
    )
  }

  /** Names of the vehicle: make, model and so on in words. */
  #namesIn(cells: readonly string[]): number {
    return this.#places.names.filter(({ index }) => {
      const text = plainText(cells[index] ?? '')
      return /\p{L}{2}/u.test(text) && !isPlaceholder(text, null) && !isSummaryLabel(text)
    }).length
  }

  /** A model may be called Max: beside a stock number, such a name proves nothing unless the numbers are calculated. */
  #labelIn(
    cells: readonly string[],
    stockNumber: string,
    isCalculated: boolean,
  ): string | undefined {
    const isVehicle = stockNumber !== '' && !isSummaryLabel(stockNumber) && !isCalculated
    const places = isVehicle ? this.#places.names.map(({ index }) => index) : []
    return cells
      .map(plainText)
      .find((text, index) => !places.includes(index) && isSummaryLabel(text))
  }

  /** A total, an average, a count or a number of a page. */
  #summaryRow(
    { cells, problem, isSubtotal = false }: TypableRecord,
    stockNumber: string,
  ): NotOnHand | null {
    const texts = cells.map(plainText).filter((text) => text !== '')
    const isBroken = problem?.repaired === false
    if (isBroken && texts.some((text) => vinLike.test(text))) return null
    const isKeyed = isKeyLike(stockNumber) && !isSummaryLabel(stockNumber)
    const isNamed = this.#namesIn(cells) > 1 || (isKeyed && this.#namesIn(cells) > 0)
    const numbers = this.#above.compare(cells, isBroken)
    if (isSubtotal && !isNamed) return total('calculated by the workbook from the rows above it')
    const label = this.#labelIn(cells, stockNumber, numbers !== null)
    if (label !== undefined && (!isNamed || (numbers !== null && !isKeyed)))
      return total(`"${label.slice(0, 60)}"`)
    if (!isNamed && isPageLine(texts.join(' ')))
      return {
        code: 'NO_VEHICLE',
        hint: `the row is the number of a page, "${texts.join(' ').slice(0, 60)}"`,
      }
    // Numbers alone may be equal by chance, as in a list of one vehicle.
    const mayBeKey = isKeyed && !this.#above.isCount(stockNumber)
    const isCalculated = !isNamed && (numbers === 'sums' || (numbers !== null && !mayBeKey))
    return isCalculated ? total('its numbers are calculated from the rows above it') : null
  }

  /** A row that has neither a known make nor a number of a vehicle, where its stock number is not like the others. */
  #footer({ cells, problem }: TypableRecord, stockNumber: string): NotOnHand | null {
    if (problem?.repaired === false || stockNumber === '' || this.#keys < minKeys) return null
    if (isKeyLike(stockNumber) && this.#isKnownForm(stockNumber)) return null
    const { content, names: named } = this.#places
    const hasMake = named.some(({ index, column }) => {
      const text = plainText(cells[index] ?? '')
      return column.field === 'title_combined'
        ? leadingMake(text.split(' ')) > 0
        : wordTests.make(text)
    })
    const hasNumber = content.some(({ index, column: { field } }) => {
      const isNumber = field !== null && numberFields.has(field)
      return isNumber && numberIn(cells[index] ?? '') !== null
    })
    return hasMake || hasNumber || content.length === 0 ? null : describesNone(cells)
  }
}

/** As many stock numbers show which form they have. */
const minKeys = 3
const maxForms = 2_000

/** `S-1234` → `S-9` */
function textShape(text: string): string {
  return text.toUpperCase().replaceAll(/\p{Nd}+/gu, '9')
}

/** A VIN, or a chassis number with letters. */
function isVehicleNumber(text: string): boolean {
  return vinLike.test(text) || (chassisLike.test(text) && /[A-Z]/i.test(text))
}

function total(what: string): NotOnHand {
  return { code: 'TOTALS_ROW', hint: `a total, not a vehicle: ${what}` }
}

function blankOrHeader({ problem, cells }: TypableRecord, layout: FieldColumns): NotOnHand | null {
  if (problem?.code === 'blank-row' || problem?.code === 'repeated-header')
    return { code: problem.code, hint: problem.message }
  if (cells.every((cell) => cell.trim() === ''))
    return { code: 'blank-row', hint: 'the row is empty' }
  const at = layout.stock_number ?? layout.vin
  if (at && layout.hasHeader && cells[at.index]?.trim() === at.header.trim())
    return { code: 'repeated-header', hint: 'a repeated header' }
  return null
}

/** A row below a header with other columns. */
function misplaced({ cells, belowHeader }: TypableRecord): NotOnHand | null {
  if (belowHeader === undefined) return null
  if (cells.filter((cell) => cell.trim() !== '').length <= 2) return describesNone(cells)
  return {
    code: 'OTHER_HEADER',
    hint: `the header at line ${belowHeader} has other columns than that of the list, so the cells of this row are in other places: import the rows below it as a list of their own`,
  }
}

interface NamedColumns {
  readonly names: readonly FieldColumn[]
  readonly naming: readonly FieldColumn[]
  readonly content: readonly FieldColumn[]
}

/** A row with a text or nothing in place of the stock number, and almost no other field of a vehicle. */
function noVehicle(
  { cells, problem }: TypableRecord,
  layout: FieldColumns,
  places: NamedColumns,
  stockNumber: string,
): NotOnHand | null {
  if (isKeyLike(stockNumber) || vinLike.test(textAt(cells, layout.vin))) return null
  const isNone =
    problem?.repaired === false
      ? isLabel(cells, problem.code)
      : hasNoContent(cells, layout, places, stockNumber)
  return isNone ? describesNone(cells) : null
}

function describesNone(cells: readonly string[]): NotOnHand {
  const text = plainText(cells.find((cell) => cell.trim() !== '')!).slice(0, 60)
  if (isColourLegend(cells.map(plainText).join(' ').trim())) return soldByColour
  return { code: 'NO_VEHICLE', hint: `the row describes no vehicle, only "${text}"` }
}

/** Whether it is one word with a digit, like a stock number; a date is not. */
function isKeyLike(text: string): boolean {
  return /\p{Nd}/u.test(text) && !/\s/.test(text) && !day.test(text)
}

/** Whether a short row is a label: its cells may be in the wrong columns, so it is not a vehicle if it has one or two cells and none is a key. */
function isLabel(cells: readonly string[], code: string): boolean {
  if (code !== 'missing-cell') return false
  const filled = cells.map((cell) => cell.trim()).filter((cell) => cell !== '')
  return filled.length <= 2 && !filled.some(isKeyLike)
}

function hasNoContent(
  cells: readonly string[],
  layout: FieldColumns,
  { naming, content }: NamedColumns,
  stockNumber: string,
): boolean {
  const isFilled = ({ index, column }: FieldColumn) =>
    !isPlaceholder(plainText(cells[index] ?? ''), column.field)
  const isChassis = chassisLike.test(textAt(cells, layout.vin)) ? 1 : 0
  const filled = content.filter(isFilled).length + isChassis
  const isNamed = stockNumber !== '' || isChassis === 1 || naming.some(isFilled)
  // In a list of stock numbers alone, only a text without a digit is not a vehicle.
  if (content.length === 0 && stockNumber !== '')
    return /\s/.test(stockNumber) && !/\p{Nd}/u.test(stockNumber)
  return !isNamed || filled < Math.min(2, content.length)
}

/** In a price it is a kind of price: to the trade, or with delivery. `Delivered` alone says that the vehicle is gone. */
const priceWords = /^wholesale\b|^delivered\b\D{0,20}\d[\d,.' ]{3}/i

function isSoldAmount(text: string): boolean {
  return isSoldText(text) && !priceWords.test(text)
}

/** The column of a list that says whether a vehicle is sold, and how it says so. */
export const soldBy = {
  status: (text: string) => isSoldText(text),
  sold: isSoldCell,
  available: isUnavailable,
  price_asking: isSoldAmount,
  cost: isSoldAmount,
  odometer: isSoldText,
  plate: isSoldText,
  colour_exterior: isSoldText,
  stock_number: hasSoldMark,
  make: hasSoldMark,
  model: hasSoldMark,
  variant: hasSoldMark,
  title_combined: hasSoldMark,
} as const
/** Of these `--map sold=` ignores what they say; of a column that is only for it, its own name. */
const alsoForOther = [
  ...(['price_asking', 'cost', 'odometer', 'plate', 'colour_exterior'] as const),
  ...(['stock_number', 'make', 'model', 'variant', 'title_combined'] as const),
] as const

/** Why a vehicle was sold, delivered or traded: by a cell, the title above it, or a line through it. Broken rows are left out: another text may be in that
 *  place. */
function leftStock(
  { cells, problem, soldTitle, isStruck = false }: TypableRecord,
  layout: FieldColumns,
  absent: Mapping['absent'],
): NotOnHand | null {
  if (problem?.repaired === false) return null
  if (soldTitle !== undefined && !absent.includes('sold'))
    return left(
      `it is below the title "${soldTitle.slice(0, 60)}"`,
      '--map sold= ignores that title',
    )
  if (isStruck && !absent.includes('sold'))
    return left(
      'its cells are struck through, as those of sold vehicles are',
      '--map sold= ignores that',
    )
  for (const field of ['status', 'sold', 'available', ...alsoForOther] as const) {
    const place = layout[field]
    const isForOther = alsoForOther.some((one) => one === field)
    if (place === undefined || (isForOther && absent.includes('sold'))) continue
    const text = plainText(textAt(cells, place))
    if (text === '' || !soldBy[field](text, place.header)) continue
    const how = isForOther ? 'sold' : field
    return left(
      `"${text}" is not stock on hand`,
      `--map ${how}= ignores the column "${place.header}"`,
    )
  }
  return null
}

function left(hint: string, advice: string): NotOnHand {
  return { code: 'not-in-stock', hint, advice }
}

function textAt(cells: readonly string[], place: FieldColumn | undefined): string {
  return place === undefined ? '' : (cells[place.index] ?? '').trim()
}

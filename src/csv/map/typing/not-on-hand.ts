import type { Mapping } from '../column-mapping.ts'
import type { Field } from '../stock-fields.ts'
import { isPlaceholder, plainText } from './plain-text.ts'
import { type FieldColumn, type FieldColumns, fieldColumnsOf } from './row-notes.ts'
import type { TypableRecord } from './typed-row.ts'

/** Why a row is not a vehicle on hand. */
export interface NotOnHand {
  readonly code: 'blank-row' | 'repeated-header' | 'TOTALS_ROW' | 'NO_VEHICLE' | 'not-in-stock'
  readonly hint: string
}

const total = /^(grand |sub-?)?(totals?|sum|count|average|avg)\b|^(الإجمالي|الاجمالي|المجموع)/i

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
 * by their status. null: a vehicle in stock, or a row to reject.
 */
export function notOnHandTest(mapping: Mapping): (record: TypableRecord) => NotOnHand | null {
  const layout = fieldColumnsOf(mapping)
  const placesOf = (fields: readonly Field[]) =>
    fields.map((field) => layout[field]).filter((place) => place !== undefined)
  const places = { naming: placesOf(naming), content: placesOf(content) }
  return (record) =>
    blankOrHeader(record, layout) ??
    totalsRow(record.cells, layout) ??
    noVehicle(record, layout, places) ??
    leftStock(record, layout)
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

function totalsRow(cells: readonly string[], layout: FieldColumns): NotOnHand | null {
  const label = cells.find((cell) => cell.trim() !== '')!.trim()
  if (textAt(cells, layout.vin) !== '' || !total.test(label)) return null
  const own = textAt(cells, layout.stock_number)
  if (own !== '' && !total.test(plainText(own))) return null
  return { code: 'TOTALS_ROW', hint: 'a total, not a vehicle' }
}

interface Places {
  readonly naming: readonly FieldColumn[]
  readonly content: readonly FieldColumn[]
}

/** A row with a text or nothing in place of the stock number, and almost no other field of a vehicle. */
function noVehicle(
  { cells, problem }: TypableRecord,
  layout: FieldColumns,
  places: Places,
): NotOnHand | null {
  const own = textAt(cells, layout.stock_number)
  if (isKeyLike(own) || vinLike.test(textAt(cells, layout.vin))) return null
  const isNone =
    problem?.repaired === false
      ? isLabel(cells, problem.code)
      : hasNoContent(cells, layout, places, own)
  if (!isNone) return null
  const text = plainText(cells.find((cell) => cell.trim() !== '')!).slice(0, 60)
  return { code: 'NO_VEHICLE', hint: `the row describes no vehicle, only "${text}"` }
}

/** Whether it is one word with a digit, like a stock number; a date is not. */
function isKeyLike(text: string): boolean {
  return /\p{Nd}/u.test(text) && !/\s/.test(text) && !day.test(text)
}

/** Whether a short row is a label: its cells may be in the wrong columns, so it is no vehicle if it has one or two cells and none is a key. */
function isLabel(cells: readonly string[], code: string): boolean {
  if (code !== 'missing-cell') return false
  const filled = cells.map((cell) => cell.trim()).filter((cell) => cell !== '')
  return filled.length <= 2 && !filled.some(isKeyLike)
}

function hasNoContent(
  cells: readonly string[],
  layout: FieldColumns,
  { naming, content }: Places,
  own: string,
): boolean {
  const isFilled = ({ index, column }: FieldColumn) =>
    !isPlaceholder(plainText(cells[index] ?? ''), column.field)
  const isChassis = chassisLike.test(textAt(cells, layout.vin)) ? 1 : 0
  const filled = content.filter(isFilled).length + isChassis
  const isNamed = own !== '' || isChassis === 1 || naming.some(isFilled)
  // In a list of stock numbers alone, only a text without a digit is no vehicle.
  if (content.length === 0 && own !== '') return /\s/.test(own) && !/\p{Nd}/u.test(own)
  return !isNamed || filled < Math.min(2, content.length)
}

const gone =
  /^(sold|wholesaled?|delivered|retailed|vendue?s?|livrée?s?|verkauft|ausgeliefert|vendid[oa]s?|entregad[oa]s?|مباعة?|بيعت?|تم البيع|تم التسليم)(?![\p{L}\p{M}])/iu
const notYet =
  /\b(not|pending|subject|awaiting(?! (delivery|collection|pick-?up|handover))|until|unless)\b/i

/** A vehicle that was sold, delivered or traded, by its status. Broken rows are left out: another text may be in that place. */
function leftStock({ cells, problem }: TypableRecord, layout: FieldColumns): NotOnHand | null {
  if (!layout.status || problem?.repaired === false) return null
  const text = textAt(cells, layout.status)
  if (text === '' || text.length > 60 || !gone.test(text) || notYet.test(text)) return null
  const hint = `"${text}" is not stock on hand; --map status= ignores the column "${layout.status.header}"`
  return { code: 'not-in-stock', hint }
}

function textAt(cells: readonly string[], place: FieldColumn | undefined): string {
  return place === undefined ? '' : (cells[place.index] ?? '').trim()
}

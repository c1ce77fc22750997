import { storable } from '../../../../values/text.ts'
import { unescapeFormula } from '../../write/escape-formula.ts'
import type { Mapping } from '../column-mapping.ts'
import { typeAmounts } from './amounts.ts'
import type { ColumnStyles } from './column-styles.ts'
import { typeVehicle } from './description.ts'
import { type NotOnHand, notOnHandTest } from './not-on-hand.ts'
import { isExcelError, isPlaceholder } from './plain-text.ts'
import { extraColumns, type FieldColumns, findFieldColumns, RowNotes } from './row-notes.ts'
import type { StockDraft, TypableRecord, TypedRow } from './typed-row.ts'
import { typeStockNumber, typeVin } from './vehicle-keys.ts'

/**
 * Types the records of a file by its mapping and its columns' styles. Never throws: an unusable value is an
 * issue, and a row with an error is rejected. The key is the stock number, then the VIN.
 */
export function rowTyper(
  mapping: Mapping,
  styles: ColumnStyles,
): (record: TypableRecord) => TypedRow {
  const layout = findFieldColumns(mapping)
  const extras = extraColumns(mapping)
  const notOnHand = notOnHandTest(mapping)
  return (record) => {
    const notes = new RowNotes(record, layout)
    const not = notOnHand(record)
    if (not) return skipped(record, layout, not)
    if (record.problem && !record.problem.repaired) return broken(record, layout, notes)
    noteProblem(record.problem, notes)
    const draft = emptyDraft(styles.options.currency)
    typeKeys(draft, notes)
    for (const { index, name } of extras) {
      const cell = record.cells[index]
      if (cell === undefined || cell === '') continue
      const text = unescapeFormula(cell.trim()).trim()
      if (isExcelError(text)) notes.excelError(name, text)
      else if (!isPlaceholder(text, null)) draft.extras[name] = storable(text)
    }
    typeVehicle(draft, notes, styles.options)
    typeAmounts(draft, notes, styles)
    return finished(draft, layout, notes)
  }
}

function emptyDraft(currency: string): StockDraft {
  return {
    stock_no: '',
    vin: null,
    adcode: null,
    plate: null,
    make: null,
    model: null,
    variant: null,
    model_year: null,
    odometer_km: null,
    asking_price: null,
    cost: null,
    currency_code: currency,
    acquired_on: null,
    price_on_application: false,
    extras: {},
  }
}

function typeKeys(draft: StockDraft, notes: RowNotes): void {
  const stockNumber = notes.text('stock_number')
  if (stockNumber !== null)
    draft.stock_no = notes.take('stock_number', typeStockNumber(stockNumber)) ?? ''
  const vin = notes.text('vin')
  const typed = vin === null ? null : notes.take('vin', typeVin(vin))
  draft.vin = typed?.vin ?? null
  if (typed?.chassis) draft.extras['chassis'] = storable(typed.chassis)
}

function finished(draft: StockDraft, layout: FieldColumns, notes: RowNotes): TypedRow {
  const key = { stockNo: draft.stock_no || null, vin: draft.vin }
  if (draft.stock_no === '' && draft.vin === null && !notes.hasError()) notes.row(noKey(layout))
  if (notes.hasError()) return { status: 'rejected', unit: null, key, issues: notes.issues }
  if (draft.stock_no === '') useVinAsKey(draft, layout, notes)
  return { status: 'accepted', unit: draft, key, issues: notes.issues }
}

function useVinAsKey(draft: StockDraft, layout: FieldColumns, notes: RowNotes): void {
  draft.stock_no = draft.vin!
  if (!layout.stock_number) return
  notes.cell('stock_number', {
    code: 'VIN_AS_KEY',
    severity: 'warning',
    hint: 'no stock number: the VIN identifies the vehicle',
  })
}

function noKey(layout: FieldColumns) {
  const wanted = layout.stock_number ? `"${layout.stock_number.header}"` : 'a stock number'
  return {
    code: 'primary-key',
    severity: 'error',
    hint: `without a stock number or a VIN of 17 characters the vehicle cannot be identified in the next list: fill in ${wanted}`,
  } as const
}

function noteProblem(problem: TypableRecord['problem'], notes: RowNotes): void {
  if (problem) notes.row({ code: problem.code, severity: 'warning', hint: problem.message })
}

/** The cells of a broken record may be in the wrong columns, so only the key is read. */
function broken(record: TypableRecord, layout: FieldColumns, notes: RowNotes): TypedRow {
  const { code, message } = record.problem!
  notes.row({ code, severity: 'error', hint: message })
  const key = readKey(record, layout)
  return { status: 'rejected', unit: null, key, issues: notes.issues }
}

function readKey(record: TypableRecord, layout: FieldColumns): TypedRow['key'] {
  const draft = emptyDraft('')
  typeKeys(draft, new RowNotes(record, layout))
  return { stockNo: draft.stock_no || null, vin: draft.vin }
}

function skipped(record: TypableRecord, layout: FieldColumns, why: NotOnHand): TypedRow {
  const notes = new RowNotes(record, layout)
  notes.row({ ...why, severity: 'info' })
  const left = { status: 'skipped', unit: null, issues: notes.issues } as const
  if (why.code !== 'not-in-stock') return { ...left, key: { stockNo: null, vin: null } }
  return { ...left, key: readKey(record, layout), hasLeft: true }
}

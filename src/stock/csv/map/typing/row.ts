import { type DistanceUnit, findColumnUnit } from '../../../../values/distance-unit.ts'
import { storable } from '../../../../values/text.ts'
import { unescapeFormula } from '../../write/escape-formula.ts'
import type { Mapping } from '../column-mapping.ts'
import type { ColumnStyles } from './column-styles.ts'
import { typeDate } from './date.ts'
import { typeVehicle } from './description.ts'
import { findCurrency, type Money, typeMoney } from './money.ts'
import { type NotOnHand, notOnHandTest } from './not-on-hand.ts'
import { thousands } from './number.ts'
import { numberIn } from './numbers-above.ts'
import { maxKm, typeOdometer } from './odometer.ts'
import { isExcelError, isOnApplication, isPlaceholder, plainText } from './plain-text.ts'
import { extraColumns, type FieldColumns, findFieldColumns, RowNotes } from './row-notes.ts'
import { isWithoutTax } from './tax-words.ts'
import type { CellIssue, StockDraft, TypableRecord, TypedRow } from './typed-row.ts'
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
    const not = notOnHand(record)
    if (not?.code === 'OTHER_HEADER') return broken(record, layout, not)
    if (not) return skipped(record, layout, not)
    if (record.problem && !record.problem.repaired)
      return broken(record, layout, { ...record.problem, hint: record.problem.message })
    const notes = new RowNotes(record, layout)
    noteProblem(record.problem, notes)
    if (record.isPartlyStruck && !mapping.absent.includes('sold')) notes.row(partlyStruck)
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
    if (!layout.make) draft.make ??= record.groupMake ?? null
    if (draft.model_year === null && isShifted(record, mapping, layout)) notes.row(shifted)
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

const partlyStruck = {
  code: 'PARTLY_STRUCK',
  severity: 'warning',
  hint: 'its first cell is struck through, most others are not: it was loaded as stock; if it is sold, strike through all its cells or delete the row',
} as const

const shifted = {
  code: 'SHIFTED_CELLS',
  severity: 'error',
  hint: 'the model year is in the column beside its own, so the cells of this row are shifted: move them back',
} as const

const yearAlone = /^(19[89]\d|20[0-4]\d)$/
const amounts: ReadonlySet<string | null> = new Set(['odometer', 'price_asking', 'cost'])
const vehicleNames: ReadonlySet<string | null> = new Set([
  'make',
  'model',
  'variant',
  'series',
  'body',
])

/** Whether a cell too many, or too few, has shifted the cells: words in place of the model year and the year right of them, or a large number
 *  and the year left of it. A small number is not enough: Peugeot has a model 2008. */
function isShifted({ cells }: TypableRecord, { columns }: Mapping, layout: FieldColumns): boolean {
  const at = layout.model_year?.index
  if (at === undefined) return false
  const here = plainText(cells[at] ?? '')
  const isYearAt = (index: number, fields: typeof amounts) =>
    fields.has(columns[index]?.field ?? null) && yearAlone.test(plainText(cells[index] ?? ''))
  const isWord =
    /\p{L}{2}/u.test(here) && !/\p{Nd}/u.test(here) && !isPlaceholder(here, 'model_year')
  if (isWord) return isYearAt(at + 1, amounts)
  return (numberIn(here) ?? 0) >= 10_000 && isYearAt(at - 1, vehicleNames)
}

function finished(draft: StockDraft, layout: FieldColumns, notes: RowNotes): TypedRow {
  const key = { stockNo: draft.stock_no || null, vin: draft.vin }
  if (draft.stock_no === '' && draft.vin === null && !notes.hasError()) notes.row(noKey(layout))
  if (notes.hasError()) return { status: 'rejected', unit: null, key, issues: notes.issues }
  if (draft.stock_no === '') useVinAsKey(draft, layout, notes)
  else if (notes.issues.length === 0 && isBare(draft, layout)) notes.cell('stock_number', bare)
  return { status: 'accepted', unit: draft, key, issues: notes.issues }
}

/** Numbers that were filled in ahead, for cars to come. */
const bare = {
  code: 'NO_DETAILS',
  severity: 'warning',
  hint: 'the row has a stock number and nothing else: it was loaded as a vehicle; if it is none, delete the row',
} as const

/** Whether it has a stock number alone, in a list that says more of its vehicles. */
function isBare(
  { stock_no, currency_code, extras, ...rest }: StockDraft,
  layout: FieldColumns,
): boolean {
  const { hasHeader, stock_number, ...others } = layout
  const isEmpty = Object.values(rest).every((value) => value === null || value === false)
  return isEmpty && Object.keys(extras).length === 0 && Object.keys(others).length >= 3
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
function broken(
  record: TypableRecord,
  layout: FieldColumns,
  { code, hint }: Pick<CellIssue, 'code' | 'hint'>,
): TypedRow {
  const notes = new RowNotes(record, layout)
  notes.row({ code, severity: 'error', hint })
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
  notes.row({ severity: 'info', ...why })
  const left = { status: 'skipped', unit: null, issues: notes.issues } as const
  if (why.code !== 'not-in-stock') return { ...left, key: { stockNo: null, vin: null } }
  return { ...left, key: readKey(record, layout), hasLeft: true }
}

const zero = '0.000'

/** Fills in price, cost, currency, odometer and the day in stock. */
function typeAmounts(draft: StockDraft, notes: RowNotes, styles: ColumnStyles): void {
  const isNew = isNewVehicle(draft.extras['condition'], notes)
  const price = askingPrice(draft, notes, styles, isNew)
  const cost = money('cost', notes, styles)
  draft.asking_price = price?.amount ?? null
  draft.currency_code = currency(price, cost, notes, styles)
  draft.cost = cost === null || cost.amount === zero ? null : cost.amount
  if (draft.cost !== null && price !== null && isForeignCost(cost!, draft.currency_code, notes))
    draft.cost = null
  typeDistance(draft, notes, styles, isNew)
  const day = notes.text('received_date')
  const style = styles.dates.get(notes.place('received_date')?.index ?? -1)
  if (day !== null && style)
    draft.acquired_on = notes.take('received_date', typeDate(day, style, styles.options.today))
  if (isBeforeBuilt(draft))
    notes.cell('received_date', {
      code: 'DATE_DOUBTED',
      severity: 'warning',
      hint: `a vehicle of ${draft.model_year} was not in stock on ${draft.acquired_on}: check both`,
    })
}

/** Whether it was in stock before it was built. A model year begins some months before its calendar year. */
function isBeforeBuilt({ acquired_on, model_year }: StockDraft): boolean {
  if (acquired_on === null || model_year === null) return false
  return Number(acquired_on.slice(0, 4)) < model_year - 1
}

function money(
  field: 'price_asking' | 'cost',
  notes: RowNotes,
  styles: ColumnStyles,
): Money | null {
  const text = notes.text(field)
  if (text === null) return null
  const style = styles.numbers.get(notes.place(field)!.index) ?? thousands
  return notes.take(field, typeMoney(text, style))
}

/** The asking price. No price is null, never 0: POA is a flag, and a 0 means an empty cell. */
function askingPrice(
  draft: StockDraft,
  notes: RowNotes,
  styles: ColumnStyles,
  isNew: boolean,
): Money | null {
  const text = notes.text('price_asking')
  if (text !== null && isOnApplication(text)) {
    draft.price_on_application = true
    notes.cell('price_asking', {
      code: 'PRICE_POA',
      severity: 'info',
      hint: 'read as "price on application": no asking price',
    })
    return null
  }
  const price = money('price_asking', notes, styles)
  if (price !== null && text !== null && /\p{L}/u.test(text) && isWithoutTax(text))
    notes.cell('price_asking', {
      code: 'PRICE_WITHOUT_TAX',
      severity: 'warning',
      hint: 'tax is not included: the price was stored as written, and is lower than what a customer pays',
    })
  if (price?.amount !== zero) return price
  notes.cell('price_asking', {
    code: 'ZERO_PRICE',
    severity: isNew ? 'info' : 'warning',
    hint: 'a price of 0 was read as no price',
  })
  return null
}

/** Whether the cost has another currency than the price. A vehicle has one currency, so such a cost is left out. */
function isForeignCost(cost: Money, currency: string, notes: RowNotes): boolean {
  const currencyHere = cost.currency ?? notes.place('cost')!.column.currency ?? currency
  if (currencyHere === currency) return false
  notes.cell('cost', {
    code: 'CURRENCY_DIFFERS',
    severity: 'warning',
    hint: `the cost is in ${currencyHere}, the price in ${currency}; the cost was left out`,
  })
  return true
}

/** The cell's own currency, the currency column's, the header's, the rooftop's. That of a cost counts only where there is no price. */
function currency(
  price: Money | null,
  cost: Money | null,
  notes: RowNotes,
  styles: ColumnStyles,
): string {
  const money = price ?? cost
  const { currency: rooftop } = styles.options
  const named = notes.text('price_currency')
  const inColumn = named === null ? null : findCurrency(named)
  if (named !== null && inColumn === null)
    notes.cell('price_currency', {
      code: 'type-error',
      severity: 'warning',
      hint: 'this is not a currency; it was left out',
    })
  const column =
    inColumn ??
    notes.place('price_asking')?.column.currency ??
    (price === null ? notes.place('cost')?.column.currency : null) ??
    rooftop
  const cellCurrency = money?.currency ?? column
  if (cellCurrency !== rooftop && money !== null && (money.currency !== null || named !== null))
    notes.cell(notes.text('price_asking') === null ? 'cost' : 'price_asking', {
      code: 'CURRENCY_DIFFERS',
      severity: 'warning',
      hint: `the amount is in ${cellCurrency}, the rooftop sells in ${rooftop}; it was stored in ${cellCurrency}`,
    })
  return cellCurrency
}

function typeDistance(
  draft: StockDraft,
  notes: RowNotes,
  styles: ColumnStyles,
  isNew: boolean,
): void {
  const text = notes.text('odometer')
  if (text === null) return
  const unit = unitBeside(notes, styles.odometerUnit)
  const style = styles.numbers.get(notes.place('odometer')!.index) ?? thousands
  const distance = notes.take('odometer', typeOdometer(text, unit, style))
  if (distance === null) return
  const year = isNew ? null : draft.model_year
  const doubt = distanceDoubt(distance.km, year, styles.options.today)
  if (doubt !== null)
    notes.cell('odometer', { code: 'ODOMETER_DOUBTED', severity: 'warning', hint: doubt })
  draft.odometer_km = distance.km
  draft.extras['odometer'] = String(distance.reading)
  draft.extras['odometer_unit'] = distance.unit
  if (distance.reading === 0 && !isNew)
    notes.cell('odometer', {
      code: 'ZERO_ODOMETER',
      severity: 'warning',
      hint: 'a used vehicle has a distance above 0: correct the cell or leave it empty',
    })
}

const yearsOfUse = 5
const leastUsedKm = 1_000
const maxKmOfYear = 200_000
const noReadingKm = 999_999

/** Why a reading is hardly right: too many kilometres; or too few, as 98 for 98,000 where some readings are in thousands. `year` is null of a
 *  new vehicle, and where it is not known. */
function distanceDoubt(km: number, year: number | null, today: string): string | null {
  if (km > maxKm)
    return 'hardly a vehicle for sale has run more than 1,000,000 km: check the reading'
  if (km === noReadingKm) return 'systems write 999,999 where the reading is not known: check it'
  if (year === null) return null
  const age = Math.max(0, Number(today.slice(0, 4)) - year)
  const doubt = `hardly a vehicle of ${year} has run`
  if (km > maxKmOfYear * (age + 1)) return `${doubt} ${km} km: check the reading`
  const isLow = age >= yearsOfUse && km > 0 && km < leastUsedKm
  return isLow ? `${doubt} only ${km} km: is the reading in thousands?` : null
}

/** The unit in its own column, else that of the odometer's column. */
function unitBeside(notes: RowNotes, columnUnit: DistanceUnit): DistanceUnit {
  const text = notes.text('odometer_unit')
  if (text === null) return columnUnit
  const unit = findColumnUnit(text)
  if (unit !== null) return unit
  notes.cell('odometer_unit', {
    code: 'type-error',
    severity: 'warning',
    hint: `this is not km or miles; the odometer was read in ${columnUnit}`,
  })
  return columnUnit
}

const newWords = /^(n|(brand ?)?new\b.*|جديد|جديدة)$/i

function isNewVehicle(condition: string | undefined, notes: RowNotes): boolean {
  if (condition === undefined) return false
  if (newWords.test(condition)) return true
  const isFlagOfNew =
    notes.place('condition')?.column.header?.toLowerCase().includes('new') ?? false
  return isFlagOfNew && /^(true|yes|y|1)$/i.test(condition)
}

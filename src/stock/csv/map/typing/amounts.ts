import { findDistanceUnit } from '../../../../values/distance-unit.ts'
import type { ColumnStyles } from './column-styles.ts'
import { typeDate } from './date.ts'
import { findCurrency, type Money, typeMoney } from './money.ts'
import { thousands } from './number.ts'
import { maxKm, typeOdometer } from './odometer.ts'
import { isOnApplication } from './plain-text.ts'
import type { RowNotes } from './row-notes.ts'
import type { StockDraft } from './typed-row.ts'

const zero = '0.000'

/** Fills in price, cost, currency, odometer and the day in stock. */
export function typeAmounts(draft: StockDraft, notes: RowNotes, styles: ColumnStyles): void {
  const isNew = isNewVehicle(draft.extras['condition'], notes)
  const price = askingPrice(draft, notes, styles, isNew)
  const cost = money('cost', notes, styles)
  draft.asking_price = price?.amount ?? null
  draft.currency_code = currency(price ?? cost, notes, styles)
  draft.cost = cost === null || cost.amount === zero ? null : cost.amount
  if (draft.cost !== null && price !== null && isForeignCost(cost!, draft.currency_code, notes))
    draft.cost = null
  typeDistance(draft, notes, styles, isNew)
  const day = notes.text('received_date')
  const style = styles.dates.get(notes.place('received_date')?.index ?? -1)
  if (day !== null && style)
    draft.acquired_on = notes.take('received_date', typeDate(day, style, styles.options.today))
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

/** The cell's own currency, the currency column's, the header's, the rooftop's. */
function currency(money: Money | null, notes: RowNotes, styles: ColumnStyles): string {
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
    notes.place('cost')?.column.currency ??
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
  const unitText = notes.text('odometer_unit')
  const unit = (unitText === null ? null : findDistanceUnit(unitText)) ?? styles.odometerUnit
  const style = styles.numbers.get(notes.place('odometer')!.index) ?? thousands
  const distance = notes.take('odometer', typeOdometer(text, unit, style))
  if (distance === null) return
  if (distance.km > maxKm)
    notes.cell('odometer', {
      code: 'ODOMETER_DOUBTED',
      severity: 'warning',
      hint: 'hardly a vehicle for sale has run more than 1,000,000 km: check the reading',
    })
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

const newWords = /^(n|(brand ?)?new\b.*|جديد|جديدة)$/i

function isNewVehicle(condition: string | undefined, notes: RowNotes): boolean {
  if (condition === undefined) return false
  if (newWords.test(condition)) return true
  const isFlagOfNew =
    notes.place('condition')?.column.header?.toLowerCase().includes('new') ?? false
  return isFlagOfNew && /^(true|yes|y|1)$/i.test(condition)
}

import { type Field, fields } from '../../csv/map/stock-fields.ts'

/** The columns of the priced list that say what a unit is; the names stay. */
export const unitColumns = {
  stock_number: 'stock_number',
  vin: 'vin',
  adcode: 'adcode',
  plate: 'plate',
  make: 'make',
  model: 'model',
  variant: 'variant',
  year: 'model_year',
  odometer_km: 'odometer',
  asking_price: 'price_asking',
  cost: 'cost',
  currency: 'price_currency',
  acquired_on: 'received_date',
} as const satisfies Readonly<Record<string, Field>>

/** What the priced list says of its price; the names stay. */
export const priceColumns = [
  'price_retail',
  'price_retail_low',
  'price_retail_high',
  'price_wholesale',
  'price_wholesale_low',
  'price_wholesale_high',
  'price_currency',
  'priced_at',
  'eval_id',
  'status',
  'message',
] as const

/** What is appended to the columns of an uploaded file. */
export const appendedColumns = [
  'retail',
  'retail_low',
  'retail_high',
  'wholesale',
  'wholesale_low',
  'wholesale_high',
  'currency',
  'priced_at',
  'adcode',
  'eval_id',
  'status',
  'message',
] as const

/** A dealer's own column of a name that the list needs for itself. */
const dealerPrefix = 'dealer_'

/** The name in the priced list of a field that dealers fill and that has no column in the warehouse. */
export function extraColumn(field: string): string {
  return (priceColumns as readonly string[]).includes(field) ? dealerPrefix + field : field
}

/** The field that `extraColumn` named so; undefined where there is none. */
export function fieldOfExtra(name: string): Field | undefined {
  const bare = name.startsWith(dealerPrefix) ? name.slice(dealerPrefix.length) : name
  return fields.find((field) => field === bare)
}

/** The appended names, but for those that the file has already: a name stands once in a file. */
export function appendedNames(names: readonly string[]): readonly string[] {
  const taken = new Set(names.map((name) => name.trim().toLowerCase()))
  return appendedColumns.map((column) => {
    let name: string = column
    for (let copy = 1; taken.has(name); copy += 1)
      name = `forecourt_${column}${copy === 1 ? '' : `_${copy}`}`
    return name
  })
}

/** How many columns at the end of a file are prices that an export has appended: all of them, or 0. */
export function countAppended(names: readonly string[]): number {
  const last = names.slice(-appendedColumns.length)
  const isOurs = appendedColumns.every((column, at) =>
    new RegExp(`^(forecourt_)?${column}(_\\d+)?$`).test(last[at]?.trim() ?? ''),
  )
  return isOurs ? appendedColumns.length : 0
}

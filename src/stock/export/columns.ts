import { type Field, fields } from '../../csv/map/stock-fields.ts'

/** The columns of the priced list that describe a unit; the names are stable. */
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

/** The columns of the priced list with the unit's price; the names are stable. */
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

/** The columns that an export appends to an uploaded file. */
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

/** Prefix of a dealer's column whose name the list uses itself. */
const dealerPrefix = 'dealer_'

/** The priced list's name of a dealer's field that has no column in the warehouse. */
export function extraColumn(field: string): string {
  return (priceColumns as readonly string[]).includes(field) ? dealerPrefix + field : field
}

/** The field that `extraColumn` gave this name; undefined for none. */
export function fieldOfExtra(name: string): Field | undefined {
  const bare = name.startsWith(dealerPrefix) ? name.slice(dealerPrefix.length) : name
  return fields.find((field) => field === bare)
}

/** The appended names, without those that the file already has: a name occurs once in a file. */
export function appendedNames(names: readonly string[]): readonly string[] {
  const taken = new Set(names.map((name) => name.trim().toLowerCase()))
  return appendedColumns.map((column) => {
    let name: string = column
    for (let copy = 1; taken.has(name); copy += 1)
      name = `forecourt_${column}${copy === 1 ? '' : `_${copy}`}`
    return name
  })
}

/** How many columns at the end of a file are prices appended by an export: all of them, or 0. */
export function countAppended(names: readonly string[]): number {
  const last = names.slice(-appendedColumns.length)
  const isOurs = appendedColumns.every((column, at) =>
    new RegExp(`^(forecourt_)?${column}(_\\d+)?$`).test(last[at]?.trim() ?? ''),
  )
  return isOurs ? appendedColumns.length : 0
}

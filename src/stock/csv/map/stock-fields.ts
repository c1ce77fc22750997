import { nearestName } from '../../../values/nearest-name.ts'
import { aliasTable } from './alias-table.ts'
import { headerKey } from './header-name.ts'

/** A field that a column of a stock list can hold. An unknown column holds none of these; it is stored too. */
export type Field = keyof typeof aliasTable

/** All fields. */
export const fields = Object.keys(aliasTable) as readonly Field[]

/** The columns of `core.stock_unit` that a file fills, by field. */
export const stockColumns = {
  stock_number: 'stock_no',
  vin: 'vin',
  adcode: 'adcode',
  plate: 'plate',
  make: 'make',
  model: 'model',
  variant: 'variant',
  model_year: 'model_year',
  odometer: 'odometer_km',
  price_asking: 'asking_price',
  cost: 'cost',
  price_currency: 'currency_code',
  received_date: 'acquired_on',
} as const satisfies Partial<Record<Field, string>>

/** Fields without which a vehicle cannot be priced or its days in stock counted. If no column fills one, the user is asked. */
export const vitalFields = ['price_asking', 'model_year', 'odometer', 'received_date'] as const

export type VitalField = (typeof vitalFields)[number]

/** Whether a vehicle cannot be priced, or its days counted, without the field. */
export function isVital(field: Field): field is VitalField {
  return (vitalFields as readonly Field[]).includes(field)
}

const byName = new Map<string, Field>([
  ...Object.entries(stockColumns).map(([field, column]) => [headerKey(column), field] as const),
  ...fields.map((field) => [headerKey(field), field] as const),
] as [string, Field][])

/** The field with that name, or of that column of `core.stock_unit`; undefined for none. */
export function fieldNamed(name: string): Field | undefined {
  return byName.get(headerKey(name))
}

/** The field whose name is nearest to a misspelt one. */
export function nearestField(name: string): string | undefined {
  return nearestName(name, [...fields, ...Object.values(stockColumns)])
}

/** Whether it is a column of `core.stock_unit`. If so, an uncertain mapping needs the user's answer. */
export function isStockField(field: Field): field is keyof typeof stockColumns {
  return field in stockColumns
}

import { sql } from 'kysely'
import type { StockPrices } from '../../streams/stock-prices/normalise.ts'

/** A unit with its current price. */
export interface PricedUnit extends StockPrices {
  readonly unit_vin: string | null
  readonly unit_adcode: string | null
  readonly odometer_km: number | null
  readonly off_stock_at: Date | null
  readonly missing_since: Date | null
  readonly decoded_adcode: string | null
  readonly price_currency: string | null
  readonly priced_at: Date | null
  /** null: it has a price. */
  readonly not_priced_reason: string | null
  readonly eval_id: string | number | null
}

/** For each unit of rooftop $1 its stock number, its current price, its ADCode and its newest evaluation (of the rooftop itself, else of
 *  its group). */
export const pricedUnits = (rooftopId: number) => sql`
  select unit.stock_no, unit.vin as unit_vin, unit.adcode as unit_adcode, unit.odometer_km,
    unit.off_stock_at, unit.missing_since, decoded.adcode as decoded_adcode,
    price.retail, price.retail_low, price.retail_high, price.wholesale, price.wholesale_low, price.wholesale_high,
    price.price_currency, price.priced_at, price.not_priced_reason, seen.eval_id
  from core.stock_unit as unit
  join core.stock_market_price as price on price.rooftop_id = unit.rooftop_id and price.stock_no = unit.stock_no
  left join (
    select distinct on (vin) vin::varchar as vin, adcode from core.vehicle_decode
    where adcode is not null
    order by vin, decoded_at desc
  ) as decoded on decoded.vin = unit.vin
  left join (
    select distinct on (stock_no) stock_no, eval_id from core.stock_evaluation
    where rooftop_id = ${rooftopId}
    order by stock_no, (eval_rooftop_id = rooftop_id) desc, completed_at desc nulls last, eval_id desc
  ) as seen on seen.stock_no = unit.stock_no
  where unit.rooftop_id = ${rooftopId}`

/** The six prices, in the order of the columns. */
export function priceCells(unit: PricedUnit): readonly string[] {
  return [
    unit.retail,
    unit.retail_low,
    unit.retail_high,
    unit.wholesale,
    unit.wholesale_low,
    unit.wholesale_high,
  ].map(amountText)
}

/** ISO 8601 in UTC, whole seconds; empty for none. */
export function instantText(at: Date | null): string {
  return at === null ? '' : `${at.toISOString().slice(0, 19)}Z`
}

/** The columns `status` and `message` of an export. */
interface PriceStatus {
  /** `missing`: not in the newest list, within its days of grace. */
  readonly status: 'priced' | 'not_priced' | 'missing' | 'off_stock'
  /** Why it has no price, or since when it is missing; else empty. */
  readonly message: string
}

/** Whether a unit is in stock and priced, and if not, why. */
export function priceStatus(unit: PricedUnit): PriceStatus {
  if (unit.off_stock_at !== null)
    return { status: 'off_stock', message: `off stock since ${isoDay(unit.off_stock_at)}` }
  const why = unit.not_priced_reason
  if (unit.missing_since === null)
    return { status: why === null ? 'priced' : 'not_priced', message: why ?? '' }
  const missing = `not in the list since ${isoDay(unit.missing_since)}`
  return { status: 'missing', message: why === null ? missing : `${missing}; ${why}` }
}

function isoDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/**
 * A `numeric` of the warehouse as CSV text that every program reads as the same number: no trailing zeros, and never
 * three digits after the point, which many locales read as thousands.
 */
export function amountText(numeric: string | null): string {
  if (numeric === null) return ''
  const [whole = '', fraction = ''] = numeric.split('.')
  const digits = fraction.replace(/0+$/, '')
  if (digits === '') return whole
  return `${whole}.${digits.length === 3 ? `${digits}0` : digits.padEnd(2, '0')}`
}

import { amountText } from './amount-text.ts'

/** What is known of a unit's price. */
export interface PricedUnit {
  readonly unit_vin: string | null
  readonly unit_adcode: string | null
  readonly odometer_km: number | null
  readonly off_stock_at: Date | null
  readonly missing_since: Date | null
  readonly decoded_adcode: string | null
  readonly retail: string | null
  readonly retail_low: string | null
  readonly retail_high: string | null
  readonly wholesale: string | null
  readonly wholesale_low: string | null
  readonly wholesale_high: string | null
  readonly price_currency: string | null
  readonly priced_at: Date | null
  readonly error: string | null
  readonly eval_id: string | number | null
}

/**
 * For each unit of rooftop $1 its stock number, its current price, its ADCode and its newest evaluation (of the
 * rooftop itself, else of its group). A price of the vehicle that had the stock number before is none of its own.
 */
export const pricedUnits = `
  select unit.stock_no, unit.vin as unit_vin, unit.adcode as unit_adcode, unit.odometer_km,
    unit.off_stock_at, unit.missing_since, decoded.adcode as decoded_adcode,
    price.retail, price.retail_low, price.retail_high, price.wholesale, price.wholesale_low, price.wholesale_high,
    price.currency_code as price_currency, price.last_confirmed_at as priced_at, price.error, seen.eval_id
  from core.stock_unit as unit
  left join (
    select distinct on (stock_no) * from core.stock_price_observation
    where rooftop_id = $1 and is_current
    order by stock_no, last_confirmed_at desc
  ) as price on price.stock_no = unit.stock_no and price.vin is not distinct from unit.vin
  left join (
    select distinct on (vin) vin::varchar as vin, adcode from core.vehicle_decode
    where adcode is not null
    order by vin, decoded_at desc
  ) as decoded on decoded.vin = unit.vin
  left join (
    select distinct on (stock_no) stock_no, eval_id from core.stock_evaluation
    where rooftop_id = $1
    order by stock_no, (eval_rooftop_id = rooftop_id) desc, completed_at desc nulls last, eval_id desc
  ) as seen on seen.stock_no = unit.stock_no
  where unit.rooftop_id = $1`

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

export interface Standing {
  readonly status: 'priced' | 'not_priced' | 'off_stock'
  /** Why it has no price, or since when it is gone; empty when there is nothing to say. */
  readonly message: string
}

/** Whether a unit is priced, and if not, why. */
export function standingOf(unit: PricedUnit): Standing {
  if (unit.off_stock_at !== null)
    return { status: 'off_stock', message: `off stock since ${dayOf(unit.off_stock_at)}` }
  const missing =
    unit.missing_since === null ? '' : `not in the list since ${dayOf(unit.missing_since)}`
  const why = whyNotPriced(unit)
  const status = why === null ? 'priced' : 'not_priced'
  return { status, message: [why ?? '', missing].filter((text) => text !== '').join('; ') }
}

function whyNotPriced(unit: PricedUnit): string | null {
  if (unit.error !== null) return unit.error
  if (unit.retail !== null || unit.wholesale !== null) return null
  if (unit.priced_at !== null) return 'the service knows no price for it'
  if (unit.unit_vin === null && unit.unit_adcode === null)
    return 'it has neither a VIN nor an ADCode to price it by'
  return 'it was not priced yet'
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}

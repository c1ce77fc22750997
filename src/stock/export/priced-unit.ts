/** A unit with its current price and newest pricing batch. */
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
  /** The newest batch that asked for this vehicle; null: none. */
  readonly batch_no: string | number | null
  readonly batch_state:
    | 'submitting'
    | 'submitted'
    | 'complete'
    | 'refused'
    | 'lost'
    | 'stuck'
    | null
  readonly batch_outcome: 'priced' | 'failed' | 'missing' | 'duplicate' | null
  /** Why no unit of the rooftop is priced; null: they are. */
  readonly refusal: string | null
}

/** The age in days of the oldest batch that may explain a missing price. */
const batchDays = 14

/**
 * For each unit of rooftop $1 its stock number, its current price, its ADCode and its newest evaluation (of the
 * rooftop itself, else of its group). A price of the previous vehicle with that stock number is left out.
 */
export const pricedUnits = `
  select unit.stock_no, unit.vin as unit_vin, unit.adcode as unit_adcode, unit.odometer_km,
    unit.off_stock_at, unit.missing_since, decoded.adcode as decoded_adcode,
    price.retail, price.retail_low, price.retail_high, price.wholesale, price.wholesale_low, price.wholesale_high,
    price.currency_code as price_currency, price.last_confirmed_at as priced_at, price.error, seen.eval_id,
    asked.batch_no, asked.state as batch_state, asked.outcome as batch_outcome, (
      select detail from ops.data_quality
      where rooftop_id = $1 and stream = 'stock-prices' and check_name = 'not-priced' order by seen_at desc limit 1
    ) as refusal
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
  left join (
    select distinct on (part.stock_no) part.stock_no, part.vin, part.outcome, batch.batch_no, batch.state
    from ops.price_batch as batch join ops.price_batch_unit as part using (batch_no)
    where batch.rooftop_id = $1 and batch.submitted_at > now() - interval '${batchDays} days'
    order by part.stock_no, batch.batch_no desc
  ) as asked on asked.stock_no = unit.stock_no and asked.vin is not distinct from unit.vin
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

/** The columns `status` and `message` of an export. */
interface PriceStatus {
  /** `missing`: not in the newest list, within its days of grace. */
  readonly status: 'priced' | 'not_priced' | 'missing' | 'off_stock'
  /** Why it has no price, or since when it is missing; else empty. */
  readonly message: string
}

/** Whether a unit is in stock and priced, and if not, why. */
export function priceStatusOf(unit: PricedUnit): PriceStatus {
  if (unit.off_stock_at !== null)
    return { status: 'off_stock', message: `off stock since ${dayOf(unit.off_stock_at)}` }
  const why = whyNotPriced(unit)
  if (unit.missing_since === null)
    return { status: why === null ? 'priced' : 'not_priced', message: why ?? '' }
  const missing = `not in the list since ${dayOf(unit.missing_since)}`
  return { status: 'missing', message: why === null ? missing : `${missing}; ${why}` }
}

function whyNotPriced(unit: PricedUnit): string | null {
  if (unit.error !== null) return unit.error
  if (unit.retail !== null || unit.wholesale !== null) return null
  if (unit.priced_at !== null) return 'the service has no price for it'
  if (unit.unit_vin === null && unit.unit_adcode === null)
    return 'it has no VIN and no ADCode, so it cannot be priced'
  return unit.refusal ?? whyNoAnswer(unit)
}

const dueAgain = 'it will be priced again next night'

/** The result of the newest batch that asked for the vehicle. */
function whyNoAnswer({ batch_no, batch_state, batch_outcome }: PricedUnit): string {
  if (batch_state === null) return 'not priced yet'
  const batch = `batch ${batch_no}`
  if (batch_outcome === 'missing') return `${batch} has no result for it: ${dueAgain}`
  if (batch_outcome === 'duplicate')
    return `${batch} has several results for it and none was used: ${dueAgain}`
  if (batch_outcome === 'failed')
    return 'the service rejects it as too large, even alone in a batch'
  if (batch_state === 'lost') return `the answer to ${batch} was lost: ${dueAgain}`
  if (batch_state === 'stuck') return `${batch} made no progress and was abandoned: ${dueAgain}`
  if (batch_state === 'refused') return `the service rejected ${batch}: ${dueAgain}`
  if (batch_state === 'complete') return 'not priced yet'
  return `${batch} is still being priced: the next run fetches its price`
}

function dayOf(at: Date): string {
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

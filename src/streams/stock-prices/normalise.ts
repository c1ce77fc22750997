import type { BatchPrice } from '../../api/contract/vehicle-data/prices.ts'
import { moneyText } from '../../values/money.ts'
import { storable } from '../../values/text.ts'

/** The prices of an observation by column, as `numeric(15,3)` writes them. */
export interface StockPrices {
  readonly retail: string | null
  readonly retail_low: string | null
  readonly retail_high: string | null
  readonly wholesale: string | null
  readonly wholesale_low: string | null
  readonly wholesale_high: string | null
}

/** A vehicle's normalised result. */
export interface StockPriceRecord {
  readonly prices: StockPrices
  /** Three capital letters; null: the answer names none, or none of that form. */
  readonly currency: string | null
  /** As sent, where it is not of that form; else null. */
  readonly strangeCurrency: string | null
  /** Why there are no prices: the prices are null then. */
  readonly error: string | null
}

const columns = {
  retail: 'retail',
  retail_low: 'retailLow',
  retail_high: 'retailHigh',
  wholesale: 'wholesale',
  wholesale_low: 'wholesaleLow',
  wholesale_high: 'wholesaleHigh',
} as const satisfies Record<keyof StockPrices, keyof BatchPrice>
const names = Object.keys(columns) as (keyof StockPrices)[]

/** Pure. What does not fit is an error of the vehicle: 0 is a price of 0, left out or null is none. */
export function normaliseStockPrice(result: BatchPrice): StockPriceRecord {
  const amounts = names.map((name) => [name, result[columns[name]]] as const)
  const given = amounts.filter(([, amount]) => amount !== null)
  const [unfit] = given.find(([, amount]) => moneyText(amount!) === null) ?? []
  const error = result.error ?? whyUnpriced(given.length, unfit)
  const textOf = (amount: number | null) =>
    error !== null || amount === null ? null : moneyText(amount)
  const code = result.currency?.trim().toUpperCase() ?? null
  const isCode = code !== null && /^[A-Z]{3}$/.test(code)
  return {
    prices: Object.fromEntries(
      amounts.map(([name, amount]) => [name, textOf(amount)]),
    ) as unknown as StockPrices,
    currency: isCode ? code : null,
    strangeCurrency: code === null || isCode ? null : storable(code).slice(0, 20),
    error: error === null ? null : storable(error).slice(0, 200).toWellFormed(),
  }
}

function whyUnpriced(prices: number, unfit: string | undefined): string | null {
  if (unfit !== undefined) return `${unfit} is larger than numeric(15,3) holds`
  return prices === 0 ? 'the result holds neither a price nor an error' : null
}

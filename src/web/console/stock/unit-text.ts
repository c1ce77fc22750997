import { type Html, html } from '../../../values/html.ts'
import { choice } from '../parts/form.ts'
import type { StockRooftop, StockUnit } from './read-stock.ts'

type Named = Pick<StockUnit, 'uid' | 'stockNo'>

/** The path of the page of a unit. Several rooftops may have the same stock number. */
function unitPath({ uid, stockNo }: Named): string {
  return `/stock/units/${encodeURIComponent(uid)}/${encodeURIComponent(stockNo)}`
}

/** A stock number as a link to its unit. */
export function unitLink(unit: Named): Html {
  return html`<a href="/console${unitPath(unit)}">${unit.stockNo}</a>`
}

/** The car in words: `2021 Toyota HiLux SR5`. */
export function carText({
  year,
  make,
  model,
  variant,
}: Pick<StockUnit, 'year' | 'make' | 'model'> & { readonly variant?: string | null }): string {
  const words = [year, make, model, variant].filter((word) => word !== null && word !== undefined)
  return words.length === 0 ? 'unknown car' : words.join(' ')
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** An amount with its currency; null: a dash. */
export function amountText(amount: number | null, currency: string): string {
  return amount === null ? '–' : `${whole.format(amount)} ${currency}`
}

/** An amount with its sign: by how much something moved. */
export function moveText(amount: number | null, currency: string): string {
  if (amount === null) return '–'
  return amount > 0
    ? `+${amountText(amount, currency)}`
    : amountText(amount === 0 ? 0 : amount, currency)
}

/** A choice of the rooftops of a person, and of all; nothing where there is one. */
export function rooftopChoice(
  rooftops: readonly StockRooftop[],
  uid: string,
  hasAll = true,
): Html | false {
  if (rooftops.length < 2) return false
  const names = Object.fromEntries(rooftops.map((one) => [one.uid, one.name]))
  return choice('Rooftop', 'rooftop', uid, { ...(hasAll ? { '': 'all' } : {}), ...names })
}

import { type DistanceUnit, findDistanceUnit } from '../../../values/distance-unit.ts'
import { usualCurrency } from './typing/money.ts'

/** What the titles above a list say about all its cells; null: nothing, or two different things. */
export interface TitleUnits {
  readonly unit: DistanceUnit | null
  /** ISO 4217. */
  readonly currency: string | null
}

const distanceWords = new Set(
  'odometer odometers mileage mileages distance distances reading readings kilometerstand laufleistung kilométrage kilometraje recorrido'.split(
    ' ',
  ),
)
const priceWords = new Set(
  'price prices pricing amount amounts preis preise beträge prix montants precio precios importes'.split(
    ' ',
  ),
)
/** Words between what is measured and its unit: `prices of all used cars in USD`. */
const maxBetween = 6

/** Reads `Prices in USD` and `Odometer readings are in miles`. */
export function titleUnits(titles: readonly string[]): TitleUnits {
  const units = new Set<DistanceUnit>()
  const currencies = new Set<string>()
  for (const title of titles) {
    const words = title
      .toLowerCase()
      .split(/[^\p{L}$£€]+/u)
      .filter(Boolean)
    for (const [at, word] of words.entries()) {
      const next = words[at + 1]
      if ((word !== 'in' && word !== 'en') || next === undefined) continue
      const before = words.slice(Math.max(0, at - maxBetween), at)
      const unit = findDistanceUnit(next)
      if (unit !== null && before.some((one) => distanceWords.has(one))) units.add(unit)
      const currency = usualCurrency(next)
      if (currency !== null && before.some((one) => priceWords.has(one))) currencies.add(currency)
    }
  }
  const only = <T>(found: ReadonlySet<T>) => (found.size === 1 ? [...found][0]! : null)
  return { unit: only(units), currency: only(currencies) }
}

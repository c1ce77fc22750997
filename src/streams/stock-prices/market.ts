import type { Config } from '../../app/config/read.ts'
import { gccCurrencies } from '../../values/regions.ts'
import type { RooftopRow } from '../../values/rooftop.ts'

interface BatchSettings {
  readonly vehicleData: Pick<Config['vehicleData'], 'apiKey'>
  readonly prices: Pick<Config['prices'], 'market'>
}

/** As `prices.market`: the request names no market, and the service chooses. [V §4] does not say that a batch takes one. */
const unnamed = 'NONE'

type MarketRooftop = Pick<RooftopRow, 'region' | 'currency'>

/**
 * The country whose prices the rooftop's stock is given: `prices.market` of the config, else Australia, else the GCC country of
 * the rooftop's currency. null: it is unknown, or the service covers nothing there, as in the US [V §1].
 */
export function findMarket(
  { region, currency }: MarketRooftop,
  { prices }: Pick<BatchSettings, 'prices'>,
): string | null {
  if (region === 'US') return null
  if (prices.market !== null) return prices.market.trim().toUpperCase()
  if (region === 'AU') return 'AU'
  const gcc = Object.entries(gccCurrencies).find(([, code]) => code === currency)
  return gcc?.[0] ?? null
}

/** The field of the request; left out where the service chooses. */
export function marketField(rooftop: MarketRooftop, settings: Pick<BatchSettings, 'prices'>) {
  const market = findMarket(rooftop, settings)
  return market === null || market === unnamed ? {} : { market }
}

/** Why the rooftop's stock is not priced, and what to do; null: it is. */
export function skipReason(rooftop: MarketRooftop, settings: BatchSettings): string | null {
  if (rooftop.region === 'US')
    return 'its stock cannot be priced: the vehicle-data APIs cover Australia and the GCC alone'
  if (settings.vehicleData.apiKey === null)
    return 'its stock is not priced: set vehicleData.apiKey in the config'
  if (findMarket(rooftop, settings) !== null) return null
  return `its stock is not priced: ${rooftop.currency} is not the currency of a GCC country, so set prices.market in the config`
}

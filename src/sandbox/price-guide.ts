import type { CatalogueVehicle } from './catalogue.ts'
import type { ModelPrices } from './price-model.ts'
import type { JsonObject } from './render.ts'

/** Price guide result, exact field names; amounts in `currency` [V §2 Price guide result]. */
export function renderGuide(
  { adcode }: CatalogueVehicle,
  prices: ModelPrices,
  currency: string,
): JsonObject {
  return {
    adcode,
    highRetail: prices.retailHigh,
    lowRetail: prices.retailLow,
    highWholesale: prices.wholesaleHigh,
    lowWholesale: prices.wholesaleLow,
    highWholesalePerfect: prices.wholesalePerfectHigh,
    lowWholesalePerfect: prices.wholesalePerfectLow,
    currency,
  }
}

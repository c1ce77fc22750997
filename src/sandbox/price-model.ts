import { hash32 } from '../values/hash32.ts'
import type { CatalogueVehicle } from './catalogue.ts'
import type { JsonObject } from './render.ts'
import type { Region } from './world-types.ts'

const kmInMile = 1.609_344

/** Kilometres per odometer unit: US odometers are in miles. */
export function kmPerUnit(region: Region): number {
  return region === 'US' ? kmInMile : 1
}

/** US dollars for one unit: fixed, pegged or approximate rates. */
const inDollars: Readonly<Record<string, number>> = {
  AUD: 0.66,
  USD: 1,
  AED: 0.2723,
  SAR: 0.2666,
  QAR: 0.2747,
  KWD: 3.26,
  BHD: 2.659,
  OMR: 2.601,
}

/** The currency of the catalogue's prices. */
export const regionCurrency: Readonly<Record<Region, string>> = { AU: 'AUD', US: 'USD', GCC: 'AED' }

/** The amount in another currency (ISO 4217); a currency without a rate counts as a dollar. */
export function convert(amount: number, from: string, to: string): number {
  return from === to ? amount : (amount * (inDollars[from] ?? 1)) / (inDollars[to] ?? 1)
}

/** The vehicle to price, and the date. */
export interface PriceRequest {
  readonly vehicle: CatalogueVehicle
  /** Model year. */
  readonly year: number
  /** null = average for the age. */
  readonly km: number | null
  readonly at: Date
  /** ISO 4217. */
  readonly currency: string
  /** False = not built for the GCC, which is worth less there; left out = it was. */
  readonly gccSpec?: boolean
}

/** Whole units of the currency; quick sale < wholesale < buy to retail < sweet spot < retail. */
export interface ModelPrices {
  readonly retail: number
  readonly retailLow: number
  readonly retailHigh: number
  readonly wholesale: number
  readonly wholesaleLow: number
  readonly wholesaleHigh: number
  readonly wholesalePerfectLow: number
  readonly wholesalePerfectHigh: number
  readonly buyToRetail: number
  readonly quickSale: number
  readonly sweetSpot: number
  readonly confidence: 'high' | 'medium' | 'low'
}

/** Half the width of a range, as a share of its middle. */
const spreads = { high: 0.05, medium: 0.08, low: 0.13 } as const
const nonGccShare = 0.82

/** Prices as a pure function: age and kilometres never raise a price, and the market changes each month. */
export function modelPrices(request: PriceRequest): ModelPrices {
  const { vehicle, at, currency } = request
  const age = ageAt(request)
  const whenNew = convert(vehicle.newPrice, regionCurrency[vehicle.region], currency)
  const spec = request.gccSpec === false ? nonGccShare : 1
  const retail =
    whenNew * shareLeft(age) * mileageFactor(request.km, age) * marketDrift(vehicle, at) * spec
  const confidence = confidenceIn(request, age)
  const spread = spreads[confidence]
  const part = (share: number) => Math.round(retail * share)
  return {
    retail: part(1),
    retailLow: part(1 - spread),
    retailHigh: part(1 + spread),
    wholesale: part(0.8),
    wholesaleLow: part(0.8 * (1 - spread)),
    wholesaleHigh: part(0.8 * (1 + spread)),
    wholesalePerfectLow: part(0.86 * (1 - spread)),
    wholesalePerfectHigh: part(0.86 * (1 + spread)),
    buyToRetail: part(0.86),
    quickSale: part(0.74),
    sweetSpot: part(0.96),
    confidence,
  }
}

/** The narrow symbol where the currency has one ($), else its code. */
export function currencySymbol(currency: string): string {
  const format = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
  })
  return format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? currency
}

/** Average kilometres of a vehicle of this age: 17,000 in the first year, fewer in each later year. */
export function averageKm(age: number): number {
  return 240_000 * (1 - Math.exp(-age / 14))
}

/** In years, by the month; at least 0. */
export function ageAt({ year, at }: Pick<PriceRequest, 'year' | 'at'>): number {
  return Math.max(0, at.getUTCFullYear() + at.getUTCMonth() / 12 - year)
}

/** Share of the new price: 90 percent at once, then about 15 percent less each year, never below 5. */
function shareLeft(age: number): number {
  return 0.05 + 0.85 * Math.exp(-0.16 * age)
}

/** Factor for the kilometres, 0.65 to 1.35; it changes less per year of age than the remaining share does. */
function mileageFactor(km: number | null, age: number): number {
  return km === null ? 1 : 1 - 0.35 * Math.tanh((km - averageKm(age)) / 150_000)
}

/** Factor of the market, within 4.5 percent: the season of the model and a random part for the month. */
function marketDrift({ region, make, model }: CatalogueVehicle, at: Date): number {
  const month = at.getUTCFullYear() * 12 + at.getUTCMonth()
  const phase = hash32(`season of ${make} ${model}`) % 12
  const mood = ((hash32(`market of ${region} in ${month}`) % 31) - 15) / 1000
  return 1 + 0.03 * Math.sin(((month + phase) * Math.PI) / 6) + mood
}

function confidenceIn({ km, gccSpec }: PriceRequest, age: number): ModelPrices['confidence'] {
  const usual = averageKm(age)
  const driven = km ?? usual
  if (age > 15 || driven > 350_000 || gccSpec === false) return 'low'
  const isUsual = driven >= usual * 0.4 - 5_000 && driven <= usual * 1.8 + 15_000
  return age < 8 && isUsual ? 'high' : 'medium'
}

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

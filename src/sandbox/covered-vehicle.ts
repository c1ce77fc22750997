import { findKnownVehicle, type KnownVehicle } from './known-vehicle.ts'
import { type CatalogueVehicle, lastSoldYear, vehicleByCode } from './catalogue.ts'
import { regionCurrency } from './currencies.ts'
import { decodeVin } from './decode-vin.ts'
import { Refusal } from './refusal.ts'
import type { World } from './world.ts'
import type { Region } from './world-types.ts'

// Finds the vehicle of a call of the vehicle-data APIs, which cover Australia and the six GCC countries [V §1].

/** How a call names a vehicle. */
export interface VehicleName {
  readonly adcode?: string | undefined
  readonly vin?: string | undefined
}

interface Market {
  readonly region: Region
  /** ISO 4217. */
  readonly currency: string
}

const markets: Readonly<Record<string, Market>> = {
  AU: { region: 'AU', currency: 'AUD' },
  AE: { region: 'GCC', currency: 'AED' },
  SA: { region: 'GCC', currency: 'SAR' },
  QA: { region: 'GCC', currency: 'QAR' },
  KW: { region: 'GCC', currency: 'KWD' },
  BH: { region: 'GCC', currency: 'BHD' },
  OM: { region: 'GCC', currency: 'OMR' },
}
const coveredRegions: readonly Region[] = ['GCC', 'AU']

/** The market of a two-letter country code; undefined without one, 400 for a country without coverage. */
export function marketOf(country: string | undefined): Market | undefined {
  if (country === undefined) return undefined
  const code = country.trim().toUpperCase()
  if (!Object.hasOwn(markets, code))
    throw new Refusal(
      400,
      `market: there is no coverage of ${code}, only of ${Object.keys(markets).join(', ')}`,
    )
  return markets[code]
}

/** The currency of the market, else of the vehicle's region. */
export function currencyOf({ region }: CatalogueVehicle, market: Market | undefined): string {
  return market?.currency ?? regionCurrency[region]
}

/** The vehicle by its code, else by its VIN. 400 when the call has neither, 404 when the vehicle is unknown. */
export function requireVehicle(
  { adcode, vin }: VehicleName,
  {
    world,
    now,
    market,
  }: { readonly world: World; readonly now: Date; readonly market?: Market | undefined },
): KnownVehicle {
  if (adcode !== undefined) {
    const vehicle = vehicleByCode(adcode.trim().toUpperCase())
    if (vehicle === undefined || !coveredRegions.includes(vehicle.region))
      throw new Refusal(404, `There is no vehicle with the code ${adcode}`)
    return { vehicle, year: lastSoldYear(vehicle, now) }
  }
  if (vin === undefined) throw new Refusal(400, 'Neither a code nor a VIN')
  return requireDecoded(vin, { world, now, regions: market ? [market.region] : coveredRegions })
}

/** The factory build of a VIN; for an ambiguous VIN, the first of its vehicles. 404 when it decodes in none of the regions. */
export function requireDecoded(
  vin: string,
  {
    world,
    now,
    regions,
  }: { readonly world: World; readonly now: Date; readonly regions: readonly Region[] },
): KnownVehicle {
  const appraised = findKnownVehicle(vin, world, now)
  if (appraised !== undefined && regions.includes(appraised.vehicle.region)) return appraised
  for (const region of regions) {
    const decoded = decodeVin(vin, region)
    if (decoded.kind === 'single') return decoded
    if (decoded.kind === 'ambiguous') return { vehicle: decoded.vehicles[0]!, year: decoded.year }
  }
  throw new Refusal(404, 'VIN not found')
}

import { hash32 } from '../values/hash32.ts'
import { type CatalogueVehicle, catalogue, lastSoldYear, vehicleByCode } from './catalogue.ts'
import { fieldsAt } from './lifecycle.ts'
import { regionCurrency } from './price-model.ts'
import { Refusal } from './refusal.ts'
import { type Sample, samples } from './samples.ts'
import type { World } from './world.ts'
import type { Region } from './world-types.ts'

/** What a VIN decodes to; the vehicles of an ambiguous VIN are variants of one model. */
export type Decoded =
  | { readonly kind: 'single'; readonly vehicle: CatalogueVehicle; readonly year: number }
  | {
      readonly kind: 'ambiguous'
      readonly vehicles: readonly CatalogueVehicle[]
      readonly year: number
    }
  | { readonly kind: 'unknown' }

/** Makers by the first characters of a VIN (ISO 3780); the longest match counts. */
const makerCodes: Readonly<Record<string, string>> = {
  ...{ JT: 'Toyota', MR0: 'Toyota', '6T1': 'Toyota', JTH: 'Lexus', JTJ: 'Lexus' },
  ...{ JM: 'Mazda', MM0: 'Mazda', '1F': 'Ford', '6FP': 'Ford', MNA: 'Ford', MPB: 'Ford' },
  ...{ KM: 'Hyundai', '5YJ': 'Tesla', '7SA': 'Tesla', LRW: 'Tesla', LSJ: 'MG', JN: 'Nissan' },
  ...{ JHM: 'Honda', '1HG': 'Honda', '2HG': 'Honda', '19X': 'Honda', LGX: 'BYD', LC0: 'BYD' },
  ...{ '1G': 'Chevrolet', '3GC': 'Chevrolet' },
}

const unknown: Decoded = { kind: 'unknown' }
const vinCharacters = 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789'
const ambiguousSamples: readonly string[] = [
  samples.auAmbiguous.vin,
  samples.usAmbiguous.vin,
  samples.gccAmbiguous.vin,
]
/** The vehicle of each region to which its samples decode; its model has several variants. */
const sampleVehicle: Readonly<Record<Region, CatalogueVehicle>> = {
  AU: vehicleByCode('AU0TOYHILUX01')!,
  US: vehicleByCode('US0FORF150X01')!,
  GCC: vehicleByCode('GC0TOYLANDC01')!,
}

/** A VIN always decodes to the same in a region; about one in five is ambiguous. The check digit is not validated
 *  [A §4 /entervin]. A sample of another region is unknown. */
export function decodeVin(vin: string, region: Region): Decoded {
  const text = plainVin(vin)
  if (!/^[A-HJ-NPR-Z0-9]{17}$/.test(text)) return unknown
  const sample = findSample(text)
  if (sample !== undefined) return decodeSample(sample, region)
  const sold = catalogue.filter((vehicle) => vehicle.region === region)
  const make = findMake(text)
  const ofMake = sold.filter((vehicle) => vehicle.make === make)
  const known = ofMake.length > 0 ? ofMake : sold
  const vehicle = known[hash32(`vehicle of ${text}`) % known.length]!
  return decodedAs(vehicle, text, hash32(`ambiguity of ${text}`) % 4 === 0)
}

/** Undefined for makers that are not in the catalogue. */
function findMake(vin: string): string | undefined {
  return makerCodes[vin.slice(0, 3)] ?? makerCodes[vin.slice(0, 2)]
}

/** The sample with this VIN, in upper or lower case. */
export function findSample(vin: string | null | undefined): Sample | undefined {
  const text = plainVin(vin ?? '')
  return Object.values(samples).find((sample) => sample.vin === text)
}

/** The VIN trimmed and in upper case. */
export function plainVin(vin: string): string {
  return vin.trim().toUpperCase()
}

/** A made-up VIN for an unknown plate, always the same. */
export function vinOfPlate(plate: string, state: string): string {
  return Array.from({ length: 17 }, (_, at) => {
    const index = hash32(`character ${at} of ${plate} in ${state}`) % vinCharacters.length
    return vinCharacters[index]!
  }).join('')
}

function decodeSample({ vin, region: home }: Sample, region: Region): Decoded {
  if ((home !== 'any' && home !== region) || vin === samples.undecodable.vin) return unknown
  return decodedAs(sampleVehicle[region], vin, ambiguousSamples.includes(vin))
}

/** Ambiguous only when the model has other variants of that year. */
function decodedAs(vehicle: CatalogueVehicle, vin: string, wantsChoice: boolean): Decoded {
  const years = vehicle.lastYear - vehicle.firstYear + 1
  const year = vehicle.firstYear + (hash32(`year of ${vin}`) % years)
  const vehicles = catalogue.filter(
    ({ region, make, model, firstYear, lastYear }) =>
      region === vehicle.region &&
      make === vehicle.make &&
      model === vehicle.model &&
      firstYear <= year &&
      year <= lastYear,
  )
  return wantsChoice && vehicles.length > 1
    ? { kind: 'ambiguous', vehicles, year }
    : { kind: 'single', vehicle, year }
}

/** A vehicle and its model year. */
export interface KnownVehicle {
  readonly vehicle: CatalogueVehicle
  readonly year: number
}

/** The vehicle of the VIN according to its evaluations, so that both services describe the same vehicle; undefined for samples. */
export function findKnownVehicle(vin: string, world: World, now: Date): KnownVehicle | undefined {
  if (findSample(vin) !== undefined) return undefined
  for (const evaluation of world.withVin(vin, now)) {
    const { make, model, variant, year } = fieldsAt(evaluation, now)
    const region = world.rooftop(evaluation.rooftopUid)?.region
    const alike = catalogue.filter(
      (one) => one.region === region && one.make === make && one.model === model,
    )
    const vehicle = alike.find((one) => one.variant === variant) ?? alike[0]
    if (vehicle !== undefined) return { vehicle, year: year ?? lastSoldYear(vehicle, now) }
  }
  return undefined
}

// Finds the vehicle of a call of the vehicle-data APIs, which cover Australia and the six GCC countries [V §1].

/** How a call names a vehicle. */
interface VehicleName {
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
export function findMarket(country: string | undefined): Market | undefined {
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
export function marketCurrency({ region }: CatalogueVehicle, market: Market | undefined): string {
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

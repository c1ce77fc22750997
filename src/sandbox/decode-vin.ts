import { catalogue, type CatalogueVehicle, vehicleByCode } from './catalogue.ts'
import { type Sample, samples } from './samples.ts'
import { hash32 } from '../values/hash32.ts'
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
  const sample = sampleOf(text)
  if (sample !== undefined) return decodeSample(sample, region)
  const sold = catalogue.filter((vehicle) => vehicle.region === region)
  const make = makeOf(text)
  const ofMake = sold.filter((vehicle) => vehicle.make === make)
  const known = ofMake.length > 0 ? ofMake : sold
  const vehicle = known[hash32(`vehicle of ${text}`) % known.length]!
  return decodedAs(vehicle, text, hash32(`ambiguity of ${text}`) % 4 === 0)
}

/** Undefined for makers that are not in the catalogue. */
function makeOf(vin: string): string | undefined {
  return makerCodes[vin.slice(0, 3)] ?? makerCodes[vin.slice(0, 2)]
}

/** The sample with this VIN, in upper or lower case. */
export function sampleOf(vin: string | null | undefined): Sample | undefined {
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

import { type CatalogueVehicle, catalogue, describe } from './catalogue.ts'
import type { Region } from './world-types.ts'

// The name of a vehicle when a caller must choose: a code with its type, or a description [A §4].

/** An item of `descriptionOptions`with its exact field names [A §4 /entervin]. */
interface StyleOption {
  readonly code: string
  readonly codeType: string
  readonly fullDescription: string
  /** What distinguishes this option from the others. */
  readonly highlight: string
}

/** "GCC: `ADData`, never `ADCode`" [A §4 /manualcarentry]. */
export const gccCodeType = 'ADData'

/** "US: one of two provider-specific values" [A §4 /manualcarentry]; the document does not show them. */
const usCodeTypes = ['ProviderAStyle', 'ProviderBStyle'] as const

/** The vehicle as an option of an ambiguous VIN of that year. */
export function styleOption(vehicle: CatalogueVehicle, year: number): StyleOption {
  return {
    code: styleCode(vehicle),
    codeType: styleCodeType(vehicle),
    fullDescription: describe(vehicle, year),
    highlight: vehicle.variant,
  }
}

/** US: the style id; other regions: the ADCode. */
function styleCode({ region, styleId, adcode }: CatalogueVehicle): string {
  return region === 'US' ? styleId : adcode
}

/** Of the two US providers, the first knows pickups, the second all others. */
export function styleCodeType({ region, body }: CatalogueVehicle): string {
  if (region !== 'US') return gccCodeType
  return usCodeTypes[body.includes('pickup') ? 0 : 1]
}

/** The region's vehicle of that code. */
export function vehicleByStyle(region: Region, code: string): CatalogueVehicle | undefined {
  const wanted = code.trim().toUpperCase()
  return catalogue.find((vehicle) => vehicle.region === region && styleCode(vehicle) === wanted)
}

/** The vehicle of the region with this description, and the year if it begins with one; case and spaces are ignored. */
export function vehicleByDescription(
  region: Region,
  description: string,
): { readonly vehicle: CatalogueVehicle; readonly year: number | null } | undefined {
  const [, year, name = ''] = /^(?:(\d{4}) )?(.*)$/.exec(plain(description)) ?? []
  const vehicle = catalogue.find((one) => one.region === region && plain(describe(one)) === name)
  return vehicle && { vehicle, year: year === undefined ? null : Number(year) }
}

function plain(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ').toLowerCase()
}

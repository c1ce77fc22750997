import { hash32 } from '../values/hash32.ts'
import type { CatalogueVehicle } from './catalogue.ts'
import { plainVin } from './find-vehicle.ts'

/** The factory build of a VIN, beyond the catalogue's facts for every such vehicle. */
interface FactoryBuild {
  /** `YYYY-MM`: of the model year, or late in the year before it. */
  readonly buildMonth: string
  /** Name with a code [V §2]. */
  readonly exteriorColour: string
  readonly interiorColour: string
  /** Built to the specification of the GCC. */
  readonly isGccSpec: boolean
  /** The options of the catalogue that were fitted. */
  readonly options: readonly string[]
}

const exteriorColours = [
  'Glacier White (040)',
  'Midnight Black (202)',
  'Silver Dust (1F7)',
  'Ocean Blue (8X8)',
  'Ember Red (3T3)',
  'Desert Bronze (4V6)',
]
const interiorColours = ['Black', 'Beige', 'Grey', 'Saddle brown']

/** Always the same for a VIN. */
export function findFactoryBuild(
  vin: string,
  { options }: CatalogueVehicle,
  year: number,
): FactoryBuild {
  const text = plainVin(vin)
  const draw = (what: string, choices: number) => hash32(`${what} of ${text}`) % choices
  const months = draw('build month', 14) - 2
  return {
    buildMonth: new Date(Date.UTC(year, months)).toISOString().slice(0, 7),
    exteriorColour: exteriorColours[draw('exterior', exteriorColours.length)]!,
    interiorColour: interiorColours[draw('interior', interiorColours.length)]!,
    isGccSpec: isGccSpec(vin),
    options: options.filter((option) => draw(`option ${option}`, 5) < 3),
  }
}

/** False for a GCC vehicle that the factory built for another market: about one VIN in eight. */
export function isRegionalSpec(
  { region }: CatalogueVehicle,
  vin: string | null | undefined,
): boolean {
  return region !== 'GCC' || typeof vin !== 'string' || isGccSpec(vin)
}

function isGccSpec(vin: string): boolean {
  return hash32(`specification of ${plainVin(vin)}`) % 8 !== 0
}

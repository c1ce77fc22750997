import { type CatalogueModel, catalogueModels } from './catalogue-models.ts'
import type { Region } from './world-types.ts'

/** A vehicle that can be decoded, chosen and priced. */
export interface CatalogueVehicle {
  /** 13 characters [A §8]. */
  readonly adcode: string
  /** The US provider's id of the style. */
  readonly styleId: string
  readonly region: Region
  readonly make: string
  readonly model: string
  readonly variant: string
  readonly series: string
  readonly body: string
  readonly fuel: string
  readonly engine: string
  readonly transmission: string
  readonly drivetrain: string
  /** null = electric. */
  readonly cylinders: number | null
  /** null = electric. */
  readonly engineLitres: number | null
  readonly firstYear: number
  readonly lastYear: number
  /** In the region's currency: AUD, USD, AED. */
  readonly newPrice: number
  /** Factory options that it may have. */
  readonly options: readonly string[]
}

/** Every vehicle, by region and model. Make, model and variant are unique within a region. */
export const catalogue: readonly CatalogueVehicle[] = catalogueModels.flatMap(vehiclesOf)

/** A vehicle by its catalogue code, in upper case. */
export function vehicleByCode(adcode: string): CatalogueVehicle | undefined {
  return catalogue.find((vehicle) => vehicle.adcode === adcode)
}

/** The text of an option: make, model and variant, after the year where one is given. */
export function describe({ make, model, variant }: CatalogueVehicle, year?: number): string {
  return `${year === undefined ? '' : `${year} `}${make} ${model} ${variant}`
}

/** The newest model year of a vehicle whose year is unknown. */
export function lastSoldYear({ firstYear, lastYear }: CatalogueVehicle, now: Date): number {
  return Math.max(firstYear, Math.min(lastYear, now.getUTCFullYear()))
}

function vehiclesOf(entry: CatalogueModel, index: number): CatalogueVehicle[] {
  const { badge, build, drive, sold, options, variants } = entry
  const { stem, ...name } = badge
  return variants.map(([variant, newPrice, differences], at) => ({
    ...{ ...name, ...build, ...drive, ...sold, ...differences },
    variant,
    newPrice,
    options,
    adcode: `${name.region.slice(0, 2)}0${stem}0${at + 1}`,
    styleId: String(410_000 + index * 100 + at),
  }))
}

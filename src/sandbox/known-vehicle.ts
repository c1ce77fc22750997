import { catalogue, type CatalogueVehicle, lastSoldYear } from './catalogue.ts'
import { sampleOf } from './decode-vin.ts'
import { fieldsAt } from './lifecycle.ts'
import type { World } from './world.ts'

/** A vehicle and its model year. */
export interface KnownVehicle {
  readonly vehicle: CatalogueVehicle
  readonly year: number
}

/** The vehicle of the VIN according to its evaluations, so that both services describe the same vehicle; undefined for samples. */
export function findKnownVehicle(vin: string, world: World, now: Date): KnownVehicle | undefined {
  if (sampleOf(vin) !== undefined) return undefined
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

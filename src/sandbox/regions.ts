import type { Region } from './world-types.ts'

const kmInMile = 1.609_344

/** Kilometres per odometer unit: US odometers are in miles. */
export function kmPerUnit(region: Region): number {
  return region === 'US' ? kmInMile : 1
}

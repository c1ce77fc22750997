import type { Region } from './world-types.ts'

const kmInMile = 1.609_344

/** Kilometres in the unit of an odometer: those of the US read miles. */
export function kmPerUnit(region: Region): number {
  return region === 'US' ? kmInMile : 1
}

import type { DistanceUnit } from '../../../../values/distance-unit.ts'
import type { Market } from '../../read/csv-file.ts'

/** The rooftop's defaults for what the file does not state. */
export interface TypingOptions {
  readonly market: Market
  /** ISO 4217 of the rooftop. */
  readonly currency: string
  /** The rooftop's unit; default: miles in the US, else km. */
  readonly odometerUnit?: DistanceUnit
  /** `YYYY-MM-DD`: decides two-digit years and which dates are in the future. */
  readonly today: string
}

/** The last model year that a list can have. */
export function lastModelYear({ today }: Pick<TypingOptions, 'today'>): number {
  return Number(today.slice(0, 4)) + 2
}

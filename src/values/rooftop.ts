import type { DistanceUnit } from './distance-unit.ts'

/** A rooftop as the warehouse knows it: the config's entry with its surrogate keys. */
export interface RooftopRow {
  readonly id: number
  readonly groupId: number
  readonly uid: string
  readonly name: string
  readonly dealerId: number | null
  readonly keyName: string
  readonly region: 'AU' | 'US' | 'GCC'
  readonly timeZone: string
  readonly currency: string
  readonly odometerUnit: DistanceUnit
}

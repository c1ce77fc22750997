import type { JsonPath } from '../../values/json-path.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

/** A read of a record. */
export interface Reading {
  readonly id: number
  readonly record: unknown
}

/** A setting whose field newer records do not have, though most earlier ones had it. */
export interface MovedField {
  readonly setting: string
  /** Where it probably is now; several: one of them; none: not known. */
  readonly paths: readonly string[]
  /** Counts and rules, never a value. */
  readonly evidence: string
  /** Records that were read before and after. */
  readonly records: readonly number[]
}

/** Fields whose names the documents leave open. */
export interface NamedFields {
  /** The settings, as they are named below `wire`. */
  settings(wire: AppraisalWire): Readonly<Record<string, JsonPath>>
  isFilled(record: unknown, path: JsonPath): boolean
  /** The ids of the newest records of a rooftop. */
  readNewest(db: Db, rooftopId: number, most: number): Promise<number[]>
  /** What moved, of these settings, by reads of records, the oldest first. */
  findMoved(
    readings: readonly Reading[],
    settings: Readonly<Record<string, JsonPath>>,
    wire: AppraisalWire,
  ): Promise<readonly MovedField[]>
}

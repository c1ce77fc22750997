import type { RememberedMapping } from '../../csv/map/column-mapping.ts'
import { type Field, fields } from '../../csv/map/stock-fields.ts'
import { headerFingerprint } from '../../csv/map/fingerprint.ts'
import { fieldOfExtra, unitColumns } from './columns.ts'

/**
 * The mapping of a re-imported priced list, for the names before `priceColumns`: certain for any values.
 * null: not a priced list. A list in miles has the original reading in `odometer`.
 */
export function exportedListMapping(names: readonly string[]): RememberedMapping | null {
  const trimmed = names.map((name) => name.trim())
  const units = Object.entries(unitColumns)
  if (!units.every(([name], at) => trimmed[at] === name)) return null
  const hasReading = trimmed.includes('odometer', units.length)
  const known = units.map(([, field]) => (field === 'odometer' && hasReading ? null : field))
  const extras = trimmed.slice(units.length).map((name) => fieldOfExtra(name) ?? null)
  return exactMapping(names, [...known, ...extras])
}

/** The mapping of a file that Forecourt wrote: its columns hold these fields, and no others. */
export function exactMapping(
  names: readonly string[],
  columns: readonly (Field | null)[],
): RememberedMapping {
  const absent = fields.filter((field) => !columns.includes(field))
  return { fingerprint: headerFingerprint(names, names.length), columns, absent }
}

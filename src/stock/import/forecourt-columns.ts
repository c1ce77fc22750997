import type { RememberedMapping } from '../../csv/map/column-mapping.ts'
import { type Field, fields } from '../../csv/map/stock-fields.ts'
import { countAppended, priceColumns } from '../export/columns.ts'
import { exportedListMapping, exactMapping } from '../export/exported-mapping.ts'

/** The columns that a rejects file has after the dealer's columns. */
export const rejectColumns = ['_line', '_errors'] as const

/** How many columns at the end of a file Forecourt added. They are ignored, so the file maps like the dealer's original. */
export function countForecourtColumns(names: readonly string[]): number {
  const rejects = suffixLength(names, rejectColumns)
  const before = names.slice(0, names.length - rejects)
  return rejects + (countAppended(before) || suffixLength(before, priceColumns))
}

/** The names that a rejects file uses when the dealer's file has no header. */
export function placeholderNames(
  columns: readonly { readonly index: number; readonly field: Field | null }[],
): readonly string[] {
  return columns.map(({ field, index }) => field ?? `column ${index + 1}`)
}

/** The mapping of a file that Forecourt wrote, by all its names; null for a dealer's file. */
export function forecourtMapping(all: readonly string[]): RememberedMapping | null {
  const names = all.slice(0, all.length - countForecourtColumns(all))
  const list = exportedListMapping(names)
  if (list || suffixLength(all, rejectColumns) === 0) return list
  const columns = names.map((name) => fields.find((field) => field === name) ?? null)
  const isMade = placeholderNames(columns.map((field, index) => ({ field, index }))).every(
    (name, index) => name === names[index],
  )
  return isMade ? exactMapping(names, columns) : null
}

/** The length of `suffix` if the names end with it, else 0. */
export function suffixLength(names: readonly string[], own: readonly string[]): number {
  const last = names.slice(-own.length)
  return own.every((name, index) => last[index]?.trim() === name) ? own.length : 0
}

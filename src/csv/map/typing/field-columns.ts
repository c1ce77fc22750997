import type { ColumnMapping, Mapping } from '../column-mapping.ts'
import { type Field, isStockField } from '../stock-fields.ts'

/** The column that holds a field. */
export interface FieldColumn {
  readonly index: number
  /** For issues: the header, or `#3`. */
  readonly header: string
  readonly column: ColumnMapping
}

/** The column of each field that typing reads. */
export type FieldColumns = Partial<Record<Field, FieldColumn>> & { readonly hasHeader: boolean }

/** The columns of a mapping by field. */
export function fieldColumnsOf(mapping: Mapping): FieldColumns {
  const places = mapping.columns
    .filter(({ field }) => field !== null)
    .map((column) => [column.field, placeOf(column)] as const)
  return {
    ...(Object.fromEntries(places) as Partial<Record<Field, FieldColumn>>),
    hasHeader: mapping.hasHeader,
  }
}

function placeOf(column: ColumnMapping): FieldColumn {
  return { index: column.index, header: column.header ?? `#${column.index + 1}`, column }
}

/** The mapped columns without a column of their own in the warehouse. */
export function extraColumns(mapping: Mapping): { readonly index: number; readonly name: Field }[] {
  return mapping.columns.flatMap(({ field, index }) =>
    field !== null && !isStockField(field) && field !== 'row_index' ? [{ index, name: field }] : [],
  )
}

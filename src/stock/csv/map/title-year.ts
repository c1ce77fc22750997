import type { ColumnMapping } from './column-mapping.ts'
import { hasTitleYear } from './typing/description.ts'

/** The column whose titles give the model year, because no column has it; null: none. A title is read only where make or model is missing. */
export function findYearTitle(columns: readonly ColumnMapping[]): ColumnMapping | null {
  const has = (field: ColumnMapping['field']) => columns.some((column) => column.field === field)
  if (has('model_year') || (has('make') && has('model'))) return null
  const title = columns.find(({ field }) => field === 'title_combined')
  return title?.samples.some(hasTitleYear) ? title : null
}

import type { CsvRecord } from '../read/csv-file.ts'
import { columnName } from './candidates.ts'
import type { ColumnMapping, Mapping, MappingQuestion } from './column-mapping.ts'
import { notOnHandTest, soldBy } from './typing/not-on-hand.ts'
import { plainText } from './typing/plain-text.ts'
import { isSoldText } from './typing/sold-words.ts'

/**
 * Asks about columns by which vehicles of the sample appear to be sold, unless a person has answered before: those called Sold or
 * Available, and any other without a field of the stock whose cells say so. A column called Status says so itself.
 */
export function soldQuestions(
  mapping: Mapping,
  sample: readonly CsvRecord[],
): readonly MappingQuestion[] {
  const { columns, absent } = mapping
  const isVehicle = notOnHandTest({
    ...mapping,
    absent: [...absent, 'sold'],
    columns: withoutSold(columns),
  })
  const rows = sample.filter(
    (record) =>
      isVehicle(record) === null &&
      record.problem?.repaired !== false &&
      record.soldTitle === undefined,
  )
  const isAnswered =
    absent.includes('sold') ||
    absent.includes('status') ||
    columns.some(({ field }) => field === 'sold')
  return columns.flatMap((column) => {
    const { index, field, source } = column
    const isNamed = field === 'sold' || field === 'available'
    if (isNamed ? source !== 'header' : isAnswered || !mayHide(column)) return []
    const says = isNamed ? soldBy[field] : isSoldText
    const texts = rows
      .map(({ cells }) => plainText(cells[index] ?? ''))
      .filter((text) => text !== '' && says(text, column.header ?? ''))
    if (texts.length === 0) return []
    const name = columnName(column, columns)
    const message = `${texts.length} of ${rows.length} vehicles appear to be sold, by the column "${name}" ("${texts[0]!.slice(0, 40)}"). If so, they are not stock on hand.`
    return [{ code: 'MAYBE_SOLD', message, maps: [`${isNamed ? field : 'sold'}=${name}`] }]
  })
}

const texts: readonly ColumnMapping['field'][] = [
  null,
  'notes',
  'condition',
  'location',
  'title_combined',
]

/** Whether a column may say it beside something else. */
function mayHide({ field, header }: ColumnMapping): boolean {
  return header !== null && texts.includes(field)
}

function withoutSold(columns: readonly ColumnMapping[]): readonly ColumnMapping[] {
  return columns.map((column) =>
    column.field === 'sold' || column.field === 'available' ? { ...column, field: null } : column,
  )
}

import type { CsvRecord } from '../read/csv-file.ts'
import { columnName } from './candidates.ts'
import type { ColumnMapping, Mapping, MappingQuestion } from './column-mapping.ts'
import { notOnHandTest, soldBy } from './typing/not-on-hand.ts'
import { isPlaceholder, plainText } from './typing/plain-text.ts'
import { isSaleTrace, isSoldCell, isSoldText, mayHaveLeft } from './typing/sold-words.ts'

/**
 * Asks about columns by which vehicles of the sample appear to be sold, unless a person has answered before: those called Sold or
 * Available, any other without a field of the stock whose cells say so, and those that only sold vehicles have, as Customer or Deal No,
 * where most cells are empty. A column called Status says so itself, except in words such as Withdrawn, which are asked about too.
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
      record.soldTitle === undefined &&
      record.isStruck !== true,
  )
  const isAnswered =
    absent.includes('sold') ||
    absent.includes('status') ||
    columns.some(({ field }) => field === 'sold')
  const isStatusAnswered =
    absent.includes('status') ||
    absent.includes('available') ||
    columns.some(({ field }) => field === 'available')
  return columns.flatMap((column) => {
    const { index, field, source } = column
    if (field === 'status') return isStatusAnswered ? [] : statusQuestion(column, columns, rows)
    const isNamed = field === 'sold' || field === 'available'
    if (!isNamed && !isAnswered && isTrace(column)) return traceQuestion(column, columns, rows)
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

/** Asks about words by which vehicles may be for sale no longer. */
function statusQuestion(
  column: ColumnMapping,
  columns: readonly ColumnMapping[],
  rows: readonly CsvRecord[],
): MappingQuestion[] {
  const texts = rows
    .map(({ cells }) => plainText(cells[column.index] ?? ''))
    .filter((text) => mayHaveLeft(text, column.header ?? ''))
  if (texts.length === 0) return []
  const name = columnName(column, columns)
  const message = `${texts.length} of ${rows.length} vehicles may be for sale no longer, by the column "${name}" ("${texts[0]!}"). If so, they are not stock on hand.`
  return [{ code: 'MAYBE_SOLD', message, maps: [`available=${name}`] }]
}

/** Whether only sold vehicles have it, unless a column says itself what is sold. */
function isTrace({ field, source, header }: ColumnMapping): boolean {
  const isOpen = field === null || (field === 'received_date' && source === 'header')
  return isOpen && isSaleTrace(header ?? '')
}

/** Asks where at most half of the vehicles have a value. */
function traceQuestion(
  column: ColumnMapping,
  columns: readonly ColumnMapping[],
  rows: readonly CsvRecord[],
): MappingQuestion[] {
  if (columns.some(({ field }) => field === 'status' || field === 'available')) return []
  const texts = rows
    .map(({ cells }) => plainText(cells[column.index] ?? ''))
    .filter((text) => !isPlaceholder(text, null) && isSoldCell(text, column.header!))
  if (texts.length === 0 || texts.length * 2 > rows.length) return []
  const name = columnName(column, columns)
  const message = `${texts.length} of ${rows.length} vehicles have something in the column "${name}" ("${texts[0]!.slice(0, 40)}"), as sold ones have. If they are sold, they are not stock on hand.`
  return [{ code: 'MAYBE_SOLD', message, maps: [`sold=${name}`] }]
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

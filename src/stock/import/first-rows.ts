import { cellSamples } from '../csv/map/candidates.ts'
import type { CellReading, Mapping, ReadingChoice } from '../csv/map/column-mapping.ts'
import { parseOverrides } from '../csv/map/overrides.ts'
import { type Field, stockColumns } from '../csv/map/stock-fields.ts'
import { cellReader } from '../csv/map/typing/cell-numbers.ts'
import { startStyles } from '../csv/map/typing/column-styles.ts'
import { rowTyper } from '../csv/map/typing/row.ts'
import type { CellIssue, TypedRow } from '../csv/map/typing/typed-row.ts'
import { type OpenList, sampleRows } from './open-list.ts'
import type { ImportRequest } from './request.ts'
import { typingOptions } from './type-rows.ts'
import { fitToColumns } from './unit-columns.ts'

/** The first rows of a list as they would be typed. */
export interface ListPreview {
  /** What any of them has. */
  readonly columns: readonly Field[]
  readonly rows: readonly {
    readonly line: number
    /** By column; empty: the row is rejected or passed over. */
    readonly cells: readonly string[]
    /** Why it is, or what is doubtful about it. */
    readonly notes: readonly Pick<CellIssue, 'column' | 'hint'>[]
  }[]
}

/** What a person sees of a list to judge how its columns are read. */
export interface FirstRows {
  /** Different cells of each column, by its index. */
  readonly samples: readonly (readonly string[])[]
  readonly preview: ListPreview
  /** The sheets of a workbook with several. */
  readonly sheets: readonly string[]
  readonly sheet: string | null
}

const maxSamples = 5
const maxRows = 10

/** The first rows of a list. What a question proposes is taken as answered. */
export function firstRows(list: OpenList, request: ImportRequest, mapping: Mapping): FirstRows {
  const proposed = buildProposals(mapping)
  const taken = new Set([...proposed.values()].map(({ field }) => field))
  const columns = mapping.columns.map((column) => {
    const chosen = column.field === null || taken.has(column.field) ? null : column.field
    return { ...column, field: chosen, ...proposed.get(column.index) }
  })
  const cells = sampleRows(list)
  const { origin, sheets = [] } = list.csv
  return {
    ...{ sheets: sheetsWith(sheets, origin?.sheet ?? null), sheet: origin?.sheet ?? null },
    samples: columns.map(({ index }) =>
      cellSamples({ cells: cells.map((row) => row[index] ?? '') }, maxSamples),
    ),
    preview: buildPreview(typedRows(list, request, { ...mapping, columns })),
  }
}

/** The sheets to choose from; the one that was read may be hidden, or several together. */
function sheetsWith(sheets: readonly string[], read: string | null): readonly string[] {
  const all = [...new Set([...sheets, ...(read === null ? [] : [read])])]
  return all.length > 1 ? all : []
}

type NumberedRow = TypedRow & { readonly line: number }

function typedRows(
  { sample, width }: OpenList,
  request: ImportRequest,
  mapping: Mapping,
): NumberedRow[] {
  const evidence = startStyles(mapping, typingOptions(request))
  for (const record of sample) evidence.observe(record)
  const styles = evidence.styles()
  const [type, read] = [rowTyper(mapping, styles), cellReader(mapping, styles)]
  return sample
    .filter(({ problem }) => problem?.code !== 'blank-row')
    .slice(0, maxRows)
    .map((record) => {
      const { line } = record
      const typed = type(read({ ...record, cells: record.cells.slice(0, width) }))
      return { ...fitToColumns(typed, line), line }
    })
}

function buildPreview(rows: readonly NumberedRow[]): ListPreview {
  const names = Object.entries(stockColumns) as [Field, string][]
  const textOf = ({ unit }: TypedRow, column: string) =>
    valueText((unit as Readonly<Record<string, unknown>> | null)?.[column])
  const shown = names.filter(([, column]) => rows.some((row) => textOf(row, column) !== ''))
  return {
    columns: shown.map(([field]) => field),
    rows: rows.map((row) => ({
      line: row.line,
      cells: row.unit === null ? [] : shown.map(([, column]) => textOf(row, column)),
      notes: row.issues
        .filter(({ severity }) => row.unit === null || severity === 'warning')
        .map(({ column, hint }) => ({ column, hint })),
    })),
  }
}

/** Amounts without the zeros behind them. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return String(value).replace(/^(\d+)\.0+$|^(\d+\.\d*?[1-9])0+$/, '$1$2')
}

/** What a question proposes for a column. */
export interface Proposal {
  readonly field: Field
  readonly readings: readonly CellReading[]
  readonly choices: readonly ReadingChoice[]
}

/** What the questions propose, by index of the column. */
export function buildProposals({ columns, questions, hasHeader }: Mapping): Map<number, Proposal> {
  const names = hasHeader ? columns.map(({ header }) => header ?? '') : null
  return new Map(
    questions.flatMap(({ maps, readings: choices = [] }) => {
      const { columns: fields, readings } = parseOverrides(maps, names, columns.length)
      return [...fields].map(([index, field]): [number, Proposal] => [
        index,
        { field, readings: readings.get(field) ?? [], choices },
      ])
    }),
  )
}

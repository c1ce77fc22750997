import type { ColumnMapping, Mapping } from '../column-mapping.ts'
import { type Field, isStockField } from '../stock-fields.ts'
import { isExcelError, isPlaceholder, notCalculated, plainText } from './plain-text.ts'
import type { CellIssue, Finding, TypableRecord, Typed } from './typed-row.ts'

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
export function findFieldColumns(mapping: Mapping): FieldColumns {
  const places = mapping.columns
    .filter(({ field }) => field !== null)
    .map((column) => [column.field, fieldColumn(column)] as const)
  return {
    ...(Object.fromEntries(places) as Partial<Record<Field, FieldColumn>>),
    hasHeader: mapping.hasHeader,
  }
}

function fieldColumn(column: ColumnMapping): FieldColumn {
  return { index: column.index, header: column.header ?? `#${column.index + 1}`, column }
}

/** The mapped columns without a column of their own in the warehouse. */
export function extraColumns(mapping: Mapping): { readonly index: number; readonly name: Field }[] {
  return mapping.columns.flatMap(({ field, index }) =>
    field !== null && !isStockField(field) && field !== 'row_index' ? [{ index, name: field }] : [],
  )
}

const none: readonly CellIssue[] = []

type RowFinding = Pick<CellIssue, 'code' | 'severity' | 'hint' | 'advice'>

/** The cells of one record by field, and the issues found in them. */
export class RowNotes {
  readonly #record: TypableRecord
  readonly #layout: FieldColumns
  #issues: CellIssue[] | null = null

  constructor(record: TypableRecord, layout: FieldColumns) {
    this.#record = record
    this.#layout = layout
  }

  get issues(): readonly CellIssue[] {
    return this.#issues ?? none
  }

  hasError(): boolean {
    return this.#issues?.some(({ severity }) => severity === 'error') ?? false
  }

  /** The column of a field; undefined for none. */
  place(field: Field): FieldColumn | undefined {
    return this.#layout[field]
  }

  /** The plain text of a field's cell; null when it holds nothing, or the file has no such column. */
  text(field: Field): string | null {
    const place = this.#layout[field]
    const cell = place === undefined ? undefined : this.#record.cells[place.index]
    if (cell === undefined || cell === '') return null
    const text = plainText(cell)
    if (isPlaceholder(text, field)) return null
    if (!isExcelError(text)) return text
    this.excelError(field, text)
    return null
  }

  /** Notes that the cell of a field has an error of Excel instead of a value. */
  excelError(field: Field, text: string): void {
    const hint = text === notCalculated ? notCalculatedHint : excelHint
    const { header } = this.#layout[field]!
    // Some fields are read twice.
    if (this.issues.some(({ code, column }) => code === 'EXCEL_ERROR' && column === header)) return
    this.cell(field, { code: 'EXCEL_ERROR', severity: 'warning', hint })
  }

  /** The text of a cell that holds a name; a longer text is prose in the wrong column. */
  name(field: Field): string | null {
    const text = this.text(field)
    if (text === null || text.length <= longestName) return text
    this.cell(field, { code: 'constraint-error', severity: 'warning', hint: tooLong })
    return null
  }

  /** The value of a typed cell; its issues are added. */
  take<Value>(field: Field, typed: Typed<Value>): Value | null {
    for (const finding of typed.findings) this.cell(field, finding)
    return typed.value
  }

  cell(field: Field, finding: Finding): void {
    const place = this.#layout[field]!
    this.#add(finding, place.header, this.#record.cells[place.index] ?? '')
  }

  row(finding: RowFinding): void {
    this.#add(finding, null, '')
  }

  #add(finding: RowFinding, column: string | null, text: string) {
    this.#issues ??= []
    this.#issues.push({ ...finding, line: this.#record.line, column, text })
  }
}

const longestName = 200
const tooLong = `a name of more than ${longestName} characters was left out: is this the right column?`
const notCalculatedHint =
  'the formula has no value, because the program that wrote the workbook does not calculate: open it in Excel, save it, and import it again'
const excelHint = 'Excel wrote an error instead of the value: correct the cell and export again'

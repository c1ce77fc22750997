import type { TypedRow } from '../../csv/map/typing/stock-row.ts'
import type { CsvRecord, ProblemCode } from '../../csv/read/csv-file.ts'
import { countAppended, priceColumns } from '../export/columns.ts'
import { suffixLength, rejectColumns } from './forecourt-columns.ts'

/** Errors of a record that its cells no longer show once they were exported, one in each column. */
const recordErrors: readonly string[] = [
  'missing-cell',
  'extra-cell',
  'truncated-value',
  'stray-quote',
  'encoding-error',
]
const errorIn = new RegExp(`\\((${recordErrors.join('|')})\\)`)
const countIn = /(\d{1,9}) cells? where the file has \d{1,9} columns/

/** Whether a row with this error code is accepted again only after its error cell is emptied, or its cells are filled in. */
export function isRecordFault(code: string): boolean {
  return recordErrors.includes(code)
}

/** The result of an earlier import or export, read from the columns that Forecourt added to the file. */
export interface EarlierResult {
  /** The record with the error of the earlier import, until it is corrected. */
  withEarlierError(record: CsvRecord): CsvRecord
  /** The skipped row of a vehicle that was not in stock when the list was exported; null: it was. */
  notInStock(record: CsvRecord): TypedRow | null
}

/** null: the file has no columns that Forecourt added. `width`: number of the dealer's columns. */
export function earlierResult(names: readonly string[], width: number): EarlierResult | null {
  const last = names.length - 1
  const hasErrors = suffixLength(names, rejectColumns) > 0 || countAppended(names) > 0
  if (hasErrors)
    return {
      withEarlierError: (record) =>
        withError(record, { at: last, name: names[last]!.trim(), width }),
      notInStock: () => null,
    }
  if (suffixLength(names, priceColumns) === 0) return null
  const status = names.length - priceColumns.length + priceColumns.indexOf('status')
  return {
    withEarlierError: (record) => record,
    notInStock: (record) => notInStock(record, status),
  }
}

interface ErrorColumn {
  readonly at: number
  readonly name: string
  readonly width: number
}

function withError(record: CsvRecord, { at, name, width }: ErrorColumn): CsvRecord {
  const text = record.cells[at] ?? ''
  const code = errorIn.exec(text)?.[1] as ProblemCode | undefined
  if (record.problem?.repaired === false || code === undefined) return record
  const count = countIn.exec(text)
  const cells = record.cells.slice(0, width)
  // The missing cells were filled in.
  if (code === 'missing-cell' && count && cells.slice(Number(count[1])).some(isFilled))
    return record
  if (code === 'encoding-error' && !cells.some((cell) => cell.includes('\uFFFD'))) return record
  const found = count?.[0] ?? 'an error that its cells no longer show'
  const message = `an earlier import rejected the row for ${found}: complete its cells, then empty its cell of "${name}"`
  return { ...record, problem: { code, message, repaired: false } }
}

function isFilled(cell: string): boolean {
  return cell.trim() !== ''
}

function notInStock({ line, cells }: CsvRecord, column: number): TypedRow | null {
  const text = cells[column]?.trim() ?? ''
  if (text !== 'off_stock' && text !== 'missing') return null
  const hint = 'not in stock when the list was exported: empty the cell if it is now'
  const issue = {
    code: 'not-in-stock',
    severity: 'info',
    line,
    column: 'status',
    text,
    hint,
  } as const
  return { status: 'skipped', unit: null, key: { stockNo: null, vin: null }, issues: [issue] }
}

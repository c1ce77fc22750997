import { sql } from 'kysely'
import { queryPages } from '../../warehouse/db/query-pages.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { plainText } from '../csv/map/typing/plain-text.ts'
import { errorTexts, issueText, type StoredIssue } from '../csv/map/typing/typed-row.ts'
import { typeVin } from '../csv/map/typing/vehicle-keys.ts'
import { readCells } from '../csv/read/read-cells.ts'
import { type CsvStyle, csvText } from '../csv/write/csv-text.ts'
import { escapeFormula, isFormulaLike } from '../csv/write/escape-formula.ts'
import { appendedColumns, appendedNames, countAppended, problemCell } from '../own-columns.ts'
import {
  instantText,
  type PricedUnit,
  priceCells,
  pricedUnits,
  priceStatus,
} from './priced-unit.ts'
import type { StoredFile } from './stored-file.ts'

/** How an uploaded file is exported. */
interface OriginalOptions {
  readonly rooftopId: number
  /** null: the delimiter of the upload. */
  readonly delimiter: string | null
  /** Writes cells unchanged, formulas too. */
  readonly raw: boolean
}

interface ImportRow extends PricedUnit {
  readonly row_status: 'accepted' | 'rejected' | 'collapsed' | 'skipped'
  /** null: the row has no unit, or its unit no longer exists. */
  readonly stock_no: string | null
  readonly issues: readonly StoredIssue[]
  readonly cells: readonly string[]
}

/** A page of an export. */
export type Records = readonly (readonly string[])[]

/** A page as text. */
export interface TextPage {
  readonly text: string
  /** Without the header. */
  readonly rows: number
}

/**
 * The rows of an uploaded file with prices appended: every row once, in their order. Prices that an earlier
 * export appended are replaced. Surplus cells of a row come last.
 */
export async function* originalRecords(
  db: Db,
  file: StoredFile,
  options: Pick<OriginalOptions, 'rooftopId' | 'raw'>,
): AsyncGenerator<Records> {
  const safe = options.raw ? (cell: string) => cell : escapeFormula
  const width = originalWidth(file)
  const query = sql<ImportRow>`
    select row.status as row_status, row.issues, row.cells, priced.*
    from core.stock_import_row as row
    left join (${pricedUnits(options.rooftopId)}) as priced on priced.stock_no = row.stock_no and row.status in ('accepted', 'collapsed')
    where row.import_id = ${file.importId} order by row.line_no`
  for await (const page of queryPages(db, query))
    yield page.map((row) => {
      const originals = fitted(row.cells, width).map(safe)
      const tooMany = row.cells.slice(file.width).map(safe)
      return [...originals, ...priceRecord(row, file.vinColumn, safe), ...tooMany]
    })
}

/** The same as text, with the preamble and the header. */
export async function* originalWithPrices(
  db: Db,
  file: StoredFile,
  options: OriginalOptions,
): AsyncGenerator<TextPage> {
  const style = fileStyle(file, options)
  yield { text: headText(file, style, options), rows: 0 }
  for await (const records of originalRecords(db, file, options))
    yield { text: csvText(records, style), rows: records.length }
}

/** The dealer's columns, without those that an earlier export appended. */
export function originalWidth({ headerRows, width }: StoredFile): number {
  return width - countAppended((headerRows.at(-1) ?? []).slice(0, width))
}

function fileStyle(file: StoredFile, { delimiter }: OriginalOptions): CsvStyle {
  const { quote } = file
  // Apostrophes count as quotes only if all cells have them.
  return {
    delimiter: delimiter ?? file.delimiter,
    quote,
    quotesAll: quote === "'",
    lineEnd: '\r\n',
  }
}

/** Exactly `width` cells. */
function fitted(cells: readonly string[], width: number): readonly string[] {
  return Array.from({ length: width }, (_, at) => cells[at] ?? '')
}

/** Everything above the records. */
function headText(file: StoredFile, style: CsvStyle, { raw }: OriginalOptions): string {
  const isAsBefore = style.delimiter === file.delimiter
  const preamble = file.preamble.map((line) => {
    const cells = preambleCells(line, file)
    const isSafe = raw || !cells.some(isFormulaLike)
    if (line === '' || (isAsBefore && isSafe)) return line + style.lineEnd
    return csvText([raw ? cells : cells.map(escapeFormula)], style)
  })
  const names = headerRecords(file)
  const header = csvText(raw ? names : names.map((row) => row.map(escapeFormula)), style)
  const hint = file.sepLine ? [`sep=${style.delimiter}${style.lineEnd}`] : []
  return [...hint, ...preamble, header].join('')
}

/** The cells of a line above the header. */
export function preambleCells(line: string, file: StoredFile): readonly string[] {
  const dialect = {
    ...{ delimiter: file.delimiter, quote: file.quote, escape: file.quote },
    ...{ sepLine: false, lineEnd: 'LF' as const },
  }
  return readCells(line, dialect).cells
}

/** The rows of the header, with the names of the appended columns in the last one. */
export function headerRecords(file: StoredFile): Records {
  const width = originalWidth(file)
  const last = file.headerRows.length - 1
  const appended = appendedNames((file.headerRows[last] ?? []).slice(0, width))
  return file.headerRows.map((names, row) => {
    const added = row === last ? appended : appended.map(() => '')
    return [...fitted(names, width), ...added, ...names.slice(file.width)]
  })
}

/** The appended cells of a row. */
function priceRecord(
  row: ImportRow,
  vinColumn: number,
  safe: (cell: string) => string,
): readonly string[] {
  const isOwn = row.stock_no !== null && isSameVehicle(row, vinColumn)
  const { status, message } = rowStatus(row, isOwn)
  const problem = status === 'rejected' ? problemCell(row.issues) : ''
  const appended = [problem, status, safe(message.replaceAll(/\s+/g, ' '))]
  if (!isOwn) return [...appendedColumns.slice(appended.length).map(() => ''), ...appended]
  return [
    ...priceCells(row),
    row.price_currency ?? '',
    instantText(row.priced_at),
    safe(row.unit_adcode ?? row.decoded_adcode ?? ''),
    String(row.eval_id ?? ''),
    ...appended,
  ]
}

/** Whether the row's VIN is the unit's. Stock numbers are reused, so an old row may belong to another vehicle. */
function isSameVehicle({ cells, unit_vin: vin }: ImportRow, vinColumn: number): boolean {
  const cell = cells[vinColumn]
  if (vin === null || cell === undefined) return true
  const cellVin = typeVin(plainText(cell)).value?.vin ?? null
  return cellVin === null || cellVin === vin
}

function rowStatus(row: ImportRow, isOwn: boolean) {
  if (row.row_status === 'rejected')
    return { status: 'rejected', message: errorTexts(row.issues).join('; ') }
  if (row.row_status === 'skipped') {
    const reasons = row.issues.filter(({ severity }) => severity === 'info')
    return { status: 'skipped', message: reasons.map(issueText).join('; ') }
  }
  if (row.stock_no === null) return { status: 'unknown', message: 'its unit is unknown' }
  if (!isOwn)
    return { status: 'replaced', message: 'its stock number now belongs to another vehicle' }
  if (row.row_status === 'collapsed')
    return { status: 'collapsed', message: 'repeats another row of the file' }
  return priceStatus(row)
}

import type pg from 'pg'
import { z } from 'zod'
import { plainText } from '../../csv/map/typing/plain-text.ts'
import { typeVin } from '../../csv/map/typing/vehicle-keys.ts'
import { readCells } from '../../csv/read/read-cells.ts'
import { type CsvStyle, csvText } from '../../csv/write/csv-text.ts'
import { escapeFormula, isFormulaLike } from '../../csv/write/escape-formula.ts'
import { queryPages } from '../../db/query-pages.ts'
import { UsageError } from '../../errors.ts'
import { appendedColumns, appendedNames, countAppended, problemCell } from '../own-columns.ts'
import {
  instantText,
  priceCells,
  type PricedUnit,
  pricedUnits,
  priceStatusOf,
} from './priced-unit.ts'

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
  readonly issues: readonly {
    readonly severity: string
    readonly column: string | null
    readonly code: string
    readonly hint: string
  }[]
  readonly cells: readonly string[]
}

/** One page of text of an uploaded file with its prices, and its number of rows. */
interface OriginalPage {
  readonly text: string
  readonly rows: number
}

/**
 * An uploaded file with prices appended: preamble, header and every row once, in their order. Prices that an
 * earlier export appended are replaced. Surplus cells of a row come last.
 */
export async function* originalWithPrices(
  client: pg.ClientBase,
  file: StoredFile,
  options: OriginalOptions,
): AsyncGenerator<OriginalPage> {
  const style = styleOf(file, options)
  const safe = options.raw ? (cell: string) => cell : escapeFormula
  const names = file.headerRows.at(-1) ?? []
  const width = file.width - countAppended(names.slice(0, file.width))
  yield { text: headText(file, style, width, options), rows: 0 }
  const query = `
    select row.status as row_status, row.issues, row.cells, priced.*
    from core.stock_import_row as row
    left join (${pricedUnits}) as priced on priced.stock_no = row.stock_no and row.status in ('accepted', 'collapsed')
    where row.import_id = $2 order by row.line_no`
  const pages = queryPages<ImportRow>(client, query, [options.rooftopId, file.importId])
  for await (const page of pages) {
    const records = page.map((row) => {
      const own = fitted(row.cells, width).map(safe)
      const tooMany = row.cells.slice(file.width).map(safe)
      return [...own, ...priceRecord(row, file.vinColumn, safe), ...tooMany]
    })
    yield { text: csvText(records, style), rows: page.length }
  }
}

function styleOf(file: StoredFile, { delimiter }: OriginalOptions): CsvStyle {
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
function headText(
  file: StoredFile,
  style: CsvStyle,
  width: number,
  { raw }: OriginalOptions,
): string {
  const dialect = {
    ...{ delimiter: file.delimiter, quote: file.quote, escape: file.quote },
    ...{ sepLine: false, lineEnd: 'LF' as const },
  }
  const isAsBefore = style.delimiter === file.delimiter
  const preamble = file.preamble.map((line) => {
    const { cells } = readCells(line, dialect)
    const isSafe = raw || !cells.some(isFormulaLike)
    if (line === '' || (isAsBefore && isSafe)) return line + style.lineEnd
    return csvText([raw ? cells : cells.map(escapeFormula)], style)
  })
  const last = file.headerRows.length - 1
  const appended = appendedNames((file.headerRows[last] ?? []).slice(0, width))
  const header = file.headerRows.map((names, row) => {
    const own = fitted(names, width).map((name) => (raw ? name : escapeFormula(name)))
    const tooMany = names.slice(file.width)
    const added = row === last ? appended : appended.map(() => '')
    return csvText([[...own, ...added, ...tooMany]], style)
  })
  const hint = file.sepLine ? [`sep=${style.delimiter}${style.lineEnd}`] : []
  return [...hint, ...preamble, ...header].join('')
}

/** The appended cells of a row. */
function priceRecord(
  row: ImportRow,
  vinColumn: number,
  safe: (cell: string) => string,
): readonly string[] {
  const isOwn = row.stock_no !== null && isSameVehicle(row, vinColumn)
  const { status, message } = rowStatusOf(row, isOwn)
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
  const own = typeVin(plainText(cell)).value?.vin ?? null
  return own === null || own === vin
}

/** The issues of a row as text; errors have their code. */
function issueText({ issues }: ImportRow, severity: 'error' | 'info'): string {
  return issues
    .filter((issue) => issue.severity === severity)
    .map(({ column, hint, code }) => {
      const text = column === null ? hint : `${column}: ${hint}`
      return severity === 'error' ? `${text} (${code})` : text
    })
    .join('; ')
}

interface RowStatus {
  readonly status: string
  readonly message: string
}

function rowStatusOf(row: ImportRow, isOwn: boolean): RowStatus {
  if (row.row_status === 'rejected') return { status: 'rejected', message: issueText(row, 'error') }
  if (row.row_status === 'skipped') return { status: 'skipped', message: issueText(row, 'info') }
  if (row.stock_no === null) return { status: 'unknown', message: 'its unit is unknown' }
  if (!isOwn)
    return { status: 'replaced', message: 'its stock number now belongs to another vehicle' }
  if (row.row_status === 'collapsed')
    return { status: 'collapsed', message: 'repeats another row of the file' }
  return priceStatusOf(row)
}

const texts = z.array(z.string())

/** How a file was written, as stored in `core.stock_import`. */
const storedFile = z.object({
  delimiter: z.string().min(1),
  dialect: z.object({ quote: z.string().nullable(), sepLine: z.boolean(), width: z.number() }),
  preamble: texts,
  header: z.object({ rowNames: z.array(texts) }).nullable(),
  mapping: z.array(z.object({ index: z.number(), field: z.string().nullable() })),
})

/** How an uploaded file was written. */
interface StoredFile {
  readonly importId: number
  readonly delimiter: string
  readonly quote: '"' | "'"
  readonly sepLine: boolean
  readonly preamble: readonly string[]
  /** The rows of the header; empty: the file has none. */
  readonly headerRows: readonly (readonly string[])[]
  /** Columns of the file. */
  readonly width: number
  /** Index of the VIN column; -1: none. */
  readonly vinColumn: number
}

/** Reads an import of the rooftop; UsageError if none has that number. */
export async function readStoredFile(
  client: pg.ClientBase,
  rooftop: { readonly id: number; readonly uid: string },
  importId: number,
): Promise<StoredFile> {
  const { rows } = await client.query(
    `select delimiter, dialect, preamble, header, mapping
     from core.stock_import where import_id = $1 and rooftop_id = $2`,
    [importId, rooftop.id],
  )
  if (rows.length === 0) throw await unknownImport(client, rooftop, importId)
  const { dialect, ...stored } = storedFile.parse(rows[0])
  return {
    importId,
    delimiter: stored.delimiter,
    quote: dialect.quote === "'" ? "'" : '"',
    sepLine: dialect.sepLine,
    preamble: stored.preamble,
    headerRows: stored.header?.rowNames ?? [],
    width: dialect.width,
    vinColumn: stored.mapping.find(({ field }) => field === 'vin')?.index ?? -1,
  }
}

async function unknownImport(
  client: pg.ClientBase,
  rooftop: { readonly id: number; readonly uid: string },
  importId: number,
): Promise<UsageError> {
  const { rows } = await client.query<{ import_id: number; file_name: string }>(
    `select import_id, file_name from core.stock_import where rooftop_id = $1 order by import_id desc limit 5`,
    [rooftop.id],
  )
  const known = rows.map((row) => `${row.import_id} (${row.file_name})`).join(', ')
  return new UsageError(
    rows.length === 0
      ? `Rooftop ${rooftop.uid} has no imported stock list: import one with "forecourt stock import <file> --rooftop ${rooftop.uid}".`
      : `Rooftop ${rooftop.uid} has no import ${importId}; its newest are: ${known}.`,
  )
}

import type { Writable } from 'node:stream'
import { sql } from 'kysely'
import type pg from 'pg'
import { queryPages } from '../../warehouse/db/query-pages.ts'
import { type Db, inTransaction, type Tx } from '../../warehouse/db/transaction.ts'
import {
  isTextColumn,
  type Mart,
  type MartColumn,
  type MartRow,
  martQuery,
  readMart,
} from '../../warehouse/marts/mart.ts'
import { parquetChunks } from '../../warehouse/parquet/chunks.ts'
import type { Field } from '../csv/map/stock-fields.ts'
import type { StockRow } from '../csv/map/typing/typed-row.ts'
import { byteOrderMark, type CsvStyle, csvText, defaultStyle } from '../csv/write/csv-text.ts'
import { escapeFormula } from '../csv/write/escape-formula.ts'
import { appendedColumns, extraColumn, listColumns, priceColumns } from '../own-columns.ts'
import { type ColumnKind, type WrittenSheet, writeWorkbook } from '../workbook/write-workbook.ts'
import {
  headerRecords,
  originalRecords,
  originalWidth,
  originalWithPrices,
  preambleCells,
  type Records,
  type TextPage,
} from './original.ts'
import { writeBytes, writeOpen, writeWhole } from './output.ts'
import {
  amountText,
  instantText,
  type PricedUnit,
  priceCells,
  pricedUnits,
  priceStatus,
} from './priced-unit.ts'
import { readStoredFile, type StoringRooftop } from './stored-file.ts'

/** The data to export. */
export type ExportSubject =
  | { readonly is: 'list'; readonly rooftop: StoringRooftop; readonly all: boolean }
  | { readonly is: 'original'; readonly rooftop: StoringRooftop; readonly importId: number }
  | { readonly is: 'mart'; readonly name: string }

/** `xlsx`: a workbook. */
export type ExportFormat = 'csv' | 'xlsx' | 'parquet'

/** The options of one export. */
export interface ExportRequest {
  readonly subject: ExportSubject
  readonly format: ExportFormat
  /** Of text. null: the delimiter of the upload, else a comma. */
  readonly delimiter: string | null
  readonly bom: boolean
  /** Writes cells unchanged, formulas too. */
  readonly raw: boolean
  /** A path that `checkTarget` returned, or an open stream. */
  readonly to: string | Writable
  readonly signal: AbortSignal
}

/** The size of a finished export. */
interface Exported {
  /** Without the header. */
  readonly rows: number
  /** null: written to a stream. */
  readonly bytes: number | null
}

/** Writes one export from one snapshot of the warehouse, in constant memory. UsageError: no such mart or import. */
export async function runExport(pool: pg.Pool, request: ExportRequest): Promise<Exported> {
  return await inTransaction(
    pool,
    async (tx) => await writeExport(tx, request),
    'repeatable read, read only',
  )
}

/** The same within an open transaction, whose rights limit what is read. */
export async function writeExport(tx: Tx, request: ExportRequest): Promise<Exported> {
  return await writers[request.format](tx, request)
}

const writers = { csv: exportText, xlsx: exportWorkbook, parquet: exportParquet } as const

async function exportText({ db }: Tx, request: ExportRequest): Promise<Exported> {
  let rows = 0
  const pages = await pagesFor(db, request)
  const chunks = async function* () {
    if (request.bom) yield byteOrderMark
    for await (const page of pages) {
      rows += page.rows
      if (page.text !== '') yield page.text
    }
  }
  const bytes = await writeTo(request, chunks())
  return { rows, bytes }
}

/** Writes to the file or stream of the request; the size of a file. */
async function writeTo(
  { to, signal }: ExportRequest,
  chunks: AsyncIterable<string | Uint8Array>,
): Promise<number | null> {
  if (typeof to === 'string')
    return await writeWhole(to, (file) => writeBytes(chunks, file, signal))
  await writeOpen(chunks, to, signal)
  return null
}

async function exportWorkbook({ db }: Tx, request: ExportRequest): Promise<Exported> {
  let rows = 0
  const sheet = await buildSheet(db, request.subject)
  const counted = async function* () {
    for await (const page of sheet.pages) {
      rows += page.length
      yield page
    }
  }
  const bytes = await writeTo(request, writeWorkbook({ ...sheet, pages: counted() }))
  return { rows, bytes }
}

/** Resolves once the mart or import is found; its pages follow. */
async function pagesFor(
  db: Db,
  { subject, delimiter, raw }: ExportRequest,
): Promise<AsyncIterable<TextPage>> {
  if (subject.is === 'original') {
    const { rooftop, importId } = subject
    const file = await readStoredFile(db, rooftop, importId)
    return originalWithPrices(db, file, { rooftopId: rooftop.id, delimiter, raw })
  }
  const style = { ...defaultStyle, delimiter: delimiter ?? defaultStyle.delimiter }
  if (subject.is === 'mart')
    return textPages(martRecords(db, await readMart(db, subject.name), raw), style)
  const { all, rooftop } = subject
  return textPages(pricedList(db, { rooftopId: rooftop.id, all, raw }), style)
}

/** The first page of records is the header. */
async function* textPages(
  pages: AsyncIterable<Records>,
  style: CsvStyle,
): AsyncGenerator<TextPage> {
  let isHeader = true
  for await (const page of pages) {
    yield { text: csvText(page, style), rows: isHeader ? 0 : page.length }
    isHeader = false
  }
}

async function* martRecords(db: Db, mart: Mart, raw: boolean): AsyncGenerator<Records> {
  yield [mart.columns.map(({ name }) => name)]
  const columns = mart.columns.map((column) => {
    const isSafe = raw || !isTextColumn(column)
    return (row: MartRow) => {
      const text = row[column.name] ?? ''
      return isSafe ? text : escapeFormula(text)
    }
  })
  for await (const page of queryPages(db, sql.raw<MartRow>(martQuery(mart))))
    yield page.map((row) => columns.map((cell) => cell(row)))
}

async function exportParquet({ db, client }: Tx, request: ExportRequest): Promise<Exported> {
  const { subject } = request
  if (subject.is !== 'mart') throw new Error('Parquet needs a mart.')
  const mart = await readMart(db, subject.name)
  let rows = 0
  const chunks = async function* () {
    rows = yield* parquetChunks(client, mart)
  }
  const bytes = await writeTo(request, chunks())
  return { rows, bytes }
}

/** The sheet of an export. A text that a spreadsheet would run in CSV is a text there, so no cell is changed. */
async function buildSheet(db: Db, subject: ExportSubject): Promise<WrittenSheet> {
  if (subject.is === 'mart') return await martSheet(db, await readMart(db, subject.name))
  if (subject.is === 'list') return await listSheet(db, subject)
  const { rooftop, importId } = subject
  const file = await readStoredFile(db, rooftop, importId)
  const kinds = Array.from({ length: originalWidth(file) }, (_, at) =>
    kindOfField(file.fields.get(at)),
  )
  return {
    name: `Import ${importId}`,
    head: [...file.preamble.map((line) => preambleCells(line, file)), ...headerRecords(file)],
    kinds: [...kinds, ...appendedColumns.map(kindOfOwn)],
    pages: originalRecords(db, file, { rooftopId: rooftop.id, raw: true }),
  }
}

async function listSheet(
  db: Db,
  { rooftop, all }: ExportSubject & { readonly is: 'list' },
): Promise<WrittenSheet> {
  const pages = pricedList(db, { rooftopId: rooftop.id, all, raw: true })
  const [names = []] = (await pages.next()).value as Records
  const known = Object.keys(listColumns).length
  const kinds = names.map((name, at) => {
    const isOwn = at < known || at >= names.length - priceColumns.length
    return isOwn ? kindOfOwn(name) : 'text'
  })
  return { name: `Stock ${rooftop.uid}`, head: [names], kinds, pages }
}

async function martSheet(db: Db, mart: Mart): Promise<WrittenSheet> {
  const pages = martRecords(db, mart, true)
  const head = (await pages.next()).value as Records
  return { name: mart.name, head, kinds: mart.columns.map(kindOfType), pages }
}

function kindOfType({ type }: MartColumn): ColumnKind {
  if (/^(smallint|integer|bigint|numeric|real|double precision)$/.test(type)) return 'number'
  if (type.startsWith('timestamp')) return 'instant'
  return type === 'date' || type === 'boolean' ? type : 'text'
}

/** The columns that Forecourt writes itself. */
function kindOfOwn(name: string): ColumnKind {
  if (/^(price_)?(retail|wholesale)(_low|_high)?$/.test(name)) return 'amount'
  if (name === 'asking_price' || name === 'cost') return 'amount'
  if (name === 'year' || name === 'odometer_km' || name === 'eval_id') return 'number'
  if (name === 'acquired_on') return 'date'
  return name === 'priced_at' ? 'instant' : 'text'
}

/** The dealer's columns: what was a number or a date in a workbook is one again, in the form that shows all of it. */
function kindOfField(field: string | undefined): ColumnKind {
  const numbers: readonly Field[] = ['price_asking', 'cost', 'odometer', 'model_year']
  if (numbers.some((one) => one === field)) return 'number'
  return field === 'received_date' ? 'date' : 'text'
}

/** Which units a priced list has. */
interface ListOptions {
  readonly rooftopId: number
  /** Includes units that the newest list does not name: in their days of grace, or off stock. */
  readonly all: boolean
  /** Writes cells unchanged, formulas too. */
  readonly raw: boolean
}

/** Only units of the newest list: a unit in its days of grace would be in stock again when the export is imported. */
const onHand = sql`and unit.missing_since is null and unit.off_stock_at is null`

type UnitRow = PricedUnit & Omit<StockRow, 'vin' | 'adcode'>

/**
 * Yields the records of the priced list page by page, the header first. The dealer's other fields
 * (`extras`) are between the two groups of stable columns, so that the list can be imported again.
 */
async function* pricedList(db: Db, options: ListOptions): AsyncGenerator<Records> {
  const extras = await readExtraFields(db, options)
  yield [[...Object.keys(listColumns), ...extras.map(extraColumn), ...priceColumns]]
  const safe = options.raw ? (cell: string) => cell : escapeFormula
  for await (const page of queryPages(db, listQuery(options)))
    yield page.map((unit) => unitRecord(unit, extras, safe))
}

function listQuery({ rooftopId, all }: ListOptions) {
  return sql<UnitRow>`
    select priced.*, unit.plate, unit.make, unit.model, unit.variant, unit.model_year, unit.asking_price, unit.cost,
      unit.currency_code, unit.price_on_application, unit.acquired_on, unit.extras
    from core.stock_unit as unit
    join (${pricedUnits(rooftopId)}) as priced using (stock_no)
    where unit.rooftop_id = ${rooftopId} ${all ? sql`` : onHand}
    order by unit.stock_no`
}

/** The extra fields that any unit has. An odometer reading in km is left out: odometer_km has it. */
async function readExtraFields(db: Db, options: ListOptions): Promise<readonly string[]> {
  const { rows } = await sql<{ field: string; miles: boolean }>`
    select extra.key as field, bool_or(extra.key = 'odometer_unit' and extra.value = 'mi') as miles
    from core.stock_unit as unit, jsonb_each_text(unit.extras) as extra
    where unit.rooftop_id = ${options.rooftopId} ${options.all ? sql`` : onHand}
    group by extra.key order by extra.key`.execute(db)
  const hasMiles = rows.some(({ miles }) => miles)
  const isRepeated = (field: string) =>
    field === 'chassis' || (!hasMiles && ['odometer', 'odometer_unit'].includes(field))
  return rows.map(({ field }) => field).filter((field) => !isRepeated(field))
}

function unitRecord(
  unit: UnitRow,
  extras: readonly string[],
  safe: (cell: string) => string,
): readonly string[] {
  const { status, message } = priceStatus(unit)
  const text = (value: string | null | undefined) => safe(value ?? '')
  return [
    text(unit.stock_no),
    text(unit.unit_vin ?? unit.extras['chassis']),
    text(unit.unit_adcode),
    text(unit.plate),
    text(unit.make),
    text(unit.model),
    text(unit.variant),
    String(unit.model_year ?? ''),
    String(unit.odometer_km ?? ''),
    amountText(unit.asking_price) || (unit.price_on_application ? 'POA' : ''),
    amountText(unit.cost),
    unit.currency_code,
    unit.acquired_on ?? '',
    ...extras.map((field) => text(unit.extras[field])),
    ...priceCells(unit),
    unit.price_currency ?? '',
    instantText(unit.priced_at),
    String(unit.eval_id ?? ''),
    status,
    text(message),
  ]
}

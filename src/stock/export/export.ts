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
import { byteOrderMark, type CsvStyle, csvText, defaultStyle } from '../csv/write/csv-text.ts'
import { escapeFormula } from '../csv/write/escape-formula.ts'
import { appendedColumns, listColumns, priceColumns } from '../own-columns.ts'
import { type ColumnKind, type WrittenSheet, writeWorkbook } from '../workbook/write-workbook.ts'
import {
  headerRecords,
  originalRecords,
  originalWidth,
  originalWithPrices,
  preambleCells,
} from './original.ts'
import { writeBytes, writeOpen, writeWhole } from './output.ts'
import { pricedList } from './priced-list.ts'
import { readStoredFile } from './stored-file.ts'
import type { ExportSubject } from './subject.ts'

/** `xlsx`: a workbook. */
export type ExportFormat = 'csv' | 'xlsx' | 'parquet'

/** The options of one export. */
interface ExportRequest {
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

interface Page {
  readonly text: string
  readonly rows: number
}

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
): Promise<AsyncIterable<Page>> {
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

/** A page of records; the first one of an export is the header. */
type Records = readonly (readonly string[])[]

async function* textPages(pages: AsyncIterable<Records>, style: CsvStyle): AsyncGenerator<Page> {
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

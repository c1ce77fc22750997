import type { Writable } from 'node:stream'
import type pg from 'pg'
import { queryPages } from '../../db/query-pages.ts'
import { inTransaction } from '../../db/transaction.ts'
import { byteOrderMark, csvText, type CsvStyle, defaultStyle } from '../../csv/write/csv-text.ts'
import { escapeFormula } from '../../csv/write/escape-formula.ts'
import { isTextColumn, type Mart, martQuery, type MartRow, readMart } from './mart.ts'
import { originalWithPrices, readStoredFile } from './original.ts'
import { writeOpen, writeText, writeWhole } from './output.ts'
import { parquetExpression, writeParquet } from './parquet.ts'
import { pricedList } from './priced-list.ts'

interface Rooftop {
  /** 0: no run has registered it yet, so it has no data. */
  readonly id: number
  readonly uid: string
}

/** The data to export. */
export type ExportSubject =
  | { readonly is: 'list'; readonly rooftop: Rooftop; readonly all: boolean }
  | { readonly is: 'original'; readonly rooftop: Rooftop; readonly importId: number }
  | { readonly is: 'mart'; readonly name: string }

/** The options of one export. */
export interface ExportRequest {
  readonly subject: ExportSubject
  readonly format: 'csv' | 'parquet'
  /** null: the delimiter of the upload, else a comma. */
  readonly delimiter: string | null
  readonly bom: boolean
  /** Writes cells unchanged, formulas too. */
  readonly raw: boolean
  /** A path that `checkTarget` returned, or an open stream. Parquet needs a path. */
  readonly to: string | Writable
  readonly signal: AbortSignal
}

/** The size of a finished export. */
export interface Exported {
  /** Without the header. */
  readonly rows: number
  /** null: written to a stream. */
  readonly bytes: number | null
}

/** Writes one export from one snapshot of the warehouse, in constant memory. UsageError: no such mart or import. */
export async function runExport(pool: pg.Pool, request: ExportRequest): Promise<Exported> {
  return await inTransaction(
    pool,
    async ({ client }) =>
      request.format === 'parquet'
        ? await exportParquet(client, request)
        : await exportText(client, request),
    'repeatable read, read only',
  )
}

interface Page {
  readonly text: string
  readonly rows: number
}

async function exportText(client: pg.ClientBase, request: ExportRequest): Promise<Exported> {
  let rows = 0
  const pages = await pagesFor(client, request)
  const chunks = async function* () {
    if (request.bom) yield byteOrderMark
    for await (const page of pages) {
      rows += page.rows
      if (page.text !== '') yield page.text
    }
  }
  const { to, signal } = request
  if (typeof to !== 'string') {
    await writeOpen(chunks(), to, signal)
    return { rows, bytes: null }
  }
  const bytes = await writeWhole(to, (file) => writeText(chunks(), file, signal))
  return { rows, bytes }
}

/** Resolves once the mart or import is found; its pages follow. */
async function pagesFor(
  client: pg.ClientBase,
  { subject, delimiter, raw }: ExportRequest,
): Promise<AsyncIterable<Page>> {
  if (subject.is === 'original') {
    const { rooftop, importId } = subject
    const file = await readStoredFile(client, rooftop, importId)
    return originalWithPrices(client, file, { rooftopId: rooftop.id, delimiter, raw })
  }
  const style = { ...defaultStyle, delimiter: delimiter ?? defaultStyle.delimiter }
  if (subject.is === 'mart')
    return textPages(martRecords(client, await readMart(client, subject.name), raw), style)
  const { all, rooftop } = subject
  return textPages(pricedList(client, { rooftopId: rooftop.id, all, raw }), style)
}

type Records = readonly (readonly string[])[]

/** The first page is the header. */
async function* textPages(pages: AsyncIterable<Records>, style: CsvStyle): AsyncGenerator<Page> {
  let isHeader = true
  for await (const page of pages) {
    yield { text: csvText(page, style), rows: isHeader ? 0 : page.length }
    isHeader = false
  }
}

async function* martRecords(
  client: pg.ClientBase,
  mart: Mart,
  raw: boolean,
): AsyncGenerator<Records> {
  yield [mart.columns.map(({ name }) => name)]
  const columns = mart.columns.map((column) => {
    const isSafe = raw || !isTextColumn(column)
    return (row: MartRow) => {
      const text = row[column.name] ?? ''
      return isSafe ? text : escapeFormula(text)
    }
  })
  for await (const page of queryPages<MartRow>(client, martQuery(mart)))
    yield page.map((row) => columns.map((cell) => cell(row)))
}

async function exportParquet(
  client: pg.ClientBase,
  { subject, to }: ExportRequest,
): Promise<Exported> {
  if (subject.is !== 'mart' || typeof to !== 'string')
    throw new Error('Parquet needs a mart and a file.')
  const mart = await readMart(client, subject.name)
  let rows = 0
  const bytes = await writeWhole(to, async (file) => {
    const pages = queryPages<MartRow>(client, martQuery(mart, parquetExpression))
    rows = await writeParquet(file, mart, pages)
  })
  return { rows, bytes }
}

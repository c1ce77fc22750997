import { sql } from 'kysely'
import { queryPages } from '../../warehouse/db/query-pages.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import {
  type Mart,
  type MartColumn,
  type MartRow,
  martQuery,
  readMart,
} from '../../warehouse/marts/mart.ts'
import type { Field } from '../csv/map/stock-fields.ts'
import { appendedColumns, listColumns, priceColumns } from '../own-columns.ts'
import type { ColumnKind, WrittenSheet } from '../workbook/write-workbook.ts'
import { headerRecords, originalRecords, originalWidth, preambleCells } from './original.ts'
import { pricedList } from './priced-list.ts'
import { readStoredFile } from './stored-file.ts'
import type { ExportSubject } from './subject.ts'

/** The sheet of an export. A text that a spreadsheet would run in CSV is a text there, so no cell is changed. */
export async function buildSheet(db: Db, subject: ExportSubject): Promise<WrittenSheet> {
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
  const [names] = (await pages.next()).value as readonly [readonly string[]]
  const known = Object.keys(listColumns).length
  const kinds = names.map((name, at) => {
    const isOwn = at < known || at >= names.length - priceColumns.length
    return isOwn ? kindOfOwn(name) : 'text'
  })
  return { name: `Stock ${rooftop.uid}`, head: [names], kinds, pages }
}

async function martSheet(db: Db, mart: Mart): Promise<WrittenSheet> {
  const { columns } = mart
  const pages = async function* () {
    for await (const page of queryPages(db, sql.raw<MartRow>(martQuery(mart))))
      yield page.map((row) => columns.map(({ name }) => row[name] ?? ''))
  }
  const head = [columns.map(({ name }) => name)]
  return { name: mart.name, head, kinds: columns.map(kindOfType), pages: pages() }
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

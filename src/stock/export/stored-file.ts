import { sql } from 'kysely'
import { z } from 'zod'
import { UsageError } from '../../errors.ts'
import { rooftopOptions } from '../../values/shell.ts'
import type { Db } from '../../warehouse/db/transaction.ts'

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
export interface StoredFile {
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
  /** The field of each column; undefined: none. */
  readonly fields: ReadonlyMap<number, string>
}

/** A rooftop whose stock is exported. */
export interface StoringRooftop {
  /** 0: no run has registered it yet, so it has no data. */
  readonly id: number
  readonly uid: string
}

/** Reads an import of the rooftop; UsageError if none has that number. */
export async function readStoredFile(
  db: Db,
  rooftop: StoringRooftop,
  importId: number,
): Promise<StoredFile> {
  const { rows } = await sql`
    select delimiter, dialect, preamble, header, mapping
    from core.stock_import where import_id = ${importId} and rooftop_id = ${rooftop.id}`.execute(db)
  if (rows.length === 0) throw await unknownImport(db, rooftop, importId)
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
    fields: new Map(stored.mapping.flatMap(({ index, field }) => (field ? [[index, field]] : []))),
  }
}

async function unknownImport(
  db: Db,
  rooftop: StoringRooftop,
  importId: number,
): Promise<UsageError> {
  const { rows } = await sql<{ import_id: number; file_name: string }>`
    select import_id, file_name from core.stock_import
    where rooftop_id = ${rooftop.id} order by import_id desc limit 5`.execute(db)
  const known = rows.map((row) => `${row.import_id} (${row.file_name})`).join(', ')
  return new UsageError(
    rows.length === 0
      ? `Rooftop ${rooftop.uid} has no imported stock list: import one with "forecourt stock import <file>${rooftopOptions(rooftop.uid)}".`
      : `Rooftop ${rooftop.uid} has no import ${importId}; its newest are: ${known}.`,
  )
}

import type pg from 'pg'
import type { ColumnMapping } from '../../csv/map/column-mapping.ts'
import type { LoadResult } from './load-list.ts'
import type { NewestImport } from './previous-import.ts'
import { writeRejects } from './rejects.ts'
import type { StockImportReport } from './import-report.ts'
import type { ImportRequest } from './request.ts'
import { stockTables } from './stage.ts'

/** The report for a list that is already in the warehouse; its rejected rows can be written again. */
export async function alreadyImported(
  client: pg.ClientBase,
  newest: NewestImport,
  { rooftop, file, mode, rejects: rejectsFile }: ImportRequest,
  { offStock, missing }: Pick<StockImportReport, 'offStock' | 'missing'>,
): Promise<LoadResult> {
  const { records, accepted, rejected, collapsed, skipped, encoding, delimiter } = newest
  const mapping = newest.mapping as readonly ColumnMapping[]
  const header = newest.header as { readonly names: readonly string[] } | null
  const source = {
    ...{ rowsTable: stockTables.rows, importId: newest.import_id, delimiter, columns: mapping },
    names: header?.names ?? null,
  }
  const isWanted = rejectsFile !== null && rejected > 0
  const rejects = isWanted ? await writeRejects(client, rejectsFile, source) : null
  return {
    rejects,
    report: {
      importId: newest.import_id,
      rooftop: rooftop.uid,
      file,
      mode,
      status: 'already-imported',
      encoding,
      delimiter,
      mapping,
      missing,
      ...{ records, accepted, rejected, collapsed, skipped },
      ...{ added: 0, updated: 0, unchanged: accepted, removed: 0, reappeared: 0 },
      offStock,
      changes: [],
      issueCounts: {},
      issueTotals: [],
      issues: [],
      warnings: [],
      rejectsFile: rejects ? rejectsFile : null,
    },
  }
}

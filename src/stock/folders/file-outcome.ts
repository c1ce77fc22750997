import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { ColumnMapping } from '../csv/map/column-mapping.ts'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import type { ListCheck } from '../import/list-check.ts'
import type { RowCounts, UnitCounts } from '../import/request.ts'
import { refusalWords } from '../refusal.ts'
import type { FileRecord } from './file-records.ts'
import { type Inbox, refusedRequest } from './inbox.ts'

/** The import that a part of a file became. */
export interface PartImport extends RowCounts, UnitCounts {
  readonly importId: number
  readonly importedAt: Date
  readonly delimiter: string
  readonly names: readonly string[] | null
  readonly mapping: readonly ColumnMapping[]
  readonly warnings: readonly CellIssue[]
  /** The first errors of rejected rows. */
  readonly errors: readonly CellIssue[]
  /** Why the first skipped rows are not vehicles in stock. Blank rows and repeated headers need no reason. */
  readonly notVehicles: readonly CellIssue[]
  /** What is doubtful about the first rows that were imported. */
  readonly doubts: readonly CellIssue[]
}

/** What became of a file at one rooftop. */
export interface PartOutcome {
  readonly uid: string
  readonly name: string
  readonly outcome: 'imported' | 'already-imported' | 'refused'
  /** What the check found in a refused list. */
  readonly result: ListCheck | null
  readonly reason: string | null
  readonly command: string | null
  readonly import: PartImport | null
}

/** What became of a file. */
export interface FileOutcome {
  readonly parts: readonly PartOutcome[]
  /** Rooftops of earlier files that this one does not name. */
  readonly absent: readonly string[]
}

/** How many issues of each kind the report has. */
export const shownIssues = 20

/** Reads what became of a file, however long ago it was decided. */
export async function readOutcome(
  db: Db,
  inbox: Inbox,
  { id, takenAs, inbox: key }: FileRecord,
): Promise<FileOutcome> {
  const { rows: parts } = await sql<
    Omit<PartOutcome, 'import' | 'reason' | 'command'> & { importId: number | null }
  >`
    select rooftop_uid as uid, rooftop_name as name, outcome, result, import_id as "importId"
    from ops.stock_inbox_part join core.rooftop using (rooftop_id)
    where file_id = ${id} order by rooftop_name, rooftop_uid`.execute(db)
  const { rows: absent } = await sql<{ name: string }>`
    select rooftop_name as name from core.rooftop where rooftop_id in (
      select rooftop_id from ops.stock_inbox_part join ops.stock_inbox_file using (file_id)
      where inbox = ${key} and decided_at > now() - interval '30 days')
      and rooftop_id not in (
        select rooftop_id from ops.stock_inbox_part where file_id = ${id}) order by 1`.execute(db)
  const withImports = parts.map(async ({ importId, ...part }) => ({
    ...part,
    ...(part.result === null
      ? { reason: null, command: null }
      : refusalWords(part.result, refusedRequest(inbox, takenAs!, part))),
    import: importId === null ? null : await readImport(db, importId),
  }))
  return { parts: await Promise.all(withImports), absent: absent.map(({ name }) => name) }
}

async function readImport(db: Db, importId: number): Promise<PartImport | null> {
  const { rows } = await sql<Omit<PartImport, 'errors' | 'notVehicles' | 'doubts'>>`
    select import_id as "importId", imported_at as "importedAt", delimiter, header -> 'names' as names, mapping, warnings,
      records, accepted, rejected, collapsed, skipped, added, updated, unchanged, removed, reappeared
    from core.stock_import where import_id = ${importId}`.execute(db)
  const [found] = rows
  if (found === undefined) return null
  const [errors, notVehicles, doubts] = await Promise.all([
    readIssues(db, importId, sql`status = 'rejected' and issue ->> 'severity' = 'error'`),
    readIssues(
      db,
      importId,
      sql`status = 'skipped' and issue ->> 'code' not in ('blank-row', 'repeated-header')`,
    ),
    readIssues(db, importId, sql`status = 'accepted' and issue ->> 'severity' = 'warning'`),
  ])
  return { ...found, errors, notVehicles, doubts }
}

async function readIssues(
  db: Db,
  importId: number,
  where: RawBuilder<unknown>,
): Promise<readonly CellIssue[]> {
  const { rows } = await sql<{ issue: CellIssue }>`
    select issue from core.stock_import_row as row, jsonb_array_elements(issues) as issue
    where import_id = ${importId} and ${where}
    order by line_no limit ${shownIssues}`.execute(db)
  return rows.map(({ issue }) => issue)
}

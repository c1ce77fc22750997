import { sql } from 'kysely'
import type { UnitChange } from '../../../stock/import/request.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import type { IssueKind } from './draw-changes.ts'
import type { StockImport } from './own.ts'

/** A column of an imported list. */
export interface ImportColumn {
  readonly index: number
  readonly header: string | null
  readonly field: string | null
}

/** A row that was rejected. */
export interface RejectedRow {
  readonly line: number
  readonly cells: readonly string[]
  readonly issues: readonly {
    readonly severity: string
    readonly code: string
    readonly column: string | null
    readonly hint: string
  }[]
  /** The import of its correction; null: none yet. */
  readonly correctedBy: number | null
  /** Whether the correction was accepted. */
  readonly isAccepted: boolean
}

/** Rejected rows on one page, with a form of some ten fields each. */
export const rejectedPage = 20

/** The columns of an imported list, and its warnings. */
export async function readImportColumns(db: Db, importId: number) {
  const { rows } = await sql<{
    columns: ImportColumn[]
    warnings: { column: string | null; hint: string }[]
  }>`select mapping as columns, warnings from core.stock_import where import_id = ${importId}`.execute(
    db,
  )
  const { columns, warnings } = rows[0]!
  return {
    columns: columns.map(({ index, header, field }) => ({ index, header, field })),
    warnings: warnings.map(({ column, hint }) => (column === null ? hint : `${column}: ${hint}`)),
  }
}

/** Rejected rows from a line on, with what became of their corrections. A correction has the line after the
 *  dealer's columns and `_import`, which those of earlier versions do not have. */
export async function readRejected(
  db: Db,
  importId: number,
  width: number,
  { after, lines }: { readonly after: number; readonly lines?: readonly number[] },
): Promise<RejectedRow[]> {
  const { rows } = await sql<RejectedRow>`
    with again as (
      select row.cells ->> (${width}::int + (jsonb_array_length(row.cells) > ${width}::int + 3)::int) as line, row.import_id, row.status
      from ops.stock_upload as u join core.stock_import_row as row on row.import_id = u.import_id
      where u.corrects_import_id = ${importId}
    ), correction as (
      select distinct on (line) line, import_id, status from again order by line, import_id desc
    )
    select row.line_no as line, row.cells, row.issues, c.import_id::int as "correctedBy", coalesce(c.status = 'accepted', false) as "isAccepted"
    from core.stock_import_row as row left join correction as c on c.line = row.line_no::text
    where row.import_id = ${importId} and row.status = 'rejected' and row.line_no > ${after}
      ${lines === undefined ? sql`` : sql`and row.line_no = any(${[...lines]}::int[])`}
    order by row.line_no limit ${lines === undefined ? rejectedPage + 1 : lines.length}`.execute(db)
  return rows
}

/** The first changes of each kind. */
export async function readChanges(
  db: Db,
  { id, rooftopId }: Pick<StockImport, 'id' | 'rooftopId'>,
  limit: number,
): Promise<UnitChange[]> {
  const { rows } = await sql<UnitChange>`
    select stock_no as "stockNo", change, changes - 'first_seen_at' as changes from (
      select *, row_number() over (partition by change order by stock_no) as nth
      from core.stock_unit_change where import_id = ${id} and rooftop_id = ${rooftopId}
    ) as numbered where nth <= ${limit} order by change, stock_no`.execute(db)
  return rows
}

/** The warnings of the rows, by what is doubtful. */
export async function readWarnings(db: Db, importId: number): Promise<IssueKind[]> {
  const { rows } = await sql<IssueKind>`
    select 'warning' as severity, code, count(*)::int as count, min(hint) as hint,
      (array_agg(json_build_object('line', line, 'column', field, 'text', left(text, 60), 'hint', hint) order by line))[1:5] as first
    from core.stock_import_row as row cross join lateral jsonb_to_recordset(row.issues)
      as issue (severity text, code text, line int, "column" text, text text, hint text),
      lateral (select issue."column" as field) as named
    where row.import_id = ${importId} and row.status <> 'rejected' and issue.severity = 'warning'
    group by code order by 3 desc, 2 limit 50`.execute(db)
  return rows
}

/** The list before this one that named the whole stock; null: this was the first. */
export async function readPrevious(
  db: Db,
  { id, rooftopId }: Pick<StockImport, 'id' | 'rooftopId'>,
): Promise<{ readonly id: number; readonly at: Date } | null> {
  const { rows } = await sql<{ id: number; at: Date }>`
    select import_id::int as id, imported_at as at from core.stock_import
    where rooftop_id = ${rooftopId} and import_id < ${id} and mode = 'snapshot' order by import_id desc limit 1`.execute(
    db,
  )
  return rows[0] ?? null
}

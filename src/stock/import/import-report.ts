import type { ColumnMapping, MissingField } from '../../csv/map/column-mapping.ts'
import type { CellIssue } from '../../csv/map/typing/issue.ts'
import type { IssueTotal } from './issue-tally.ts'

export type ChangeKind = 'added' | 'updated' | 'removed' | 'reappeared'

/** The change of one unit by the import. */
export interface UnitChange {
  readonly stockNo: string
  readonly change: ChangeKind
  /** Old and new value by column or field; an added unit has some if its stock number belonged to another vehicle. */
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>
}

/** How many changes of each kind a report shows. */
export const shownChanges = 1000

/** records = accepted + rejected + collapsed + skipped. */
export interface RowCounts {
  readonly records: number
  readonly accepted: number
  readonly rejected: number
  readonly collapsed: number
  readonly skipped: number
}

/** accepted = added + updated + unchanged + reappeared; `removed` are units that the list does not name. */
export interface UnitCounts {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly removed: number
  readonly reappeared: number
}

/** The output of `stock import --json`. */
export interface StockImportReport extends RowCounts, UnitCounts {
  /** null: a dry run. */
  readonly importId: number | null
  readonly rooftop: string
  readonly file: string
  readonly mode: 'snapshot' | 'delta'
  readonly status: 'imported' | 'dry-run' | 'already-imported'
  readonly encoding: string
  readonly delimiter: string
  readonly mapping: readonly ColumnMapping[]
  /** Vital fields that no column fills, without the user's confirmation. */
  readonly missing: readonly MissingField[]
  /** Units whose days of grace are over: now off stock. */
  readonly offStock: number
  /** The first of each kind; all of them are in `core.stock_unit_change`. */
  readonly changes: readonly UnitChange[]
  /** The number of issues by code. */
  readonly issueCounts: Readonly<Record<string, number>>
  /** The same by severity and code, errors first. */
  readonly issueTotals: readonly IssueTotal[]
  /** The first of each kind; all of them are in `core.stock_import_row`. */
  readonly issues: readonly CellIssue[]
  /** Issues of the file or of a whole column. */
  readonly warnings: readonly CellIssue[]
  /** Where the rejected rows were written; null: not requested, or no row was rejected. */
  readonly rejectsFile: string | null
}

import type { ColumnMapping, MissingField } from '../../csv/map/column-mapping.ts'
import type { CellIssue } from '../../csv/map/typing/issue.ts'
import type { IssueTotal } from './issue-tally.ts'

export type ChangeKind = 'added' | 'updated' | 'removed' | 'reappeared'

/** What the import did to one unit. */
export interface UnitChange {
  readonly stockNo: string
  readonly change: ChangeKind
  /** Old and new value by column or field; an added unit has some where its stock number was another vehicle's. */
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>
}

/** Changes that a report shows of each kind, at most. */
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

/** What `stock import --json` prints. */
export interface StockImportReport extends RowCounts, UnitCounts {
  /** null: a dry run, which leaves no import. */
  readonly importId: number | null
  readonly rooftop: string
  readonly file: string
  readonly mode: 'snapshot' | 'delta'
  readonly status: 'imported' | 'dry-run' | 'already-imported'
  readonly encoding: string
  readonly delimiter: string
  readonly mapping: readonly ColumnMapping[]
  /** Vital fields that no column fills, and of which nobody has said so. */
  readonly missing: readonly MissingField[]
  /** Units whose days of grace have passed: off stock from now on. */
  readonly offStock: number
  /** The first of each kind; all of them are in `core.stock_unit_change`. */
  readonly changes: readonly UnitChange[]
  /** Of every code how many there are. */
  readonly issueCounts: Readonly<Record<string, number>>
  /** The same by severity and code, errors first. */
  readonly issueTotals: readonly IssueTotal[]
  /** The first of each kind; all of them are in `core.stock_import_row`. */
  readonly issues: readonly CellIssue[]
  /** What concerns the file or a column as a whole. */
  readonly warnings: readonly CellIssue[]
  /** The rejected rows were written there; null: no such file was asked for, or no row was rejected. */
  readonly rejectsFile: string | null
}

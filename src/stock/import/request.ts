import type { Readable } from 'node:stream'
import type { RooftopConfig } from '../../app/config/read.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Warehouse } from '../../warehouse/warehouse.ts'
import type { ColumnMapping, MissingField } from '../csv/map/column-mapping.ts'
import type { CellIssue, Severity } from '../csv/map/typing/typed-row.ts'
import type { RowFilter } from './row-filter.ts'

/** Size and hash of a list. */
export interface FileDigest {
  readonly sha256: Buffer
  readonly bytes: number
}

/** The bytes of one list. Every reading gives the bytes that were hashed. */
export interface ListSource extends FileDigest, AsyncDisposable {
  /** Reads from the beginning. Rejects with UsageError if the bytes are not those that were hashed. */
  read(): AsyncIterable<Uint8Array>
  /** Rejects with UsageError if the file was written to since it was opened. */
  assertUnchanged(): Promise<void>
}

/** The options of one import: one list of one rooftop. */
export interface ImportRequest {
  /** Path of the file, or the input's name for messages. */
  readonly file: string
  /** Where the file is while it is imported, if messages name it by where a person will find it. */
  readonly path?: string
  /** Read to its end instead of the file. */
  readonly input?: Readable
  /** Read instead of the file: nothing is written to disk. */
  readonly bytes?: Buffer
  /** The file, where it is open already. */
  readonly source?: ListSource
  /** The user's choice; else detected. */
  readonly encoding?: string
  readonly delimiter?: string
  /** The sheet of a workbook. */
  readonly sheet?: string
  readonly rooftop: RooftopConfig
  /** Only the rows of this rooftop, in a file of several. */
  readonly only?: RowFilter
  /** `snapshot`: the file names the whole stock; `delta`: only what is new or has changed. */
  readonly mode: 'snapshot' | 'delta'
  /** A list of corrected rows is a delta, whatever `mode` is. */
  readonly rejectsAreDelta?: boolean
  /** Reads, types and compares, and writes nothing. */
  readonly dryRun: boolean
  /** `--map` arguments as typed. */
  readonly maps: readonly string[]
  /** File for rejected rows; null: only the warehouse stores them. */
  readonly rejects: string | null
  readonly allowMassRemoval: boolean
  readonly allowMassChange?: boolean
  readonly allowUnusualValues?: boolean
  /** The import whose rejected rows the list has, corrected; left out: its column `_import` says it, or it is a list of its own. */
  readonly corrects?: number
  /** Also where newer lists than that one name the vehicles. */
  readonly allowOlderValues?: boolean
  readonly importedBy: string
  /** The time of this process, like the times of runs. */
  readonly now: Date
}

/** What an import uses of the program. */
export interface ImportServices {
  readonly warehouse: Pick<Warehouse, 'pool' | 'db' | 'config'>
  readonly signal: AbortSignal
  /** Called at named points, where tests kill the process. */
  readonly crashPoint?: (name: string) => void
  /** Called at the end of the import's transaction: what it writes is committed with the import. Not called for a dry run. */
  readonly beforeCommit?: (db: Db, report: StockImportReport) => Promise<void>
}

/** The day at the rooftop, `YYYY-MM-DD`. */
export function todayAt({ rooftop, now }: ImportRequest): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: rooftop.timezone }).format(now)
}

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

/** How many issues there are of one kind. */
export interface IssueTotal {
  readonly severity: Severity
  readonly code: string
  readonly count: number
}

export type FigureColumn = 'model_year' | 'odometer_km' | 'asking_price' | 'cost'

/** The values of a column; null without any. */
export interface Figures {
  readonly cars: number
  readonly empty: number
  readonly minimum: number | null
  readonly median: number | null
  readonly maximum: number | null
}

/** What a number column of a list holds, beside the stock on hand before. */
export interface ColumnFigures {
  readonly column: FigureColumn
  /** Of an amount: the most frequent currency of the list. Amounts in others are not compared. */
  readonly currency: string | null
  readonly list: Figures
  /** null: there was no stock. */
  readonly stock: Figures | null
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
  /** Of a workbook; null: the list was a text file. */
  readonly sheet: string | null
  /** The file in the archive; null: the list was not in a zip file. */
  readonly entry: string | null
  readonly mapping: readonly ColumnMapping[]
  /** Vital fields that no column fills, without the user's confirmation. */
  readonly missing: readonly MissingField[]
  /** What its number columns hold; empty: the list was imported before. */
  readonly figures: readonly ColumnFigures[]
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

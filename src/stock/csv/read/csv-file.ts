import { UsageError } from '../../../errors.ts'

/** The region, which decides the encoding if the bytes do not: windows-1256 for GCC, else windows-1252. */
export type Market = 'AU' | 'US' | 'GCC'

/** What the user or the rooftop states about a file. */
export interface CsvOptions {
  readonly market?: Market
  /** A name that TextDecoder knows; overrides detection. */
  readonly encoding?: string
  /** The field delimiter; overrides detection. */
  readonly delimiter?: string
  /** Whether headers are known to use a name. A row with three such names is the header, whatever is above it. */
  readonly isKnownName?: (name: string) => boolean
  /** Most cells of a record; default 2,000. */
  readonly maxColumns?: number
  /** Longest cell in bytes; default 1,000,000. */
  readonly maxCellBytes?: number
}

/** The encoding of a file, and how certain it is. */
export interface CsvEncoding {
  /** As TextDecoder names it; `xlsx` for a workbook. */
  readonly name: string
  readonly bom: boolean
  /** `assumed`: no byte so far distinguishes this encoding from others. */
  readonly confidence: 'certain' | 'likely' | 'assumed'
}

export type LineEnd = 'LF' | 'CRLF' | 'CR'

/** The characters that separate and quote cells. */
export interface Dialect {
  readonly delimiter: string
  /** null: quotes are text. */
  readonly quote: '"' | "'" | null
  /** The character before a quote inside a quoted cell: the quote itself, except for a few exporters. */
  readonly escape: '"' | "'" | '\\' | '\0'
  /** The file begins with Excel's `sep=;` line. */
  readonly sepLine: boolean
  readonly lineEnd: LineEnd
}

/** The header of a file: one row of names or several. */
export interface CsvHeader {
  /** Physical line of its first row, from 1. */
  readonly line: number
  readonly rows: number
  /** One for each column of the file. Names of several rows are joined with a blank. */
  readonly names: readonly string[]
  /** The cells of each header row, as in the file. */
  readonly rowNames: readonly (readonly string[])[]
  /** The header has more or fewer cells than the records, so its names may be over the wrong columns. */
  readonly ragged: boolean
}

/** The kinds of damage of a record. They are stored as issue codes, so they never change. */
export type ProblemCode =
  | 'extra-cell'
  | 'missing-cell'
  | 'truncated-value'
  | 'stray-quote'
  | 'encoding-error'
  | 'repeated-header'
  | 'blank-row'

/** Damage of one record. */
export interface CsvProblem {
  readonly code: ProblemCode
  readonly message: string
  /** The cells are the only reading that fits the file's columns: usable, with a warning. */
  readonly repaired: boolean
}

/** One record of a file. */
export interface CsvRecord {
  /** Physical line of its first character, from 1; the number of the row in a workbook. */
  readonly line: number
  /** One for each column of the file; a ragged record without a certain repair keeps its own number. */
  readonly cells: readonly string[]
  /** Text of the record as in the file, without its line end; the cells as CSV for a row of a workbook. */
  readonly raw: string
  readonly problem?: CsvProblem
  /** Of a workbook: a formula calculates a cell from several rows. */
  readonly isSubtotal?: boolean
  /** Of a workbook: most of its cells with a value are struck through. */
  readonly isStruck?: boolean
  /** Of a workbook: its first cell is struck through, most others are not. */
  readonly isPartlyStruck?: boolean
  /** The title of the block of sold vehicles that it is in. */
  readonly soldTitle?: string
  /** The make that is the title of the group of rows that it is in. */
  readonly groupMake?: string
  /** The line of a header above it that has other columns than that of the list. */
  readonly belowHeader?: number
  /** By column, the numbers of a workbook's cells whose text may be read as another number. */
  readonly numbers?: readonly (CellNumber | undefined)[]
}

/** The number in a cell of a workbook. Its format is only a hint of what it means. */
export interface CellNumber {
  /** In digits with a point, never with exactly three decimals: as a text, it can only be this number. */
  readonly value: string
  /** What the format shows around the digits: a unit, a currency, a scale. */
  readonly around: string
  /** The format shows per cent, or divides by thousands: its text has another value by intention. */
  readonly isScaled: boolean
  /** The format shows a date or a time. */
  readonly isDate: boolean
  /** `YYYY-MM-DD` in the calendar of the workbook; null: the number is not a day, or nothing shows that it may be one. */
  readonly day: string | null
}

/** A problem of the file as a whole. */
export interface CsvWarning {
  readonly code:
    | 'TRUNCATED_FILE'
    | 'ENCODING_ERROR'
    | 'HEADER_WIDTH'
    | 'MERGED_CELLS'
    | 'HIDDEN_ROWS'
    | 'SHEET_NOT_READ'
    | 'SHEETS_JOINED'
  readonly line: number
  readonly message: string
  /** The option of a command that changes it. */
  readonly advice?: string
}

/** An opened CSV file. Its form is known, and its records are read on demand. */
export interface CsvFile {
  /** By the bytes read so far: pure ASCII may turn out to be another encoding later in the file. */
  readonly encoding: CsvEncoding
  readonly dialect: Dialect
  /** Lines above the header, as text, without the `sep=` line. */
  readonly preamble: readonly string[]
  /** null: the file has no header row. */
  readonly header: CsvHeader | null
  /** Cells of a complete record. */
  readonly width: number
  /** All text above the first record, with line ends, without BOM: an export writes it back. */
  readonly head: string
  /** All records in file order, blank rows included, in batches of any length. Can be read once; stopping early closes the
   *  file. */
  readonly batches: AsyncIterable<readonly CsvRecord[]>
  /** Complete once all records have been read. */
  readonly warnings: readonly CsvWarning[]
  /** Where in a workbook or an archive the list is. */
  readonly origin?: ListOrigin
  /** The visible sheets of a workbook. */
  readonly sheets?: readonly string[]
  /** Columns, from 0, that are hidden in the workbook. */
  readonly hiddenColumns?: readonly number[]
  /** Closes the file. Only needed if `batches` is never read. */
  close(): Promise<void>
}

/** The same file with other records; its encoding is still that of the bytes read so far. */
export function withBatches<File extends CsvFile>(csv: File, batches: CsvFile['batches']): File {
  return {
    ...csv,
    get encoding() {
      return csv.encoding
    },
    batches,
  }
}

/** Where in a workbook or an archive a list is. */
interface ListOrigin {
  /** null: the list is a text file. */
  readonly sheet: string | null
  /** The file in the archive; null: no archive, or one without a name for it. */
  readonly entry: string | null
}

/** The reason why a file is unreadable. */
type CsvFileErrorCode =
  | 'empty'
  | 'workbook'
  | 'archive'
  | 'binary'
  | 'markup'
  | 'undecodable'
  | 'too-many-columns'
  | 'cell-too-long'
  | 'too-large'
  | 'damaged'
  | 'encrypted'
  | 'which-sheet'
  | 'rows-above'

/** The whole file is unreadable: exit 2, nothing imported. The message names the reason and what to do. */
export class CsvFileError extends UsageError {
  readonly code: CsvFileErrorCode

  constructor(code: CsvFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

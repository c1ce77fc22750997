/** What the region's files come in when the bytes do not tell: windows-1256 for GCC, windows-1252 elsewhere. */
export type Market = 'AU' | 'US' | 'GCC'

export interface CsvOptions {
  readonly market?: Market
  /** A name that TextDecoder knows: what the user says outweighs what is found. */
  readonly encoding?: string
  /** The same for the field delimiter. */
  readonly delimiter?: string
  /** Whether a name is one that headers are known to use: three in a row make it the header, whatever stands above. */
  readonly isKnownName?: (name: string) => boolean
  /** Most cells of a record; 2,000. */
  readonly maxColumns?: number
  /** Longest cell in bytes; 1,000,000. */
  readonly maxCellBytes?: number
}

export interface CsvEncoding {
  /** As TextDecoder names it. */
  readonly name: string
  readonly bom: boolean
  /** `assumed`: no byte so far tells this encoding from others. */
  readonly confidence: 'certain' | 'likely' | 'assumed'
}

export type LineEnd = 'LF' | 'CRLF' | 'CR'

export interface Dialect {
  readonly delimiter: string
  /** null: quotes are text. */
  readonly quote: '"' | "'" | null
  /** What makes a quote in a quoted cell text: the quote itself, doubled, but for a few exporters. */
  readonly escape: '"' | "'" | '\\' | '\0'
  /** The file begins with Excel's `sep=;` line. */
  readonly sepLine: boolean
  readonly lineEnd: LineEnd
}

export interface CsvHeader {
  /** Physical line of its first row, from 1. */
  readonly line: number
  readonly rows: number
  /** One for each column of the file. Names of several rows are joined with a blank. */
  readonly names: readonly string[]
  /** The rows themselves, as they stand. */
  readonly rowNames: readonly (readonly string[])[]
  /** The header has more or fewer cells than the records: which name belongs to which column is not certain. */
  readonly ragged: boolean
}

export type ProblemCode =
  | 'extra-cell'
  | 'missing-cell'
  | 'truncated-value'
  | 'stray-quote'
  | 'encoding-error'
  | 'repeated-header'
  | 'blank-row'

export interface CsvProblem {
  readonly code: ProblemCode
  readonly message: string
  /** The cells are the only reading that fits the file's columns: fit to use, with a warning. */
  readonly repaired: boolean
}

export interface CsvRecord {
  /** Physical line of its first character, from 1. */
  readonly line: number
  /** As many as the file's columns, or the record's own number where it is ragged and no repair is sure. */
  readonly cells: readonly string[]
  /** Text of the record as in the file, without its line end. */
  readonly raw: string
  readonly problem?: CsvProblem
}

export interface CsvWarning {
  readonly code: 'TRUNCATED_FILE' | 'ENCODING_ERROR' | 'HEADER_WIDTH'
  readonly line: number
  readonly message: string
}

export interface CsvFile {
  /** What the bytes read so far tell: pure ASCII may turn out to be something else further down. */
  readonly encoding: CsvEncoding
  readonly dialect: Dialect
  /** Lines above the header, as text; the `sep=` line is none of them. */
  readonly preamble: readonly string[]
  /** null: the file has no header row. */
  readonly header: CsvHeader | null
  /** Cells of a whole record. */
  readonly width: number
  /** All text above the first record, line ends included, BOM left out: what an export puts back. */
  readonly head: string
  /** Once, in file order, blank rows included. Stopping early closes the file. */
  readonly records: AsyncIterable<CsvRecord>
  /** The same in batches of any length, for whoever counts microseconds. Only one of the two can be read. */
  readonly batches: AsyncIterable<readonly CsvRecord[]>
  /** Complete once the records have been read to their end. */
  readonly warnings: readonly CsvWarning[]
  /** Lets go of the file. Only needed where `records` is never read. */
  close(): Promise<void>
}

export interface Limits {
  readonly maxColumns: number
  readonly maxCellBytes: number
}

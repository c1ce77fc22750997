import type {
  CsvEncoding,
  CsvFile,
  CsvHeader,
  CsvRecord,
  CsvWarning,
  Dialect,
  Limits,
} from './csv-file.ts'
import type { Decoding } from './decode-text.ts'
import type { Layout } from './layout.ts'
import { readCells } from './read-cells.ts'
import { readRecord, withEncodingError } from './read-record.ts'
import { CsvFileError } from './csv-file-error.ts'
import { type Columns, hasSwallowedLines } from './repair.ts'
import { splitRecords } from './split-records.ts'

/** The detected form of a file, and its bytes. */
export interface OpenCsvParts {
  readonly dialect: Dialect
  readonly layout: Layout
  readonly head: string
  readonly decoding: Decoding
  /** All bytes of the file. */
  readonly chunks: AsyncIterable<Buffer>
  readonly limits: Limits
  /** Closes the source. */
  readonly release: () => Promise<void>
}

/** A file whose beginning is understood; its records are not yet read. */
export class OpenCsv implements CsvFile {
  readonly dialect: Dialect
  readonly preamble: readonly string[]
  readonly header: CsvHeader | null
  readonly width: number
  readonly head: string
  readonly records: AsyncIterable<CsvRecord>
  readonly batches: AsyncIterable<readonly CsvRecord[]>
  readonly warnings: CsvWarning[] = []
  readonly #decoding: Decoding
  readonly #chunks: AsyncIterable<Buffer>
  readonly #release: () => Promise<void>
  readonly #layout: Layout
  readonly #limits: Limits

  constructor({ dialect, layout, head, decoding, chunks, limits, release }: OpenCsvParts) {
    this.dialect = dialect
    this.preamble = layout.preamble
    this.header = layout.header
    this.width = layout.width
    this.head = head
    this.#decoding = decoding
    this.#chunks = chunks
    this.#release = release
    this.#layout = layout
    this.#limits = limits
    this.batches = this.#read()
    this.records = eachOf(this.batches)
    if (layout.header?.ragged) this.#warnOfHeader(layout.header)
  }

  get encoding(): CsvEncoding {
    return this.#decoding.encoding
  }

  async close(): Promise<void> {
    await this.#release()
  }

  async *#read(): AsyncGenerator<readonly CsvRecord[]> {
    const { kindCounts, firstLine, width } = this.#layout
    const columns: Columns = { dialect: this.dialect, width, kindCounts }
    const options = {
      firstLine,
      isWhole: true,
      maxRecordBytes: 4 * this.#limits.maxCellBytes,
      hasStrayQuote: (text: string) => hasSwallowedLines(text, columns),
    }
    // A quote left open in a title must not swallow records.
    const body = fromLine(this.#decoding.utf8(this.#chunks), firstLine, this.dialect)
    const lengths = { records: 0, short: 0 }
    for await (const batch of splitRecords(body, this.dialect, options))
      yield batch.flatMap((raw) => {
        const records = readRecord(raw, columns)
        lengths.records += 1
        if (raw.cells.length < width) lengths.short += 1
        // If many rows are short, their last cells were left out, so a short last row proves nothing.
        const mayBeCut = !raw.hasLineEnd && lengths.short * 10 <= lengths.records + 10
        const read = mayBeCut ? this.#cut(records, columns) : records
        return read.map((record) => this.#checked(record))
      })
  }

  /** The file's last records; the very last may be incomplete. */
  #cut(records: readonly CsvRecord[], columns: Columns): readonly CsvRecord[] {
    const last = records.at(-1)!
    const cut = cutRecord(last, columns)
    if (cut === last) return records
    this.#warnOfCut(
      cut.line,
      `the row at line ${cut.line}, which has no line end and too few cells: it was cut. Export it again; if it is complete, add a line end to that row`,
    )
    return [...records.slice(0, -1), cut]
  }

  #checked(record: CsvRecord): CsvRecord {
    assertWithinLimits(record, this.#limits)
    if (this.#decoding.broken && record.raw.includes('\uFFFD')) return this.#broken(record)
    if (record.problem?.code === 'truncated-value')
      this.#warnOfCut(
        record.line,
        `a quoted cell that begins at line ${record.line}: it was cut, or a quote is not closed. Export it again`,
      )
    const isHeader = this.header !== null && isRepeated(record, this.header)
    return isHeader ? { ...record, problem: repeatedHeader } : record
  }

  #broken(record: CsvRecord): CsvRecord {
    const { name } = this.#decoding.encoding
    if (!this.warnings.some(({ code }) => code === 'ENCODING_ERROR'))
      this.warnings.push({
        code: 'ENCODING_ERROR',
        line: record.line,
        message: `from line ${record.line} on there are bytes that are invalid in ${name}: save the file as CSV UTF-8`,
      })
    return withEncodingError(record)
  }

  #warnOfCut(line: number, where: string): void {
    this.warnings.push({ code: 'TRUNCATED_FILE', line, message: `the file ends within ${where}` })
  }

  #warnOfHeader({ line, rowNames }: CsvHeader): void {
    this.warnings.push({
      code: 'HEADER_WIDTH',
      line,
      message: `the header has ${rowNames[0]!.length} names and the records have ${this.width} cells: names may be over the wrong columns`,
    })
  }
}

/** Marks the last record as cut if it has no line end and too few cells. */
function cutRecord(record: CsvRecord, { dialect, width }: Columns): CsvRecord {
  const { line, raw, problem } = record
  if (problem?.code === 'blank-row' || problem?.code === 'truncated-value') return record
  const { cells } = readCells(raw, dialect)
  if (cells.length >= width) return record
  const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`
  const message = `${count} where the file has ${width} columns: the file ends within this row, so it was cut`
  return { line, cells, raw, problem: { code: 'missing-cell', message, repaired: false } }
}

async function* eachOf<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch
}

/** Yields the UTF-8 chunks from line `firstLine` on. */
async function* fromLine(
  chunks: AsyncIterable<Buffer>,
  firstLine: number,
  { lineEnd }: Dialect,
): AsyncGenerator<Buffer> {
  const end = lineEnd === 'CR' ? '\r' : '\n'
  let line = 1
  for await (const chunk of chunks) {
    let from = 0
    for (; line < firstLine && from < chunk.length; line += 1) {
      const at = chunk.indexOf(end, from)
      if (at < 0) break
      from = at + 1
    }
    if (line >= firstLine) yield from === 0 ? chunk : chunk.subarray(from)
  }
}

const repeatedHeader = {
  code: 'repeated-header',
  message: 'a repeated header',
  repaired: false,
} as const

function isRepeated({ cells }: CsvRecord, { rowNames }: CsvHeader): boolean {
  const names = rowNames[0]!
  if (cells[0] !== names[0] || cells.length !== names.length) return false
  return cells.length > 1 && cells.every((cell, column) => cell === names[column])
}

/** Throws if a record exceeds the limits, which no stock list does. */
export function assertWithinLimits({ line, cells, raw }: CsvRecord, limits: Limits): void {
  if (cells.length > limits.maxColumns)
    throw new CsvFileError(
      'too-many-columns',
      `line ${line} has ${cells.length} cells, the limit is ${limits.maxColumns}: rows and columns may be swapped, or it is not a stock list`,
    )
  if (raw.length <= limits.maxCellBytes / 4) return
  const longest = cells.findIndex((cell) => Buffer.byteLength(cell) > limits.maxCellBytes)
  if (longest >= 0)
    throw new CsvFileError(
      'cell-too-long',
      `cell ${longest + 1} of the record at line ${line} is longer than ${limits.maxCellBytes.toLocaleString('en')} bytes: shorten it, or leave the column out`,
    )
}

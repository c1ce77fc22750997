import { Parser } from 'csv-parse'
import type { Dialect } from './csv-file.ts'
import { CsvFileError } from './csv-file-error.ts'
import { type RawRecord, type SplitOptions, trimEnd } from './raw-record.ts'

/** Splits UTF-8 chunks into records with csv-parse, which follows a quoted cell over any number of lines and chunks. */
export class QuotedRecords {
  readonly #dialect: Dialect
  #parser: Parser
  #cuts: Cut[] = []
  /** Bytes since the last record, and their offset in the parser's count. */
  #held: Buffer = Buffer.alloc(0)
  #from = 0
  #line: number

  constructor(dialect: Dialect, line: number) {
    this.#dialect = dialect
    this.#line = line
    this.#parser = this.#open()
  }

  /** Line of the next record. */
  get line(): number {
    return this.#line
  }

  /** Ends the parser and returns the text since the last record. */
  leave(): Buffer {
    this.#parser.destroy()
    return this.#held
  }

  get pendingBytes(): number {
    return this.#held.length
  }

  async add(chunk: Buffer): Promise<RawRecord[]> {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    await write(this.#parser, chunk)
    return this.#take()
  }

  async end(): Promise<RawRecord[]> {
    const isClosed = await end(this.#parser)
    const records = this.#take()
    if (!isClosed && this.#held.length > 0) {
      const text = this.#held.toString('utf8')
      const raw = trimEnd(text)
      const hasLineEnd = raw !== text
      records.push({ line: this.#line, cells: [raw], raw, isUnclosed: true, hasLineEnd })
    }
    return records
  }

  /** Releases the first held line as a record of its own, and starts again after it. */
  async passStrayQuote({ hasStrayQuote, maxRecordBytes }: SplitOptions): Promise<RawRecord[]> {
    const text = this.#held.toString('utf8', 0, 65_536)
    if (!hasStrayQuote(text))
      throw new CsvFileError(
        'cell-too-long',
        `the record at line ${this.#line} is longer than ${maxRecordBytes.toLocaleString('en')} bytes: a quote is not closed, or it is not a stock list. Correct the line, or split the file`,
      )
    const end = this.#held.indexOf(this.#dialect.lineEnd === 'CR' ? '\r' : '\n') + 1
    const raw = trimEnd(this.#held.toString('utf8', 0, end))
    const first = { line: this.#line, cells: [raw], raw, isUnclosed: true, hasLineEnd: true }
    const rest = this.#held.subarray(end)
    this.#parser.destroy()
    this.#parser = this.#open()
    this.#held = Buffer.alloc(0)
    this.#from = 0
    this.#line += 1
    return [first, ...(await this.add(rest))]
  }

  #open(): Parser {
    return openParser(this.#dialect, (cells, end) => this.#cuts.push({ cells, end }))
  }

  #take(): RawRecord[] {
    let from = this.#from
    const records = this.#cuts.map(({ cells, end }) => {
      const raw = this.#held.toString('utf8', from - this.#from, end - this.#from)
      const record = {
        line: this.#line,
        cells,
        raw: trimEnd(raw),
        isUnclosed: false,
        hasLineEnd: trimEnd(raw) !== raw,
      }
      from = end
      this.#line += linesOf(raw, this.#dialect)
      return record
    })
    this.#cuts = []
    this.#held = this.#held.subarray(from - this.#from)
    this.#from = from
    return records
  }
}

interface Cut {
  readonly cells: readonly string[]
  /** Bytes up to its end, its line end included. */
  readonly end: number
}

/** Opens a parser that accepts ragged rows and stray quotes. Records go to `onRecord`, not into the stream's buffer. */
function openParser(
  dialect: Dialect,
  onRecord: (cells: readonly string[], end: number) => void,
): Parser {
  const parser = new Parser({
    delimiter: dialect.delimiter,
    quote: dialect.quote,
    escape: dialect.escape,
    record_delimiter: dialect.lineEnd === 'CR' ? ['\r'] : ['\r\n', '\n'],
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: false,
    on_record: (cells: readonly string[], { bytes }) => {
      onRecord(cells, bytes)
      // Otherwise csv-parse creates an Error with a stack for each record whose length differs from the first.
      counts.records = 0
      return null
    },
  })
  const counts: { records: number } = parser.info
  // `write` and `end` report the error; without a listener it would end the process.
  parser.on('error', () => {})
  return parser
}

function write(parser: Parser, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}

/** Whether the last quoted cell was closed. */
function end(parser: Parser): Promise<boolean> {
  return new Promise((resolve) => {
    parser.once('error', () => resolve(false))
    parser.once('finish', () => resolve(true))
    parser.end()
  })
}

function linesOf(raw: string, { lineEnd }: Dialect): number {
  const end = lineEnd === 'CR' ? '\r' : '\n'
  let lines = 0
  for (let at = raw.indexOf(end); at >= 0; at = raw.indexOf(end, at + 1)) lines += 1
  return lines
}

import { isAscii } from 'node:buffer'
import { Parser } from 'csv-parse'
import { CsvFileError, type Dialect } from './csv-file.ts'

/** A record as csv-parse reads it, before it is compared with the file's columns. */
export interface RawRecord {
  readonly line: number
  readonly cells: readonly string[]
  /** Its text without its line end. */
  readonly raw: string
  /** The file ends within a quoted cell, or the cell is too long; `cells` is then only the text. */
  readonly isUnclosed: boolean
  /** A line end follows: the file is not cut here. */
  readonly hasLineEnd: boolean
}

/** What csv-parse is not asked, or cannot do. */
interface ParseOptions {
  /** Number of the chunks' first line. */
  readonly firstLine: number
  /** Longest record in bytes. */
  readonly maxRecordBytes: number
  /** Whether an overlong text comes from an opening quote that is text, rather than from one long cell. */
  readonly hasStrayQuote: (text: string) => boolean
}

/** How many quotes without an end are passed line by line. */
const maxStrayQuotes = 8

/** Splits UTF-8 chunks into records with csv-parse, one batch for each chunk. Holds at most a chunk and a record. */
export async function* parseRecords(
  chunks: AsyncIterable<Buffer>,
  dialect: Dialect,
  options: ParseOptions,
): AsyncGenerator<readonly RawRecord[]> {
  const parsing = new Parsing(dialect, options)
  for await (const chunk of chunks) {
    yield await parsing.add(chunk)
    while (parsing.isOverlong) yield await parsing.passStrayQuote()
  }
  yield await parsing.end()
}

/** csv-parse, with the line and the text of each record: it counts a CRLF within a cell as two lines, and its own texts cost more. */
class Parsing {
  readonly #dialect: Dialect
  readonly #options: ParseOptions
  #parser: Parser
  #found: { readonly cells: readonly string[]; readonly end: number }[] = []
  /** Bytes since the last record, and their offset in the parser's count. */
  #held: Buffer = Buffer.alloc(0)
  #offset = 0
  #line: number
  #strayQuotes = 0

  constructor(dialect: Dialect, options: ParseOptions) {
    this.#dialect = dialect
    this.#options = options
    this.#line = options.firstLine
    this.#parser = this.#open()
  }

  get isOverlong(): boolean {
    return this.#held.length > this.#options.maxRecordBytes
  }

  async add(chunk: Buffer): Promise<RawRecord[]> {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    await new Promise<void>((resolve, reject) => {
      this.#parser.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
    return this.#take()
  }

  async end(): Promise<RawRecord[]> {
    const isClosed = await new Promise<boolean>((resolve) => {
      this.#parser.once('error', () => resolve(false)).once('finish', () => resolve(true))
      this.#parser.end()
    })
    const records = this.#take()
    if (!isClosed && this.#held.length > 0)
      records.push(this.#recordOf(this.#held.toString('utf8'), null))
    return records
  }

  /** Releases the first held line as a record of its own, and starts again after it. In a file with many such quotes it releases all
   *  held lines: to read the rest again for each of them would be quadratic. */
  async passStrayQuote(): Promise<RawRecord[]> {
    const { maxRecordBytes, hasStrayQuote } = this.#options
    if (!hasStrayQuote(this.#held.toString('utf8', 0, 65_536)))
      throw new CsvFileError(
        'cell-too-long',
        `the record at line ${this.#line} is longer than ${maxRecordBytes.toLocaleString('en')} bytes: a quote is not closed, or it is not a stock list. Correct the line, or split the file`,
      )
    const lineEnd = lineEndText(this.#dialect)
    this.#strayQuotes += 1
    const isOne = this.#strayQuotes <= maxStrayQuotes
    const end = (isOne ? this.#held.indexOf(lineEnd) : this.#held.lastIndexOf(lineEnd)) + 1
    const first = this.#recordOf(this.#held.toString('utf8', 0, end), null)
    const rest = this.#held.subarray(end)
    this.#parser.destroy()
    this.#parser = this.#open()
    this.#held = Buffer.alloc(0)
    this.#offset = 0
    return [first, ...(await this.add(rest))]
  }

  /** A parser that accepts ragged rows and stray quotes. Records go to `#found`, not into the stream's buffer. */
  #open(): Parser {
    const dialect = this.#dialect
    const parser = new Parser({
      delimiter: dialect.delimiter,
      quote: dialect.quote,
      escape: dialect.escape,
      record_delimiter: dialect.lineEnd === 'CR' ? ['\r'] : ['\r\n', '\n'],
      relax_quotes: true,
      relax_column_count: true,
      on_record: (cells: readonly string[], { bytes }) => {
        this.#found.push({ cells, end: bytes })
        // Otherwise csv-parse creates an Error with a stack for each record whose length differs from the first.
        counts.records = 0
        return null
      },
    })
    const counts: { records: number } = parser.info
    // `add` and `end` report the error; without a listener it would end the process.
    return parser.on('error', () => {})
  }

  #take(): RawRecord[] {
    let from = 0
    const encoding = isAscii(this.#held) ? 'latin1' : 'utf8'
    const records = this.#found.map(({ cells, end }) => {
      const text = this.#held.toString(encoding, from, end - this.#offset)
      from = end - this.#offset
      return this.#recordOf(text, cells)
    })
    this.#found = []
    this.#held = this.#held.subarray(from)
    this.#offset += from
    return records
  }

  /** `cells` null: an opening quote is not closed. */
  #recordOf(text: string, cells: readonly string[] | null): RawRecord {
    const raw = withoutLineEnd(text)
    const record = { line: this.#line, cells: cells ?? [raw], raw, isUnclosed: cells === null }
    const lineEnd = lineEndText(this.#dialect)
    for (let at = text.indexOf(lineEnd); at >= 0; at = text.indexOf(lineEnd, at + 1))
      this.#line += 1
    return { ...record, hasLineEnd: raw !== text }
  }
}

function lineEndText({ lineEnd }: Dialect): '\r' | '\n' {
  return lineEnd === 'CR' ? '\r' : '\n'
}

function withoutLineEnd(text: string): string {
  let end = text.length
  if (text[end - 1] === '\n') end -= 1
  while (text[end - 1] === '\r' && end > text.length - 3) end -= 1
  return end === text.length ? text : text.slice(0, end)
}

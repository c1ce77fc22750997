import type { Dialect } from './csv-file.ts'
import { readCells } from './read-cells.ts'
import { type RawRecord, trimEnd } from './raw-record.ts'

/** A longer quoted cell is left to a parser, which does not start again with every chunk. */
const longestWait = 131_072

/**
 * Splits records that need no parser: lines without a quote, and those with every quote where RFC 4180 has it. csv-parse reads
 * them alike, but much slower; a test compares the two.
 */
export class PlainLines {
  readonly #dialect: Dialect
  readonly #lineEnd: '\r' | '\n'
  #text = ''
  #line: number
  #isStopped = false

  constructor(dialect: Dialect, firstLine: number) {
    this.#dialect = dialect
    this.#line = firstLine
    this.#lineEnd = dialect.lineEnd === 'CR' ? '\r' : '\n'
  }

  /** Characters since the last record. */
  get pending(): number {
    return this.#text.length
  }

  /** Line of the next record. */
  get line(): number {
    return this.#line
  }

  /** Whether the next record needs a parser; `leave` returns it first. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** The complete records of the text so far, up to the first that needs a parser. */
  add(added: string): RawRecord[] {
    const text = this.#text + added
    const records: RawRecord[] = []
    let from = 0
    let lines = 0
    let end = text.indexOf(this.#lineEnd)
    for (let lineStart = 0; end >= 0; end = text.indexOf(this.#lineEnd, lineStart)) {
      lines += 1
      // Only a quote can close an open cell.
      const mayEnd = lines === 1 || text.slice(lineStart, end).includes('"')
      lineStart = end + 1
      const record = mayEnd ? this.#read(text.slice(from, lineStart)) : 'open'
      if (record === 'open') continue
      if (record === 'odd') break
      records.push(record)
      from = lineStart
      this.#line += lines
      lines = 0
    }
    this.#text = from === 0 ? text : text.slice(from)
    this.#isStopped = end >= 0 || (lines > 0 && this.pending > longestWait)
    return records
  }

  /** The rest at the end of the file is a record too. */
  end(): RawRecord[] {
    const records = this.add('')
    if (this.#isStopped || this.#text === '') return records
    const record = this.#read(this.#text)
    this.#isStopped = record === 'open' || record === 'odd'
    return typeof record === 'string' ? records : [...records, { ...record, hasLineEnd: false }]
  }

  leave(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  /** Starts again with a text, which is not scanned until more text arrives. */
  resume(line: number, text: string): void {
    this.#line = line
    this.#text = text
    this.#isStopped = false
  }

  /** Reads one record; fails if its cell continues on the next line, or its quotes are wrong. */
  #read(text: string): RawRecord | 'open' | 'odd' {
    const dialect = this.#dialect
    const body = withoutEnd(text, this.#lineEnd)
    const own = { line: this.#line, raw: trimEnd(text), isUnclosed: false, hasLineEnd: true }
    if (dialect.quote === null || !body.includes(dialect.quote))
      return { ...own, cells: body.split(dialect.delimiter), isSound: true }
    if (dialect.quote !== '"' || dialect.escape !== '"') return 'odd'
    const { cells, strayQuotes, isUnclosed } = readCells(own.raw, dialect)
    if (strayQuotes > 0) return 'odd'
    return isUnclosed ? 'open' : { ...own, cells, isSound: true }
  }
}

/** Removes the line end as csv-parse does: LF or CRLF; a second CR stays in the last cell. */
function withoutEnd(text: string, lineEnd: '\r' | '\n'): string {
  if (!text.endsWith(lineEnd)) return text
  return text.slice(0, lineEnd === '\n' && text.endsWith('\r\n') ? -2 : -1)
}

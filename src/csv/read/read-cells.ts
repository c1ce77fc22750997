import type { Dialect } from './csv-file.ts'

/** The cells of a record, and how many of its quotes are wrong. */
export interface CellReading {
  readonly cells: readonly string[]
  /** Quotes that are neither around a cell nor escaped. */
  readonly strayQuotes: number
  /** A quoted cell does not end within the text. */
  readonly isUnclosed: boolean
}

/** Which opening quotes are text: none, all, or the one with this number, from 0. */
export type LiteralQuote = number | 'none' | 'all'

/** Reads the cells of one record leniently: a quoted cell ends at the first quote before a delimiter or the end. csv-parse
 *  reads every record of a file. This reads again those whose quotes are wrong, and compares dialects on the sample: csv-parse
 *  neither counts stray quotes nor reads a record with one quote as text. */
export function readCells(
  raw: string,
  dialect: Dialect,
  literal: LiteralQuote = 'none',
): CellReading {
  const { delimiter, quote } = dialect
  const cells: string[] = []
  let strayQuotes = 0
  let opening = -1
  for (let at = 0; ; at += delimiter.length) {
    const opens = quote !== null && literal !== 'all' && raw.startsWith(quote, at)
    if (opens) opening += 1
    if (opens && opening !== literal) {
      const cell = readQuoted(raw, at, dialect, quote)
      cells.push(cell.text)
      strayQuotes += cell.strayQuotes
      if (cell.end < 0) return { cells, strayQuotes, isUnclosed: true }
      at = cell.end
    } else {
      const end = raw.indexOf(delimiter, at)
      const text = end < 0 ? raw.slice(at) : raw.slice(at, end)
      cells.push(text)
      if (opens || (quote === '"' && text.includes(quote))) strayQuotes += 1
      at = end < 0 ? raw.length : end
    }
    if (at >= raw.length) return { cells, strayQuotes, isUnclosed: false }
  }
}

interface QuotedCell {
  readonly text: string
  readonly strayQuotes: number
  /** Where the delimiter after it begins; -1: the cell has no end. */
  readonly end: number
}

function readQuoted(raw: string, start: number, dialect: Dialect, quote: string): QuotedCell {
  let text = ''
  let strayQuotes = 0
  let from = start + 1
  for (;;) {
    const at = raw.indexOf(quote, from)
    if (at < 0) return { text: text + raw.slice(from), strayQuotes, end: -1 }
    if (dialect.escape !== quote && at > from && raw[at - 1] === dialect.escape) {
      text += raw.slice(from, at - 1) + quote
      from = at + 1
    } else if (raw[at + 1] === quote) {
      text += raw.slice(from, at + 1)
      from = at + 2
    } else {
      const end = endOfCell(raw, at + 1, dialect.delimiter)
      if (end >= 0) return { text: text + raw.slice(from, at), strayQuotes, end }
      text += raw.slice(from, at + 1)
      // An apostrophe within a word is no error.
      if (quote === '"') strayQuotes += 1
      from = at + 1
    }
  }
}

/** The position of the delimiter or end that follows, after optional blanks; -1: other text follows. */
function endOfCell(raw: string, from: number, delimiter: string): number {
  let at = from
  while (raw[at] === ' ' && !delimiter.startsWith(' ')) at += 1
  return at >= raw.length || raw.startsWith(delimiter, at) ? at : -1
}

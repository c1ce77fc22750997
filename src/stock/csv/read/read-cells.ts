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
type LiteralQuote = number | 'none' | 'all'

/** The first record of a text, and where it ends. */
interface FirstRecord extends CellReading {
  readonly end: number
}

/** Reads the cells of one record leniently: a quoted cell ends at the first quote before a delimiter or the end. csv-parse
 *  reads every record of a file. This reads again those whose quotes are wrong, and compares dialects on the sample: csv-parse
 *  neither counts stray quotes nor reads a record with one quote as text. */
export function readCells(
  raw: string,
  dialect: Dialect,
  literal: LiteralQuote = 'none',
): CellReading {
  return readFirst(raw, dialect, { literal, lineEnd: null })
}

/** The same for the first record of several lines; null: a line end is a character like others. */
export function readFirst(
  raw: string,
  dialect: Dialect,
  { literal, lineEnd }: { readonly literal: LiteralQuote; readonly lineEnd: string | null },
): FirstRecord {
  const { delimiter, quote } = dialect
  let ending = -1
  const endAfter = (at: number) => {
    if (ending < at) ending = lineEnd === null ? raw.length : raw.indexOf(lineEnd, at)
    if (ending < 0) ending = raw.length
    return ending
  }
  const cells: string[] = []
  let strayQuotes = 0
  let opening = -1
  for (let at = 0; ; at += delimiter.length) {
    const opens = quote !== null && literal !== 'all' && raw.startsWith(quote, at)
    if (opens) opening += 1
    if (opens && opening !== literal) {
      const cell = readQuoted(raw, at, dialect, { quote, lineEnd })
      cells.push(cell.text)
      strayQuotes += cell.strayQuotes
      if (cell.end < 0) return { cells, strayQuotes, isUnclosed: true, end: raw.length }
      at = cell.end
    } else {
      const found = raw.indexOf(delimiter, at)
      const end = found < 0 ? endAfter(at) : Math.min(found, endAfter(at))
      const text = raw.slice(at, end)
      cells.push(text)
      if (opens || (quote === '"' && text.includes(quote))) strayQuotes += 1
      at = end
    }
    if (at >= endAfter(at)) return { cells, strayQuotes, isUnclosed: false, end: at }
  }
}

interface QuotedCell {
  readonly text: string
  readonly strayQuotes: number
  /** Where the delimiter after it begins; -1: the cell has no end. */
  readonly end: number
}

function readQuoted(
  raw: string,
  start: number,
  dialect: Dialect,
  { quote, lineEnd }: { readonly quote: string; readonly lineEnd: string | null },
): QuotedCell {
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
      const end = endOfCell(raw, at + 1, dialect.delimiter, lineEnd)
      if (end >= 0) return { text: text + raw.slice(from, at), strayQuotes, end }
      text += raw.slice(from, at + 1)
      // An apostrophe within a word is not an error.
      if (quote === '"') strayQuotes += 1
      from = at + 1
    }
  }
}

/** The position of the delimiter or end that follows, after optional blanks; -1: other text follows. */
function endOfCell(raw: string, from: number, delimiter: string, lineEnd: string | null): number {
  let at = from
  while (raw[at] === ' ' && !delimiter.startsWith(' ')) at += 1
  const isEnd = raw.startsWith(delimiter, at) || (lineEnd !== null && raw.startsWith(lineEnd, at))
  return at >= raw.length || isEnd ? at : -1
}

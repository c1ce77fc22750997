import { cellKind, typedKinds } from './cell-kind.ts'
import type { Dialect, LineEnd } from './csv-file.ts'
import { type CellReading, readCells, readFirst } from './read-cells.ts'

const delimiters = [',', ';', '\t', '|', ', ', ' '] as const
/** How many lines of the sample are used. */
const maxLines = 80

/** The dialect in which the sample's records agree best on their number of cells. `named`: the user's delimiter. */
export function sniffDialect(sample: string, isWhole: boolean, named?: string): Dialect {
  const lineEnd = findLineEnd(sample)
  const separator = separatorLine(sample)
  const text = separator ? sample.slice(separator.length) : sample
  const base = { sepLine: separator !== null, lineEnd }
  const forced = named ?? separator?.delimiter
  let best: { readonly dialect: Dialect; readonly score: number } | null = null
  for (const candidate of candidates(text, forced === undefined ? delimiters : [forced])) {
    const dialect = { ...base, ...candidate }
    const all = sampleRecords(text, dialect, isWhole, maxLines)
    const rows = all.filter(({ raw }) => raw.trim() !== '')
    const score = dialectScore(rows, dialect)
    if (best === null || score > best.score + 1e-9) best = { dialect, score }
    if (isPerfect(rows, score)) break
  }
  return best!.dialect
}

/** Excel's hint `sep=;`, plain or quoted, with the length of its line. */
function separatorLine(
  text: string,
): { readonly delimiter: string; readonly length: number } | null {
  const match = /^"?sep=(\\t|[^\r\n"]{1,2})"?(?:\r\n|\n|\r|$)/i.exec(text)
  if (!match) return null
  return { delimiter: match[1] === '\\t' ? '\t' : match[1]!, length: match[0].length }
}

function findLineEnd(text: string): LineEnd {
  const unquoted = text.replace(/"[^"]*"/g, '')
  const returns = unquoted.match(/\r(?![\r\n])/g)?.length ?? 0
  const feeds = unquoted.match(/\n/g)?.length ?? 0
  // The first line end is certain; later line feeds may be inside quoted cells.
  const isFirst = /^[^\r\n]*\r(?!\n)/.test(unquoted)
  if (returns > feeds || (isFirst && returns * 20 > feeds)) return 'CR'
  return /^[^\n]*\r\n/.test(text) ? 'CRLF' : 'LF'
}

/** Dialects whose characters occur in the text, in order of preference for a tie. */
function* candidates(text: string, from: readonly string[]) {
  for (const delimiter of from) {
    if (delimiter !== from[0] && !text.includes(delimiter)) continue
    yield { delimiter, quote: '"', escape: '"' } as const
    if (text.includes('\\"')) yield { delimiter, quote: '"', escape: '\\' } as const
    if (text.includes('\0"')) yield { delimiter, quote: '"', escape: '\0' } as const
    if (/(^|[\n\r,;\t| ])'[^'\n\r]*'($|[\n\r,;\t| ])/.test(text))
      yield { delimiter, quote: "'", escape: "'" } as const
    if (text.includes('"')) yield { delimiter, quote: null, escape: '"' } as const
  }
}

function dialectScore(all: readonly SampleRecord[], { delimiter, quote }: Dialect): number {
  const width = commonWidth(all.map(({ cells }) => cells.length))
  // Titles above the table are not evidence.
  const first = all.findIndex(({ cells }) => cells.length > 1)
  const hasTitle = width > 1 && first > 0 && first < 20
  const rows = hasTitle ? all.slice(first) : all
  if (rows.length === 0) return 0
  const share = (test: (row: SampleRecord) => boolean) => rows.filter(test).length / rows.length
  const skipped = 1 - rows.length / all.length
  const consistency = share(({ cells }) => cells.length === width) * (1 - skipped / 3)
  const sound = 1 - share(({ strayQuotes, isUnclosed }) => strayQuotes > 0 || isUnclosed)
  const cells = rows.flatMap((row) => row.cells)
  const clean = cells.filter((cell) => !showsWrongDialect(cell, delimiter)).length / cells.length
  const spread = 1 - 1 / (width + 1)
  return (
    consistency *
    (0.1 + 0.9 * sound) *
    (0.3 + 0.7 * clean) *
    spread *
    delimiterTrust(rows, width, delimiter) *
    (quote === null ? (rows.length < 10 ? 0.2 : 0.5) : 1)
  )
}

/** Whether all rows have the same three or more columns, without a sign of another dialect. */
function isPerfect(rows: readonly SampleRecord[], score: number): boolean {
  const width = rows[0]?.cells.length ?? 0
  return width >= 3 && score >= 0.995 * (1 - 1 / (width + 1))
}

/** How far to trust a delimiter. Text is full of blanks, so a blank as delimiter needs rows with numbers or dates. */
function delimiterTrust(rows: readonly SampleRecord[], width: number, delimiter: string): number {
  if (delimiter === ', ') return 1.001
  if (delimiter === ',' && width > 1) {
    const later = rows.flatMap(({ cells }) => cells.slice(1))
    // Every cell but the first begins with a blank: the delimiter is a comma and a blank.
    return later.every((cell) => cell.startsWith(' ')) ? 0.9 : 1
  }
  if (delimiter !== ' ' || width === 1) return 1
  const typed = rows.filter(({ cells }) => cells.some((cell) => typedKinds.has(cellKind(cell))))
  return width > 2 && typed.length >= rows.length / 2 ? 0.95 : 0.3
}

/** Whether a cell shows a wrong dialect: quotes around it, or another delimiter in it. */
function showsWrongDialect(cell: string, delimiter: string): boolean {
  if (cell.length > 200) return false
  if (/^\s*(?:'.*'|".*")\s*$/s.test(cell)) return true
  return [';', '\t', '|'].some((other) => other !== delimiter && cell.includes(other))
}

/** The most common number; in a tie, the first to appear. Lines of one cell count only if they are over three quarters of the file. */
export function commonWidth(widths: readonly number[]): number {
  const wide = widths.filter((width) => width > 1)
  const counts = new Map<number, number>()
  for (const width of wide.length >= widths.length / 4 ? wide : widths)
    counts.set(width, (counts.get(width) ?? 0) + 1)
  let common = 1
  let most = 0
  for (const [width, count] of counts) {
    if (count > most) common = width
    most = Math.max(most, count)
  }
  return common
}

/** A record of the sample, as one dialect reads it. */
interface SampleRecord extends CellReading {
  readonly line: number
  /** Without its line end. */
  readonly raw: string
}

/** How many lines a quoted cell of the sample may have. */
const longestCell = 200

/** Reads the records of a small text, up to `mostLines`. An unclosed quote
 *  swallows nothing. If the text is cut, the last record is left out. */
export function sampleRecords(
  text: string,
  dialect: Dialect,
  isWhole: boolean,
  maxLines: number,
): SampleRecord[] {
  const lines = text.split(dialect.lineEnd === 'CR' ? '\r' : /\r?\n/, maxLines + 1)
  const isAll = isWhole && lines.length <= maxLines
  if (!isAll || lines.at(-1) === '') lines.pop()
  const records: SampleRecord[] = []
  for (let at = 0; at < lines.length; ) {
    const { record, length } = recordAt(lines, at, dialect)
    records.push(record)
    at += length
  }
  return records
}

function recordAt(lines: readonly string[], at: number, dialect: Dialect) {
  const end = dialect.lineEnd === 'CR' ? '\r' : dialect.lineEnd === 'CRLF' ? '\r\n' : '\n'
  const first = lines[at]!
  const alone = readCells(first, dialect)
  if (alone.isUnclosed) {
    const text = lines.slice(at, at + longestCell).join(end)
    const { end: length, ...reading } = readFirst(text, dialect, { literal: 'none', lineEnd: end })
    const raw = text.slice(0, length)
    const swallowed = raw.split(end).slice(1)
    const isRecord = reading.strayQuotes === 0 || !swallowed.some((line) => isWhole(line, dialect))
    if (!reading.isUnclosed && isRecord)
      return { record: { line: at + 1, raw, ...reading }, length: 1 + swallowed.length }
  }
  return { record: { line: at + 1, raw: first, ...alone }, length: 1 }
}

/** Whether the line is a complete record, and unlikely to be part of a text. */
function isWhole(line: string, dialect: Dialect): boolean {
  const { cells, strayQuotes, isUnclosed } = readCells(line, dialect)
  return cells.length >= 3 && strayQuotes === 0 && !isUnclosed
}

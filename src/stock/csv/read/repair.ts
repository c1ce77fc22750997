import { cellFit, hasKnownKinds, type KindCounts } from './cell-kind.ts'
import type { CsvProblem, CsvRecord, Dialect, ProblemCode } from './csv-file.ts'
import type { RawRecord } from './parse-records.ts'
import { readCells } from './read-cells.ts'

/** The columns of the file, with which a damaged record is compared. */
export interface Columns {
  readonly dialect: Dialect
  readonly width: number
  readonly kindCounts: KindCounts
  /** Characters that may still be read again to find where a delimiter is missing; rows after that are left as they are. */
  readonly repair: { left: number }
}

/** The steps of 40,000 such rows, or of ten seconds. */
export const repairSteps = 1_000_000_000
/** The most of one row. */
const rowSteps = 4_000_000

/** The raw record as records: one, or one for each line that a stray quote has swallowed. */
export function readRecord(record: RawRecord, columns: Columns): CsvRecord[] {
  const { line, raw, cells, isUnclosed } = record
  if (isBlank(raw, cells)) return [blank(line, raw, cells)]
  if (isUnclosed) return unclosed(record, columns)
  if (!hasDoubtfulQuote(record, columns.dialect))
    return [cells.length === columns.width ? { line, cells, raw } : repairLine(line, raw, columns)]
  const reading = readCells(raw, columns.dialect)
  if (isBlank(raw, reading.cells)) return [blank(line, raw, reading.cells)]
  if (reading.strayQuotes > 0 || reading.isUnclosed)
    return swallowed(line, raw, columns) ?? [repairLine(line, raw, columns)]
  if (reading.cells.length !== columns.width) return [repairLine(line, raw, columns)]
  return [{ line, cells: reading.cells, raw }]
}

/** Whether csv-parse may have misread a quote. It keeps stray quotes in the cell, and those that a blank separates from the
 *  delimiter; it takes a NUL after a quote for the end of the file; and it removes an escape before any character. */
function hasDoubtfulQuote({ raw, cells }: RawRecord, dialect: Dialect): boolean {
  const { quote } = dialect
  if (quote === null) return false
  const isAny = dialect.escape !== quote || raw.includes('\0')
  return isAny ? raw.includes(quote) : cells.some((cell) => cell.includes(quote))
}

function isBlank(raw: string, cells: readonly string[]): boolean {
  if (raw === '' || raw === '\x1a') return true
  return raw.length < 4 * cells.length + 4 && cells.every((cell) => cell.trim() === '')
}

function blank(line: number, raw: string, cells: readonly string[]): CsvRecord {
  return { line, cells, raw, problem: problem('blank-row', 'the row is blank', false) }
}

/** The file ends within a quoted cell, or a quote is never closed. */
function unclosed({ line, raw, hasLineEnd }: RawRecord, columns: Columns): CsvRecord[] {
  const lines = swallowed(line, raw, columns)
  if (lines) return lines
  const isOneLine = splitLines(raw, columns.dialect).length === 1
  if (isOneLine && hasLineEnd && hasWidth(raw, columns)) return [repairLine(line, raw, columns)]
  const cut = 'the file ends within a quoted cell: it was cut, or the quote is not closed'
  const { cells } = readCells(raw, columns.dialect)
  return [{ line, cells, raw, problem: problem('truncated-value', cut, false) }]
}

/** The lines that an opening quote has swallowed, as records; null where it has swallowed none. */
function swallowed(line: number, raw: string, columns: Columns): CsvRecord[] | null {
  if (!hasSwallowedLines(raw, columns)) return null
  return splitLines(raw, columns.dialect).map((text, index) => {
    const { cells, strayQuotes, isUnclosed } = readCells(text, columns.dialect)
    if (isBlank(text, cells)) return blank(line + index, text, cells)
    const isSound = strayQuotes === 0 && !isUnclosed && cells.length === columns.width
    return isSound
      ? { line: line + index, cells, raw: text }
      : repairLine(line + index, text, columns)
  })
}

/** Reads a line again that has stray quotes or the wrong number of cells. Without a certain reading it keeps its cells. */
function repairLine(line: number, raw: string, columns: Columns): CsvRecord {
  const { cells, strayQuotes, isUnclosed } = readCells(raw, columns.dialect)
  const quoted = strayQuotes > 0 || isUnclosed ? withQuoteAsText(raw, columns) : null
  const parted = bestFit(withDelimiterAtQuote(raw, columns))
  if (quoted?.isCertain && !parted)
    return { line, cells: quoted.cells, raw, problem: strayQuote(true) }
  if (parted)
    return { line, cells: parted, raw, problem: problem('missing-cell', partedText, true) }
  const code = cells.length < columns.width ? 'missing-cell' : 'extra-cell'
  const found = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'} where the file has ${columns.width} columns`
  const fitting = bestFit(otherReadings(raw, cells, columns))
  if (quoted && !fitting) return { line, cells: quoted.cells, raw, problem: strayQuote(false) }
  if (!fitting)
    return { line, cells, raw, problem: problem(code, `${found}: ${hints[code]}`, false) }
  const message = `${found}; read in the only way that fits the columns`
  return { line, cells: fitting, raw, problem: problem(code, message, true) }
}

const partedText = 'a delimiter is missing beside a quoted cell; it was added'
const hints = {
  'missing-cell': 'a delimiter is missing, or the row is cut',
  'extra-cell': 'a delimiter too many, or one in a cell without quotes',
}

function strayQuote(repaired: boolean): CsvProblem {
  return problem('stray-quote', 'a quote in the wrong place; it was read as text', repaired)
}

function problem(code: ProblemCode, message: string, repaired: boolean): CsvProblem {
  return { code, message, repaired }
}

interface QuoteReading {
  readonly cells: readonly string[]
  /** Apart from stray quotes it fits the columns; or the file is too short to check, and only one reading has its width. */
  readonly isCertain: boolean
}

/** The first reading with the file's number of cells, if no opening quote, one, or all of them are text. */
function withQuoteAsText(
  raw: string,
  { dialect, width, kindCounts }: Columns,
): QuoteReading | null {
  const { quote } = dialect
  if (quote === null || !raw.includes(quote)) return null
  const readings = new Map<string, readonly string[]>()
  for (const literal of ['none', ...Array(Math.min(width, 64)).keys(), 'all'] as const) {
    const { cells, isUnclosed } = readCells(raw, dialect, literal)
    if (isUnclosed || cells.length !== width) continue
    const bare = cells.map((cell) => (cell.startsWith(quote) ? cell.slice(1) : cell))
    if (hasKnownKinds(bare, kindCounts)) return { cells, isCertain: true }
    readings.set(cells.join('\0'), cells)
  }
  const [first] = readings.values()
  return first ? { cells: first, isCertain: kindCounts.rows < 5 && readings.size === 1 } : null
}

/** One way to read a record, and how well it fits the columns. */
interface Reading {
  readonly fit: number
  readonly cells: () => readonly string[]
}

function otherReadings(raw: string, cells: readonly string[], columns: Columns): Reading[] {
  if (cells.length < columns.width) return shortReadings(raw, cells, columns)
  return cells.length > columns.width ? joined(cells, columns) : []
}

/** Readings of a row with too few cells: without its empty last cells, or with another delimiter. */
function shortReadings(raw: string, cells: readonly string[], columns: Columns): Reading[] {
  const { dialect, width } = columns
  const missing = width - cells.length
  const readings = possibleReadings([...cells, ...Array<string>(missing).fill('')], columns)
  for (const delimiter of [',', ';', '\t', '|', ' ']) {
    if (delimiter === dialect.delimiter || !raw.includes(delimiter)) continue
    const other = { ...columns, dialect: { ...dialect, delimiter } }
    const reading = readCells(raw, other.dialect).cells
    if (reading.length >= width) readings.push(...joined(reading, other))
  }
  return readings
}

/** The reading, if the file has enough rows to compare it with. */
function possibleReadings(cells: readonly string[], { kindCounts }: Columns): Reading[] {
  if (kindCounts.rows < 5 || cells.length !== kindCounts.columns.length) return []
  const fit = cells.reduce((sum, cell, column) => sum + cellFit(cell, column, kindCounts), 0)
  return [{ fit, cells: () => cells }]
}

/** Readings that add the missing delimiter beside a quoted cell. */
function withDelimiterAtQuote(raw: string, columns: Columns): Reading[] {
  const { dialect, width, repair } = columns
  const { delimiter, quote } = dialect
  const readings: Reading[] = []
  if (quote === null) return readings
  const steps = 2 * (raw.split(quote).length - 1) * raw.length
  if (steps > Math.min(rowSteps, repair.left)) return readings
  repair.left -= steps
  for (let at = raw.indexOf(quote); at >= 0; at = raw.indexOf(quote, at + 1))
    for (const cut of [at, at + 1]) {
      const repaired = raw.slice(0, cut) + delimiter + raw.slice(cut)
      const { cells, strayQuotes, isUnclosed } = readCells(repaired, dialect)
      if (strayQuotes === 0 && !isUnclosed && cells.length === width)
        readings.push(...possibleReadings(cells, columns))
    }
  return readings
}

/** How many cells are joined at most to repair one row. */
const joinSteps = 1_000_000

/** Readings of a row with too many cells: one unquoted cell contains delimiters, or there are surplus empty cells. */
function joined(cells: readonly string[], columns: Columns): Reading[] {
  const { dialect, width, kindCounts } = columns
  const extra = cells.length - width
  if (extra === 0) return possibleReadings(cells, columns)
  if (kindCounts.rows < 5 || width * (extra + 1) > joinSteps) return []
  const before = [0]
  for (let at = 0; at < width; at += 1)
    before.push(before[at]! + cellFit(cells[at]!, at, kindCounts))
  const readings: Reading[] = []
  let after = 0
  for (let at = width - 1; at >= 0; at -= 1) {
    const run = cells.slice(at, at + extra + 1)
    const filled = run.filter((cell) => cell.trim() !== '')
    const texts = [
      ...(filled.length === run.length ? [run.join(dialect.delimiter)] : []),
      ...(filled.length <= 1 ? [filled[0] ?? ''] : []),
    ]
    for (const text of texts) {
      const fit = before[at]! + cellFit(text, at, kindCounts) + after
      const whole = () => [...cells.slice(0, at), text, ...cells.slice(at + extra + 1)]
      readings.push({ fit, cells: whole })
    }
    after += cellFit(cells[at + extra]!, at, kindCounts)
  }
  return readings
}

/** The reading that fits the columns best; null if none fits, or if two fit about equally well. */
function bestFit(readings: readonly Reading[]): readonly string[] | null {
  const most = readings.reduce((fit, reading) => Math.max(fit, reading.fit), -Infinity)
  if (most === -Infinity) return null
  const [best, ...others] = readings
    .filter(({ fit }) => most - fit <= 2)
    .map(({ cells }) => cells())
  const isBest = (cells: readonly string[]) => cells.every((cell, at) => cell === best![at])
  return others.every(isBest) ? best! : null
}

/** Whether an opening quote has swallowed several records: most lines of the text are complete records, including the
 *  first if its quote is text. */
export function hasSwallowedLines(text: string, columns: Columns): boolean {
  const lines = splitLines(text.slice(0, 65_536), columns.dialect).slice(0, 50)
  if (lines.length < 2 || withQuoteAsText(lines[0]!, columns) === null) return false
  const whole = lines.filter((line) => hasWidth(line, columns))
  return whole.length > lines.length / 2
}

/** Whether the line has the file's number of cells, perhaps with a quote read as text. */
function hasWidth(line: string, columns: Columns): boolean {
  return (
    withQuoteAsText(line, columns) !== null ||
    readCells(line, columns.dialect).cells.length === columns.width
  )
}

/** Splits a text at the dialect's line ends. */
function splitLines(text: string, { lineEnd }: Dialect): string[] {
  return text.split(lineEnd === 'CR' ? '\r' : /\r?\n/)
}

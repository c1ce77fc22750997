import type { CsvRecord } from './csv-file.ts'
import { readCells } from './read-cells.ts'
import { type Columns, hasWidth, linesOf, hasSwallowedLines, repairLine } from './repair.ts'
import type { RawRecord } from './raw-record.ts'

/** The raw record as records: one, or one for each line that a stray quote has swallowed. */
export function readRecord(record: RawRecord, columns: Columns): CsvRecord[] {
  const { line, raw, cells } = record
  const { width } = columns
  if (isBlank(raw, cells)) return [blank(record)]
  const { quote } = columns.dialect
  const isSound = record.isSound || quote === null || !raw.includes(quote)
  if (isSound && cells.length === width) return [{ line, cells, raw }]
  if (isSound) return [repairLine(line, raw, columns)]
  const reading = readCells(raw, columns.dialect)
  if (record.isUnclosed) return unclosed(record, columns)
  if (reading.strayQuotes > 0 || reading.isUnclosed)
    return swallowed(record, columns) ?? [repairLine(line, raw, columns)]
  if (reading.cells.length !== width) return [repairLine(line, raw, columns)]
  // csv-parse keeps quotes that a blank separates from the delimiter, and removes an escape before any character.
  return [{ line, cells: reading.cells, raw }]
}

function isBlank(raw: string, cells: readonly string[]): boolean {
  if (raw === '' || raw === '\x1a') return true
  return raw.length < 4 * cells.length + 4 && cells.every((cell) => cell.trim() === '')
}

function blank({ line, raw, cells }: RawRecord): CsvRecord {
  return {
    line,
    cells,
    raw,
    problem: { code: 'blank-row', message: 'the row is blank', repaired: false },
  }
}

/** The file ends within a quoted cell, or a quote is never closed. */
function unclosed(record: RawRecord, columns: Columns): CsvRecord[] {
  const { line, raw, hasLineEnd } = record
  const lines = swallowed(record, columns)
  if (lines) return lines
  const isOneLine = linesOf(raw, columns.dialect).length === 1
  if (isOneLine && hasLineEnd && hasWidth(raw, columns)) return [repairLine(line, raw, columns)]
  const problem = {
    code: 'truncated-value',
    message: 'the file ends within a quoted cell: it was cut, or the quote is not closed',
    repaired: false,
  } as const
  return [{ line, cells: readCells(raw, columns.dialect).cells, raw, problem }]
}

function swallowed({ line, raw }: RawRecord, columns: Columns): CsvRecord[] | null {
  if (!hasSwallowedLines(raw, columns)) return null
  const records: CsvRecord[] = []
  for (const [index, text] of linesOf(raw, columns.dialect).entries()) {
    const { cells, strayQuotes, isUnclosed } = readCells(text, columns.dialect)
    const own = { line: line + index, cells, raw: text, isUnclosed: false, hasLineEnd: true }
    if (isBlank(text, cells)) records.push(blank(own))
    else if (strayQuotes === 0 && !isUnclosed && cells.length === columns.width)
      records.push({ line: own.line, cells, raw: text })
    else records.push(repairLine(own.line, text, columns))
  }
  return records
}

/** Adds the problem of invalid bytes to a record. */
export function withEncodingError(record: CsvRecord): CsvRecord {
  const message = 'this row has bytes that are invalid in the file’s encoding'
  return record.problem?.repaired === false
    ? record
    : { ...record, problem: { code: 'encoding-error', message, repaired: false } }
}

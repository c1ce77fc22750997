import type { Dialect } from './csv-file.ts'
import { type CellReading, readCells } from './read-cells.ts'

/** A record of the sample, as one dialect reads it. */
export interface SampleRecord extends CellReading {
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
  mostLines: number,
): SampleRecord[] {
  const lines = text.split(dialect.lineEnd === 'CR' ? '\r' : /\r?\n/, mostLines + 1)
  const isAll = isWhole && lines.length <= mostLines
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
    let raw = first
    for (let length = 2; length <= longestCell && at + length <= lines.length; length += 1) {
      raw += end + lines[at + length - 1]
      // Only a quote can close the cell.
      if (!lines[at + length - 1]!.includes(dialect.quote ?? '')) continue
      const reading = readCells(raw, dialect)
      if (reading.isUnclosed) continue
      const swallowed = lines.slice(at + 1, at + length)
      if (reading.strayQuotes > 0 && swallowed.some((line) => isWhole(line, dialect))) break
      return { record: { line: at + 1, raw, ...reading }, length }
    }
  }
  return { record: { line: at + 1, raw: first, ...alone }, length: 1 }
}

/** Whether the line is a complete record, and unlikely to be part of a text. */
function isWhole(line: string, dialect: Dialect): boolean {
  const { cells, strayQuotes, isUnclosed } = readCells(line, dialect)
  return cells.length >= 3 && strayQuotes === 0 && !isUnclosed
}

import { type CellKind, cellKind, countKinds, type KindCounts, typedKinds } from './cell-kind.ts'
import type { CsvHeader, CsvRecord } from './csv-file.ts'

/** Where the table begins, and the lines above it. */
export interface Layout {
  readonly width: number
  readonly preamble: readonly string[]
  readonly header: CsvHeader | null
  /** Of the first records below the header. */
  readonly kindCounts: KindCounts
  /** Physical line of the first record. */
  readonly firstLine: number
}

/** The header is searched in this many rows. */
const headerSearchRows = 20
/** How many rows are used to learn the columns' kinds. */
const profiledRows = 200

/** Splits the first records of a file into preamble, header rows and body. */
export function findLayout(
  records: readonly CsvRecord[],
  width: number,
  isKnownName: (name: string) => boolean,
): Layout {
  const start = findStart(records, width, isKnownName)
  const headerRows = headerRowsAt(records, start, width, isKnownName)
  // Without a header, only a row that is too short counts as a title; a row with few filled cells does not.
  const first = headerRows === 0 ? firstLongRow(records, width) : start
  const rows = records.slice(first, first + headerRows)
  const body = records.slice(first + headerRows)
  const bodyWidth = rows.length > 0 ? widthWithHeader(rows[0]!, body, width) : width
  const kindCounts = countKinds(soundRows(body, bodyWidth, rows.length > 0), bodyWidth)
  return {
    width: bodyWidth,
    preamble: records.slice(0, first).map(({ raw }) => raw),
    header: rows.length > 0 ? findHeader(rows, bodyWidth, kindCounts) : null,
    kindCounts,
    firstLine: firstLine(records, first + headerRows),
  }
}

/** Rows without damage: damaged ones may have values in the wrong columns. If many rows are short, their last empty cells
 *  were left out. */
function soundRows(body: readonly CsvRecord[], width: number, hasHeader: boolean): Rows {
  const all = filled(body)
  const short = all.filter(({ length }) => length < width)
  if (hasHeader && short.length >= Math.max(2, all.length / 5))
    return all.map((row) => [...row, ...Array<string>(Math.max(0, width - row.length)).fill('')])
  return filled(body.filter(({ problem }) => !problem))
}

function findStart(
  records: readonly CsvRecord[],
  width: number,
  isKnownName: (name: string) => boolean,
): number {
  const top = records.slice(0, headerSearchRows)
  const known = top.findIndex(({ cells }) => hasKnownNames(cells, isKnownName))
  if (known >= 0) return known
  const start = top.findIndex(
    ({ cells }) => countFilled(cells) >= Math.max(Math.min(2, width), width / 2),
  )
  return Math.max(0, start)
}

/** Whether a row has three or more names that stock lists have. */
export function hasKnownNames(
  cells: readonly string[],
  isKnownName: (name: string) => boolean,
): boolean {
  return cells.filter(isKnownName).length >= 3
}

function firstLongRow(records: readonly CsvRecord[], width: number): number {
  const isTitle = (cells: readonly string[]) => cells.length <= width / 2 && cells.length < width
  const first = records
    .slice(0, headerSearchRows)
    .findIndex(({ cells }) => countFilled(cells) > 0 && !isTitle(cells))
  return Math.max(0, first)
}

/** How many rows from `start` on are header rows: 0 to 3. */
function headerRowsAt(
  records: readonly CsvRecord[],
  start: number,
  width: number,
  isKnownName: (name: string) => boolean,
): number {
  const first = records[start]
  if (!first || countFilled(first.cells) === 0) return 0
  const body = (from: number) => filled(records.slice(from))
  if (!hasKnownNames(first.cells, isKnownName) && !isHeader(first.cells, body(start + 1), width))
    return 0
  for (let rows = 1; rows < 3; rows += 1) {
    const next = records[start + rows]
    if (!next || !continuesHeader(next.cells, first.cells, body(start + rows + 1))) return rows
  }
  return 3
}

/** Whether it is a row of names above columns of other kinds. */
function isHeader(cells: readonly string[], body: Rows, width: number): boolean {
  const whole = body.filter((row) => row.length === width && !isSame(row, cells))
  if (whole.length === 0 || cells.length !== width) return cells.every(isName)
  const votes = countVotes(cells, countKinds(whole, width))
  if (votes.names !== votes.values) return votes.names > votes.values
  // Columns of words alone: a name occurs once, values repeat.
  const isOnce = (cell: string, column: number) => whole.every((row) => row[column] !== cell)
  const isDistinct = new Set(cells).size === cells.length
  return (
    isDistinct && cells.every((cell, at) => cell.trim() !== '' && isName(cell) && isOnce(cell, at))
  )
}

/** Whether it is a second or third row of names or units; a row of values has numbers or dates. */
function continuesHeader(cells: readonly string[], first: readonly string[], rows: Rows): boolean {
  const body = countKinds(rows, cells.length)
  if (body.rows === 0 || cells.length !== first.length) return false
  if (cells.length > 1 && isSame(cells, first)) return true
  const { names, values, typed } = countVotes(cells, body)
  return typed >= 2 && values === 0 && names >= typed / 2 && cells.every(isName)
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((cell, column) => cell === other[column])
}

interface Votes {
  readonly names: number
  readonly values: number
  /** Columns with one kind of value. */
  readonly typed: number
}

function countVotes(cells: readonly string[], body: KindCounts): Votes {
  let [names, values, typed] = [0, 0, 0]
  for (const [column, kinds] of body.columns.entries()) {
    const common = commonKind(kinds)
    const kind = cellKind(cells[column] ?? '')
    if (common === null || kind === 'empty') {
      typed += common === null ? 0 : 1
      continue
    }
    typed += 1
    if (kind === common) values += common === 'code' ? 0.5 : 1
    else if (typedKinds.has(kind)) values += 0.5
    else names += 1
  }
  return { names, values, typed }
}

/** The main kind of a column of typed values. */
function commonKind(kinds: ReadonlyMap<CellKind, number>): CellKind | null {
  const total = [...kinds].reduce((sum, [kind, count]) => sum + (kind === 'empty' ? 0 : count), 0)
  for (const kind of [...typedKinds, 'code'] as const)
    if (total > 0 && (kinds.get(kind) ?? 0) >= 0.6 * total) return kind
  return null
}

function isName(cell: string): boolean {
  return cell.length <= 80 && !typedKinds.has(cellKind(cell))
}

/** If records leave out their last empty cells, the header has the number of columns. */
function widthWithHeader(header: CsvRecord, body: readonly CsvRecord[], width: number): number {
  const names = header.cells.length
  const widths = filled(body).map((cells) => cells.length)
  const isTrimmed = new Set(widths).size > 2 && Math.max(...widths) === names
  return names > width && isTrimmed ? names : width
}

function findHeader(rows: readonly CsvRecord[], width: number, kindCounts: KindCounts): CsvHeader {
  const rowNames = rows.map(({ cells }) => cells)
  const aligned = rowNames.map((names) => align(names, width))
  const names = Array.from({ length: width }, (_, column) =>
    aligned
      .map((row) => row[column]?.trim() ?? '')
      .filter((name) => name !== '')
      .join(' '),
  )
  const ragged = rowNames.some(
    (row) =>
      row.slice(width).some((name) => name.trim() !== '') ||
      kindCounts.columns
        .slice(row.length)
        .some((kinds) => kinds.keys().some((kind) => kind !== 'empty')),
  )
  return { line: rows[0]!.line, rows: rows.length, names, rowNames, ragged }
}

/** Names for `width` columns: surplus empty names are dropped, missing ones are empty. */
function align(names: readonly string[], width: number): readonly string[] {
  const named = names.filter((name) => name.trim() !== '')
  if (names.length > width && named.length === width) return named
  return names
}

type Rows = readonly (readonly string[])[]

function filled(records: readonly CsvRecord[]): Rows {
  return records
    .slice(0, profiledRows)
    .filter(({ cells }) => countFilled(cells) > 0)
    .map(({ cells }) => cells)
}

function countFilled(cells: readonly string[]): number {
  return cells.filter((cell) => cell.trim() !== '').length
}

function firstLine(records: readonly CsvRecord[], index: number): number {
  const next = records[index]
  if (next) return next.line
  const last = records[index - 1]
  return last ? last.line + last.raw.split(/\r\n|\n|\r/).length : 1
}

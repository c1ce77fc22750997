import { constants, createWriteStream } from 'node:fs'
import { access, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { sql } from 'kysely'
import { errorText, UsageError } from '../../errors.ts'
import { queryPages } from '../../warehouse/db/query-pages.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { ColumnMapping } from '../csv/map/column-mapping.ts'
import { type CellIssue, errorTexts } from '../csv/map/typing/typed-row.ts'
import { byteOrderMark, csvText, defaultStyle } from '../csv/write/csv-text.ts'
import { escapeFormula } from '../csv/write/escape-formula.ts'
import { placeholderNames, problemCell, rejectColumns } from '../own-columns.ts'

/** Delimiters that Excel opens without a dialog. */
const commonDelimiters = [',', ';', '\t', '|']

/** UsageError if the file exists or cannot be written; checked before anything is read. */
export async function checkRejectsPath(file: string): Promise<void> {
  const exists = await access(file).then(
    () => true,
    () => false,
  )
  if (exists)
    throw new UsageError(
      `--rejects ${file}: the file already exists and is not overwritten. Name another, or move it away.`,
    )
  try {
    await access(dirname(file), constants.W_OK)
  } catch (cause) {
    throw new UsageError(
      `--rejects ${file}: the folder cannot be written to (${errorText(cause)}).`,
      { cause },
    )
  }
}

/** A file that is written under a temporary name. */
export interface PendingFile {
  place(): Promise<void>
  discard(): Promise<void>
}

/** The rejected rows of an import, and how to write them. */
interface RejectsSource {
  readonly rowsTable: string
  readonly importId: number
  /** The newest import when the rows were written; default: the import itself. */
  readonly asOf?: number
  readonly delimiter: string
  /** null: the file has no header. */
  readonly names: readonly string[] | null
  /** The dealer's columns. */
  readonly columns: readonly Pick<ColumnMapping, 'index' | 'field'>[]
}

/** Which rows of an import are written, and what a person corrected in them. */
export interface ChosenRows {
  /** Default: the rejected ones. */
  readonly all?: boolean
  /** Only these rows, by line: new texts by the index of their column. They count as right then, whatever was wrong before. */
  readonly corrected?: ReadonlyMap<number, ReadonlyMap<number, string>>
}

/**
 * Writes the rejected rows for `--rejects`: the dealer's columns, then the import, the line and the errors of each row. No cell
 * runs as a formula, and the file can be corrected and imported alone.
 */
export async function writeRejects(
  db: Db,
  file: string,
  source: RejectsSource,
): Promise<PendingFile> {
  const part = `${file}.part`
  const discard = () => rm(part, { force: true })
  // A crash may have left it; a link that someone put there is not followed.
  await discard()
  try {
    await pipeline(Readable.from(rejectsText(db, source)), createWriteStream(part, { flags: 'wx' }))
  } catch (error) {
    await discard()
    throw error
  }
  return { place: () => rename(part, file), discard }
}

/** The text of that file. */
export async function* rejectsText(
  db: Db,
  { rowsTable, importId, asOf = importId, delimiter, names, columns }: RejectsSource,
  { all = false, corrected }: ChosenRows = {},
): AsyncGenerator<string> {
  const isCommon = commonDelimiters.includes(delimiter)
  const style = { ...defaultStyle, delimiter: isCommon ? delimiter : ',' }
  const width = columns.length
  const originals = names?.slice(0, width).map(escapeFormula) ?? placeholderNames(columns)
  yield byteOrderMark + csvText([[...originals, ...rejectColumns]], style)
  const recordOf = ({ line_no, status, cells, issues }: StoredRow) => {
    const changes = corrected?.get(line_no)
    const cellAt = (index: number) => changes?.get(index) ?? cells[index] ?? ''
    const escaped = Array.from({ length: width }, (_, index) => escapeFormula(cellAt(index)))
    // A whole list is brought back, and corrects nothing.
    const place = [all ? '' : String(asOf), String(line_no)]
    if (status !== 'rejected' || changes) return [...escaped, ...place, '', '']
    // Surplus cells belong to no column, so they are listed with the errors.
    const beyond = cells.slice(names?.length ?? width).filter((cell) => cell !== '')
    const problem = problemCell(issues)
    const errors = issuesText(issues, beyond, problem !== '')
    return [...escaped, ...place, problem, escapeFormula(errors)]
  }
  const lines = corrected === undefined ? null : [...corrected.keys()]
  const query = sql<StoredRow>`
    select line_no, status, cells, issues from ${sql.table(rowsTable)}
    where import_id = ${importId} and (${all} or status = 'rejected')
      and (${lines}::int[] is null or line_no = any(${lines}::int[])) order by line_no`
  for await (const rows of queryPages(db, query)) yield csvText(rows.map(recordOf), style)
}

function issuesText(
  issues: readonly CellIssue[],
  beyond: readonly string[],
  isDamaged: boolean,
): string {
  const rest = beyond.length === 0 ? [] : [`surplus cells: ${beyond.join(' | ')}`]
  const advice = isDamaged ? ['when its cells are right, empty this cell'] : []
  return [...errorTexts(issues), ...rest, ...advice].join('; ')
}

interface StoredRow {
  readonly line_no: number
  readonly status: string
  readonly cells: readonly string[]
  readonly issues: readonly CellIssue[]
}

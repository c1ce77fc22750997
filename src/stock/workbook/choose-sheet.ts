import { shellQuoted } from '../../values/shell.ts'
import { plainText } from '../csv/map/typing/plain-text.ts'
import { isSoldTitle } from '../csv/map/typing/sold-words.ts'
import { namesVehicle } from '../csv/map/vehicle-words.ts'
import { CsvFileError, type CsvWarning } from '../csv/read/csv-file.ts'
import { hasKnownNames } from '../csv/read/layout.ts'
import { saveAsCsv } from './limits.ts'
import type { SheetRow } from './sheet-rows.ts'
import type { SheetPart } from './workbook-parts.ts'

/** Several sheets may be the stock list, or none has the name asked for: the user has to choose. */
export class SheetChoiceError extends CsvFileError {
  /** The names to choose from; `New/Used` are two sheets as one list. */
  readonly sheets: readonly string[]

  constructor(message: string, sheets: readonly string[]) {
    super('which-sheet', message)
    this.sheets = sheets
  }
}

/** How many rows of each sheet are read to find the list. */
const searchedRows = 60
/** Rows of a sheet, and sheets, that are read to name what was not imported. */
const [countedRows, countedSheets] = [2_000, 20]

type RowsOf = (sheet: SheetPart) => AsyncGenerator<readonly SheetRow[]>

/** The sheets with the list: those that are named, else the only visible one that may be a list. */
export async function chooseSheets(
  sheets: readonly SheetPart[],
  named: string | undefined,
  isKnownName: (name: string) => boolean,
  rowsOf: RowsOf,
): Promise<readonly SheetPart[]> {
  if (named !== undefined) return sheetsNamed(named, sheets)
  const visible = sheets.filter(({ isHidden }) => !isHidden)
  const hidden = sheets.filter(({ isHidden }) => isHidden)
  const fitting = await sheetsWithList(visible, isKnownName, rowsOf)
  if (!fitting.isNamed) {
    const { sheets: lists, isNamed, headers } = await sheetsWithList(hidden, isKnownName, rowsOf)
    if (isNamed)
      throw several('may have the list on a hidden sheet', [...lists, ...fitting.sheets], headers)
  }
  if (visible.length === 1) return visible
  const { sheets: lists, headers } = fitting
  if (lists.length === 1) return lists
  if (lists.length > 1) throw several('has several sheets that may be the list', lists, headers)
  if (visible.length > 0) throw several('has no sheet with a table', visible)
  throw new CsvFileError(
    'workbook',
    `all sheets of the workbook are hidden: show the one with the list and save it, or ${saveAsCsv}`,
  )
}

/** A name with `/`, which no sheet can have, names several. */
function sheetsNamed(named: string, sheets: readonly SheetPart[]): readonly SheetPart[] {
  return named.split('/').map((name) => {
    const wanted = name.trim().toLowerCase()
    const found =
      sheets.find((sheet) => sheet.name === name) ??
      sheets.find((sheet) => sheet.name.trim().toLowerCase() === wanted)
    if (found) return found
    throw several(`has no sheet ${JSON.stringify(name)}`, sheets)
  })
}

/** `headers`: the header of each sheet, as far as it is known. Those with the same one can be read as one list. */
function several(
  what: string,
  sheets: readonly SheetPart[],
  headers: readonly (string | null)[] = [],
): SheetChoiceError {
  const names = sheets.map(({ name }) => name)
  const alike = names.filter((name, at) => {
    const header = headers[at] ?? null
    return header !== null && header === headers[0] && !isSoldTitle(name)
  })
  const together = alike.length > 1 ? [alike.join('/')] : []
  const list = names.slice(0, 20).map((name) => JSON.stringify(name))
  const more = names.length > list.length ? `, and ${names.length - list.length} more` : ''
  const joined = together.map(
    (name) => `. Some have the same header: --sheet ${shellQuoted(name)} reads them as one list`,
  )
  return new SheetChoiceError(
    `the workbook ${what}. Choose one with --sheet <name>: ${list.join(', ')}${more}${joined.join('')}`,
    [...names, ...together],
  )
}

interface Lists {
  readonly sheets: readonly SheetPart[]
  /** Whether they have a row of names that stock lists have. */
  readonly isNamed: boolean
  readonly headers: readonly (string | null)[]
}

/** Sheets with a row of names that stock lists have; without any, those with two rows of two cells or more. */
async function sheetsWithList(
  sheets: readonly SheetPart[],
  isKnownName: (name: string) => boolean,
  rowsOf: RowsOf,
): Promise<Lists> {
  const [named, tables, headers]: [SheetPart[], SheetPart[], string[]] = [[], [], []]
  for (const sheet of sheets) {
    const rows = await firstRows(rowsOf(sheet), searchedRows)
    const header = rows.find(({ cells }) => hasKnownNames(cells, isKnownName))
    if (header !== undefined) {
      named.push(sheet)
      headers.push(rowKey(header.cells))
    }
    if (rows.filter(({ cells }) => countFilled(cells) > 1).length > 1) tables.push(sheet)
  }
  const isNamed = named.length > 0
  return { sheets: isNamed ? named : tables, isNamed, headers }
}

/** The form in which headers of sheets are compared. */
export function rowKey(cells: readonly string[]): string {
  return cells.map((cell) => plainText(cell).toLowerCase()).join('\n')
}

function countFilled(cells: readonly string[]): number {
  return cells.filter((cell) => cell.trim() !== '').length
}

async function firstRows(
  batches: AsyncGenerator<readonly SheetRow[]>,
  count: number,
): Promise<readonly SheetRow[]> {
  const rows: SheetRow[] = []
  for await (const batch of batches) {
    rows.push(...batch)
    if (rows.length >= count) break
  }
  return rows.slice(0, count)
}

/** A warning for each other sheet that has vehicles too, hidden ones as well. */
export async function unreadSheets(
  sheets: readonly SheetPart[],
  read: readonly SheetPart[],
  isKnownName: (name: string) => boolean,
  rowsOf: RowsOf,
): Promise<readonly CsvWarning[]> {
  const warnings: CsvWarning[] = []
  for (const sheet of sheets.filter((one) => !read.includes(one)).slice(0, countedSheets)) {
    const rows = await firstRows(rowsOf(sheet), countedRows).catch((error: unknown) => {
      if (error instanceof CsvFileError) return error
      throw error
    })
    if (rows instanceof CsvFileError) {
      warnings.push({ code: 'SHEET_NOT_READ', line: 1, message: `another sheet: ${rows.message}` })
      continue
    }
    const count = countVehicles(rows, isKnownName)
    if (count === 0) continue
    const kind = sheet.isHidden ? 'hidden sheet' : 'sheet'
    const most = rows.length === countedRows ? 'at least ' : ''
    const name = JSON.stringify(sheet.name)
    const message = `the ${kind} ${name} has ${most}${count} ${count === 1 ? 'row' : 'rows'} of vehicles that were not read. If they are stock, import them too, or read both as one list where their headers are the same`
    const advice = `--sheet ${shellQuoted(sheet.name)} reads it`
    warnings.push({ code: 'SHEET_NOT_READ', line: 1, message, advice })
  }
  return warnings
}

/** Rows below a known header with half of its cells, or with a VIN, or with a make and a number of four digits. */
function countVehicles(rows: readonly SheetRow[], isKnownName: (name: string) => boolean): number {
  const header = rows.findIndex(({ cells }) => hasKnownNames(cells, isKnownName))
  const least = header < 0 ? Infinity : Math.max(3, countFilled(rows[header]!.cells) / 2)
  return rows.filter(({ cells }, at) => {
    if (at > header && countFilled(cells) >= least) return true
    return namesVehicle(cells.map(plainText))
  }).length
}

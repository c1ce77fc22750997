import { CsvFileError } from '../csv/read/csv-file.ts'
import { saveAsCsv } from './limits.ts'
import type { SheetRow } from './sheet-rows.ts'
import type { SheetPart } from './workbook-parts.ts'

/** Several sheets may be the stock list, or none has the name asked for: the user has to choose. */
export class SheetChoiceError extends CsvFileError {
  /** The names to choose from. */
  readonly sheets: readonly string[]

  constructor(message: string, sheets: readonly string[]) {
    super('which-sheet', message)
    this.sheets = sheets
  }
}

/** How many rows of each sheet are read to find the list. */
const searchedRows = 60

/** The sheet with the list: the one that is named, else the only visible one that may be a list. */
export async function chooseSheet(
  sheets: readonly SheetPart[],
  named: string | undefined,
  isKnownName: (name: string) => boolean,
  rowsOf: (sheet: SheetPart) => AsyncGenerator<readonly SheetRow[]>,
): Promise<SheetPart> {
  if (named !== undefined) return sheetNamed(named, sheets)
  const visible = sheets.filter(({ isHidden }) => !isHidden)
  if (visible.length === 1) return visible[0]!
  const fitting = await sheetsWithList(visible, isKnownName, rowsOf)
  if (fitting.length === 1) return fitting[0]!
  if (fitting.length > 1) throw several('has several sheets that may be the list', fitting)
  if (visible.length > 0) throw several('has no sheet with a table', visible)
  throw new CsvFileError(
    'workbook',
    `all sheets of the workbook are hidden: show the one with the list and save it, or ${saveAsCsv}`,
  )
}

function sheetNamed(named: string, sheets: readonly SheetPart[]): SheetPart {
  const wanted = named.trim().toLowerCase()
  const found =
    sheets.find(({ name }) => name === named) ??
    sheets.find(({ name }) => name.trim().toLowerCase() === wanted)
  if (found) return found
  throw several(`has no sheet ${JSON.stringify(named)}`, sheets)
}

function several(what: string, sheets: readonly SheetPart[]): SheetChoiceError {
  const names = sheets.map(({ name }) => name)
  const list = names.slice(0, 20).map((name) => JSON.stringify(name))
  const more = names.length > list.length ? `, and ${names.length - list.length} more` : ''
  return new SheetChoiceError(
    `the workbook ${what}. Choose one with --sheet <name>: ${list.join(', ')}${more}`,
    names,
  )
}

/** Sheets with a row of names that stock lists have; without any, those with two rows of two cells or more. */
async function sheetsWithList(
  sheets: readonly SheetPart[],
  isKnownName: (name: string) => boolean,
  rowsOf: (sheet: SheetPart) => AsyncGenerator<readonly SheetRow[]>,
): Promise<readonly SheetPart[]> {
  const [named, tables]: [SheetPart[], SheetPart[]] = [[], []]
  for (const sheet of sheets) {
    const rows = await firstRows(rowsOf(sheet), searchedRows)
    if (rows.some(({ cells }) => cells.filter(isKnownName).length >= 3)) named.push(sheet)
    if (rows.filter(({ cells }) => filledOf(cells) > 1).length > 1) tables.push(sheet)
  }
  return named.length > 0 ? named : tables
}

function filledOf(cells: readonly string[]): number {
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

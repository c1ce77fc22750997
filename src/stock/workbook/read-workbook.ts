import { plural } from '../../values/text.ts'
import { isSoldTitle } from '../csv/map/typing/sold-words.ts'
import {
  type CsvFile,
  CsvFileError,
  type CsvOptions,
  type CsvRecord,
  type CsvWarning,
  type Dialect,
} from '../csv/read/csv-file.ts'
import { findLayout, hasKnownNames, type Layout } from '../csv/read/layout.ts'
import { withRepeatedHeader } from '../csv/read/repeated-header.ts'
import { csvText, defaultStyle } from '../csv/write/csv-text.ts'
import { chooseSheets, rowKey, unreadSheets } from './choose-sheet.ts'
import { saveAsCsv, tooLarge, type WorkbookLimits } from './limits.ts'
import { RichText } from './rich-text.ts'
import { type CellContext, columnName, type SheetRow, sheetRows } from './sheet-rows.ts'
import { TextTable } from './text-table.ts'
import { openWorkbook, type SheetPart } from './workbook-parts.ts'
import { cellTooLong, readXml, type XmlSource } from './xml.ts'
import type { ZipParts } from './zip-parts.ts'

/** Rows that are used to find the table and the kinds of its columns, as for CSV. */
const layoutRows = 300
/** How many records are yielded together. */
const batchSize = 1_000

/** Opens the list in an .xlsx file. Its records are those of the same list as CSV: cells as shown, one for each column, and blank
 *  rows between filled ones. */
export async function readWorkbook(
  zip: ZipParts,
  { sheet: named, isKnownName = () => false }: Pick<CsvOptions, 'isKnownName'> & { sheet?: string },
  limits: WorkbookLimits,
): Promise<CsvFile> {
  const book = await openWorkbook(zip, limits)
  const { styles, general } = book
  const sharedStrings = book.sharedStrings
    ? await readSharedStrings(book.source(book.sharedStrings))
    : new TextTable()
  const rowsOf = (
    { name, part }: SheetPart,
    notes: Pick<CellContext, 'onMerged' | 'onHidden' | 'onHiddenRow'> = {},
  ) => sheetRows(book.source(part), { sheet: name, styles, general, sharedStrings, ...notes })
  const chosen = await chooseSheets(book.sheets, named, isKnownName, rowsOf)
  const merged = new MergedRows()
  const hiddenRows = new HiddenRows()
  const joined = new JoinedSheets(chosen)
  const sheets = book.sheets.filter(({ isHidden }) => !isHidden).map(({ name }) => name)
  const endWarnings = async (firstLine: number) => [
    ...merged.warningsFrom(firstLine),
    ...hiddenRows.warningsFrom(firstLine),
    ...joined.warnings,
    ...(await unreadSheets(book.sheets, chosen, isKnownName, rowsOf)),
  ]
  const sheet = chosen.map(({ name }) => name).join('/')
  const hidden = new Set<number>()
  const table = { sheet, sheets, hidden, isKnownName, endWarnings }
  // Of several sheets that are read as one list, the first one's.
  const onHidden = (part: SheetPart) => (column: number) =>
    void (part === chosen[0] && hidden.add(column))
  const isHeader = ({ cells }: SheetRow) => hasKnownNames(cells, isKnownName)
  return await openTable(
    joined.rows(
      (part) =>
        rowsOf(part, {
          onMerged: merged.note,
          onHiddenRow: hiddenRows.note,
          onHidden: onHidden(part),
        }),
      isHeader,
    ),
    table,
  )
}

/** Several sheets with the same header as one list; their rows are numbered on. */
class JoinedSheets {
  readonly #sheets: readonly SheetPart[]
  readonly warnings: CsvWarning[] = []

  constructor(sheets: readonly SheetPart[]) {
    this.#sheets = sheets
  }

  async *rows(
    rowsOf: (sheet: SheetPart) => AsyncGenerator<readonly SheetRow[]>,
    isHeader: (row: SheetRow) => boolean,
  ): AsyncGenerator<readonly SheetRow[]> {
    let before = 0
    let first: readonly string[] | null = null
    for (const sheet of this.#sheets) {
      let names: readonly string[] | null = null
      const top = before
      if (top > 0) yield [this.#titleRow(sheet, top + 1)]
      const offset = top > 0 ? top + 1 : 0
      for await (const batch of rowsOf(sheet)) {
        const rows = batch.map((row) => ({ ...row, line: offset + row.line }))
        before = rows.at(-1)!.line
        names ??= rows.find(isHeader)?.cells ?? null
        first ??= names
        if (names !== null && rowKey(names) !== rowKey(first!)) throw otherHeader(this.#sheets)
        // Written like the first one, so that it is known as a repeated header.
        yield top === 0
          ? rows
          : rows.map((row) => (row.cells === names ? { ...row, cells: first! } : row))
      }
      if (names === null && this.#sheets.length > 1) throw otherHeader(this.#sheets)
    }
  }

  /** It ends a block of sold vehicles at the end of the sheet above. */
  #titleRow({ name }: SheetPart, line: number): SheetRow {
    const message = `the sheet ${JSON.stringify(name)} follows in the same list: line ${line + 1} is its row 1`
    this.warnings.push({ code: 'SHEETS_JOINED', line, message })
    return { line, cells: [isSoldTitle(name) ? name : `sheet ${name}`] }
  }
}

function otherHeader(sheets: readonly SheetPart[]): CsvFileError {
  const names = sheets.map(({ name }) => JSON.stringify(name)).join(' and ')
  return new CsvFileError(
    'which-sheet',
    `the sheets ${names} do not have the same header, so they are not one list: import each by itself as a part of the stock, or make their headers equal`,
  )
}

/** The first range of merged cells that covers several rows. */
class MergedRows {
  #ranges: { readonly range: string; readonly first: number }[] = []

  readonly note = (range: string, first: number, last: number): void => {
    if (last > first && this.#ranges.length < 1_000) this.#ranges.push({ range, first })
  }

  /** Merged rows below the first are empty, as in a CSV file; most people expect the value in each of them. */
  warningsFrom(firstLine: number): CsvWarning[] {
    const below = this.#ranges.filter(({ first }) => first >= firstLine)
    const [found] = below
    if (!found) return []
    const others = below.length > 1 ? ` (and ${below.length - 1} other ranges)` : ''
    const message = `the cells ${found.range}${others} are merged: only the first of them has the value. Split merged cells that hold values of several vehicles`
    return [{ code: 'MERGED_CELLS', line: found.first, message }]
  }
}

/** Rows that a person does not see, as those that a filter hides: they are read like the others. */
class HiddenRows {
  readonly #lines: number[] = []
  #count = 0

  readonly note = (line: number): void => {
    this.#count += 1
    // Those above the list are a few.
    if (this.#lines.length < 1_000) this.#lines.push(line)
  }

  warningsFrom(firstLine: number): CsvWarning[] {
    const above = this.#lines.filter((line) => line < firstLine).length
    const first = this.#lines.find((line) => line >= firstLine)
    if (first === undefined) return []
    const rows = plural(this.#count - above, 'row')
    const message = `the workbook hides ${rows} of the list, from row ${first} on; they were read like the others. If they are not stock, delete them`
    return [{ code: 'HIDDEN_ROWS', line: first, message }]
  }
}

interface Table {
  readonly sheet: string
  readonly sheets: readonly string[]
  /** Complete once a row has been read. */
  readonly hidden: ReadonlySet<number>
  readonly isKnownName: (name: string) => boolean
  /** What is known once all rows have been read. */
  readonly endWarnings: (firstLine: number) => Promise<readonly CsvWarning[]>
}

async function openTable(
  batches: AsyncGenerator<readonly SheetRow[]>,
  { sheet, sheets, hidden, isKnownName, endWarnings }: Table,
): Promise<CsvFile> {
  const rows = withBlankRows(batches)
  const first = await takeRows(rows, layoutRows)
  if (first.length === 0)
    throw new CsvFileError(
      'empty',
      `the sheet ${JSON.stringify(sheet)} of the workbook is empty: export the stock list again, or choose another sheet`,
    )
  const layout = sheetLayout(first, isKnownName)
  const { preamble, header, width, firstLine } = layout
  const warnings: CsvWarning[] = []
  const above = first.filter(({ line }) => line < firstLine).map(({ cells }) => cells)
  return {
    ...{ encoding: { name: 'xlsx', bom: false, confidence: 'certain' }, dialect },
    ...{ preamble, header, width, warnings, head: csvText(above, defaultStyle) },
    ...{ origin: { sheet, entry: null }, sheets, hiddenColumns: [...hidden] },
    batches: (async function* () {
      yield* recordBatches(first, rows, layout)
      warnings.push(...(await endWarnings(firstLine)))
    })(),
    close: async () => void (await rows.return(undefined)),
  }
}

/** A workbook has none: its rows are stored and written as plain CSV. */
const dialect: Dialect = {
  delimiter: defaultStyle.delimiter,
  ...{ quote: '"', escape: '"', sepLine: false, lineEnd: 'CRLF' },
}

/** Rows that the file leaves out, and rows without a value, as blank rows; none after the last row with a value. */
async function* withBlankRows(
  batches: AsyncGenerator<readonly SheetRow[]>,
): AsyncGenerator<SheetRow> {
  let next = 1
  for await (const batch of batches)
    for (const row of batch) {
      for (; next < row.line; next += 1) yield { line: next, cells: [] }
      yield row
      next = row.line + 1
    }
}

async function takeRows(rows: AsyncGenerator<SheetRow>, count: number): Promise<SheetRow[]> {
  const taken: SheetRow[] = []
  while (taken.length < count) {
    const next = await rows.next()
    if (next.done) break
    taken.push(next.value)
  }
  return taken
}

/** The table is as wide as its rows: a note right of the title does not widen it. */
function sheetLayout(rows: readonly SheetRow[], isKnownName: (name: string) => boolean): Layout {
  const layout = layoutWith(rows, sheetWidth(rows), isKnownName)
  const top = layout.header?.line ?? layout.firstLine
  const width = sheetWidth(rows.filter(({ line }) => line >= top))
  return width < layout.width ? layoutWith(rows, width, isKnownName) : layout
}

function layoutWith(
  rows: readonly SheetRow[],
  width: number,
  isKnownName: (name: string) => boolean,
): Layout {
  // As in CSV, where a title is short: only its length shows it above a list without a header.
  const firstLong = rows.findIndex(({ cells }) => cells.length > width / 2)
  const records = rows.map((row, at) => sheetRecord(row, at < firstLong ? row.cells.length : width))
  return findLayout(records, width, isKnownName)
}

function sheetWidth(rows: readonly SheetRow[]): number {
  return rows.reduce((most, { cells }) => Math.max(most, cells.length), 1)
}

/** The row with `width` cells. A row that is longer than the table has a note beside it, which is left out of no cell. */
function sheetRecord(
  { line, cells, isSubtotal, isStruck, isPartlyStruck, numbers }: SheetRow,
  width: number,
): CsvRecord {
  const whole = cells.length < width ? filledUp(cells, width) : cells
  const record = {
    ...{ line, cells: whole, raw: rawText(whole) },
    ...(isSubtotal ? { isSubtotal } : {}),
    ...(isStruck ? { isStruck } : {}),
    ...(isPartlyStruck ? { isPartlyStruck } : {}),
    ...(numbers ? { numbers } : {}),
  }
  if (cells.every((cell) => cell.trim() === '')) return { ...record, problem: blank }
  if (cells.length <= width) return record
  const message = `cell ${columnName(cells.length - 1)}${line} is right of the table’s ${width} columns, so it was not read`
  return { ...record, problem: { code: 'extra-cell', message, repaired: true } }
}

const blank = { code: 'blank-row', message: 'the row is blank', repaired: false } as const

function filledUp(cells: readonly string[], width: number): readonly string[] {
  const whole = cells.slice()
  while (whole.length < width) whole.push('')
  return whole
}

const needsQuotes = /[",\r\n]|^[\s']|\s$/

/** For titles and samples; csv-stringify would take a third of the time of reading. */
function rawText(cells: readonly string[]): string {
  const quoted = (cell: string) =>
    needsQuotes.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
  return cells.map(quoted).join(',')
}

/** The records below the header. */
async function* recordBatches(
  first: readonly SheetRow[],
  rest: AsyncGenerator<SheetRow>,
  { header, width, firstLine }: Layout,
): AsyncGenerator<readonly CsvRecord[]> {
  const toRecord = (row: SheetRow) => {
    const record = sheetRecord(row, width)
    return header ? withRepeatedHeader(record, header) : record
  }
  let batch = first.filter(({ line }) => line >= firstLine).map(toRecord)
  for await (const row of rest) {
    if (batch.length >= batchSize) {
      yield batch
      batch = []
    }
    batch.push(toRecord(row))
  }
  if (batch.length > 0) yield batch
}

/** The texts that cells refer to by their number. */
export async function readSharedStrings(source: XmlSource): Promise<TextTable> {
  const { limits, name } = source
  const where = `a text of ${name}`
  const texts = new TextTable()
  let characters = 0
  const rich = new RichText()
  await readXml(source, 'sst', {
    open: (element, attributes) => {
      if (element === 'si') rich.start()
      else rich.open(element, attributes)
    },
    close: (element) => {
      if (element !== 'si') return rich.close(element)
      const text = rich.end()
      if (text.length > limits.cellLength) throw cellTooLong(where, limits)
      characters += text.length
      texts.add(text)
      if (characters > limits.sharedCharacters || texts.count > limits.sharedTexts)
        throw tooManyTexts(limits)
    },
    text: (text) => {
      // With escapes it may be longer than what it means.
      if (rich.add(text) > 8 * limits.cellLength) throw cellTooLong(where, limits)
    },
  })
  return texts
}

function tooManyTexts(limits: WorkbookLimits): CsvFileError {
  const [texts, characters] = [limits.sharedTexts, limits.sharedCharacters]
  return tooLarge(
    'the workbook has too many different texts',
    `${texts.toLocaleString('en')} texts with ${characters.toLocaleString('en')} characters`,
    `delete sheets that are not part of the stock list, or ${saveAsCsv}`,
  )
}

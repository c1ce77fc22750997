import { notCalculated } from '../csv/map/typing/plain-text.ts'
import { type CellNumber, CsvFileError, type CsvRecord } from '../csv/read/csv-file.ts'
import { damaged, saveAsCsv, tooLarge, type WorkbookLimits } from './limits.ts'
import type { CellFormat } from './number-format.ts'
import { RichText, withoutEscapes } from './rich-text.ts'
import type { TextTable } from './text-table.ts'
import { type Attributes, cellTooLong, streamXml, type XmlSource } from './xml.ts'

/** A row with at least one value. Cells up to the last one with a value; gaps are empty. */
export type SheetRow = Pick<
  CsvRecord,
  'line' | 'cells' | 'isSubtotal' | 'isStruck' | 'isPartlyStruck' | 'numbers'
>

/** How cells of a style are read. */
export interface CellStyle extends CellFormat {
  readonly isStruck: boolean
}

/** What the cells of a sheet refer to. */
export interface CellContext {
  /** The name of the sheet, for messages. */
  readonly sheet: string
  readonly styles: readonly CellStyle[]
  /** Of cells whose style the workbook does not have. */
  readonly general: CellFormat
  readonly sharedStrings: TextTable
  /** Called for each range of merged cells, after the rows. */
  readonly onMerged?: (range: string, firstLine: number, lastLine: number) => void
  /** Called for each hidden row with a value. */
  readonly onHiddenRow?: (line: number) => void
  /** Called for each hidden column, from 0, before the rows. */
  readonly onHidden?: (column: number) => void
}

/** Yields the rows of a sheet that have a value, a batch for each piece of the file. */
export async function* sheetRows(
  source: XmlSource,
  context: CellContext,
): AsyncGenerator<readonly SheetRow[]> {
  const reader = new SheetReader(source.limits, context)
  for await (const _ of streamXml(source, 'worksheet', reader)) {
    const rows = reader.take()
    if (rows.length > 0) yield rows
  }
}

type CellType = 'n' | 's' | 'str' | 'inlineStr' | 'b' | 'e' | 'd'

class SheetReader {
  readonly #limits: WorkbookLimits
  readonly #context: CellContext
  readonly #rich = new RichText()
  #rows: SheetRow[] = []
  #line = 0
  #isHidden = false
  #cells: string[] = []
  #numbers: (CellNumber | undefined)[] | null = null
  // The cell at work.
  #column = -1
  #type: CellType = 'n'
  #style = 0
  #value: string | null = null
  #isValue = false
  #isInline = false
  #hasFormula = false
  /** The formula's first characters; null outside of one. */
  #formula: string | null = null
  #isSubtotal = false
  // Of the row at work: its cells with a value, and those that are struck through.
  #filled = 0
  #isFirstStruck = false
  #struck = 0

  constructor(limits: WorkbookLimits, context: CellContext) {
    this.#limits = limits
    this.#context = context
  }

  /** Returns the rows that are complete, and forgets them. */
  take(): readonly SheetRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  open = (element: string, attributes: Attributes): void => {
    if (element === 'c') this.#openCell(attributes)
    else if (element === 'v') this.#openValue()
    else if (element === 'row') this.#openRow(attributes)
    else if (element === 'f') this.#openFormula()
    else if (element === 'is') this.#openInline()
    else if (this.#isInline) this.#rich.open(element, attributes)
    else if (element === 'mergeCell') this.#noteMerged(attributes['ref'] ?? '')
    else if (element === 'col') this.#noteHidden(attributes)
  }

  text = (text: string): void => {
    if (this.#isValue) this.#addValue(text)
    else if (this.#formula !== null && this.#formula.length < longestFormula)
      this.#formula += text.slice(0, longestFormula)
    else if (this.#isInline) this.#assertLength(this.#rich.add(text))
  }

  close = (element: string): void => {
    if (element === 'c') this.#closeCell()
    else if (element === 'v') this.#isValue = false
    else if (element === 'f') this.#closeFormula()
    else if (element === 'row') this.#closeRow()
    else if (element === 'is') this.#closeInline()
    else if (this.#isInline) this.#rich.close(element)
  }

  place = (): string | null => (this.#isValue || this.#isInline ? this.#cell() : null)

  #openRow({ r, hidden }: Attributes): void {
    const line = r === undefined ? this.#line + 1 : Number(r)
    if (!Number.isSafeInteger(line) || line <= this.#line)
      throw damaged(`row ${String(r).slice(0, 20)} of ${this.#sheet()} follows row ${this.#line}`)
    this.#line = line
    this.#isHidden = hidden === '1' || hidden === 'true'
    this.#cells = []
    this.#numbers = null
    this.#column = -1
  }

  #openCell({ r, s, t }: Attributes): void {
    this.#column = r === undefined ? this.#column + 1 : columnNumber(r)
    this.#type = (t ?? 'n') as CellType
    this.#style = s === undefined ? 0 : Number(s)
    this.#value = null
    this.#hasFormula = false
  }

  #openFormula(): void {
    this.#hasFormula = true
    this.#formula = ''
  }

  #closeFormula(): void {
    if (isOfSeveralRows(this.#formula ?? '')) this.#isSubtotal = true
    this.#formula = null
  }

  #openValue(): void {
    this.#isValue = true
    this.#value = ''
  }

  /** In pieces, each of them short: the whole is held. With escapes it may be longer than what it means. */
  #addValue(text: string): void {
    this.#value += text
    if (this.#value!.length > 8 * this.#limits.cellLength)
      throw cellTooLong(this.#cell(), this.#limits)
  }

  #openInline(): void {
    this.#isInline = true
    this.#rich.start()
  }

  #closeInline(): void {
    this.#isInline = false
    this.#value = this.#rich.end()
  }

  #closeCell(): void {
    const text = this.#shown()
    if (text === '') return
    this.#assertLength(text.length)
    this.#assertPlace()
    while (this.#cells.length < this.#column) this.#cells.push('')
    this.#cells[this.#column] = text
    this.#filled += 1
    if (!this.#context.styles[this.#style]?.isStruck) return
    this.#struck += 1
    if (this.#filled === 1) this.#isFirstStruck = true
  }

  #closeRow(): void {
    const [line, cells, numbers] = [this.#line, this.#cells, this.#numbers]
    const isStruck = this.#struck * 2 > this.#filled
    if (cells.length > 0 && this.#isHidden) this.#context.onHiddenRow?.(line)
    if (cells.length > 0)
      this.#rows.push({
        ...{ line, cells },
        ...(this.#isSubtotal ? { isSubtotal: true } : {}),
        ...(isStruck ? { isStruck } : {}),
        ...(this.#isFirstStruck && !isStruck ? { isPartlyStruck: true } : {}),
        ...(numbers ? { numbers } : {}),
      })
    this.#cells = []
    this.#numbers = null
    this.#isSubtotal = false
    this.#filled = 0
    this.#struck = 0
    this.#isFirstStruck = false
  }

  /** The text of the cell; `''` for none. */
  #shown(): string {
    const value = this.#value
    if (value === null || (value === '' && this.#type !== 'str'))
      return this.#hasFormula ? notCalculated : ''
    const type = this.#type
    if (type === 's') return this.#shared(value)
    if (type === 'n') return this.#number(value)
    if (type === 'b') return value.trim() === '1' || value.trim() === 'true' ? 'TRUE' : 'FALSE'
    return type === 'inlineStr' ? value : withoutEscapes(value)
  }

  #number(written: string): string {
    const format = this.#context.styles[this.#style] ?? this.#context.general
    const text = format.show(written)
    const number = format.number(written, text)
    if (number === null) return text
    this.#numbers ??= []
    this.#numbers[this.#column] = number
    return text
  }

  #shared(index: string): string {
    const text = this.#context.sharedStrings.at(Number(index))
    if (text !== undefined) return text
    throw damaged(`${this.#cell()} refers to text ${index.slice(0, 20)}, which does not exist`)
  }

  #assertLength(length: number): void {
    if (length > this.#limits.cellLength) throw cellTooLong(this.#cell(), this.#limits)
  }

  #assertPlace(): void {
    const { rows, columns } = this.#limits
    if (this.#column < columns && this.#line <= rows) return
    const cell = `${this.#cell()} has a value`
    if (this.#column >= columns)
      throw new CsvFileError(
        'too-many-columns',
        `${cell}, the limit is ${columns} columns: delete what is right of the list, or ${saveAsCsv}`,
      )
    const limit = `${rows.toLocaleString('en')} rows`
    throw tooLarge(cell, limit, `delete what is below the list, or ${saveAsCsv}`)
  }

  #sheet(): string {
    return `sheet ${JSON.stringify(this.#context.sheet)}`
  }

  #cell(): string {
    return `cell ${columnName(this.#column)}${this.#line} of ${this.#sheet()}`
  }

  #noteHidden({ hidden, min, max }: Attributes): void {
    if (hidden !== '1' && hidden !== 'true') return
    const last = Math.min(Number(max), this.#limits.columns)
    for (let column = Number(min); column <= last; column += 1) this.#context.onHidden?.(column - 1)
  }

  #noteMerged(range: string): void {
    const [, first, last] = /^[A-Z]+(\d+):[A-Z]+(\d+)$/.exec(range) ?? []
    if (last !== undefined) this.#context.onMerged?.(range, Number(first), Number(last))
  }
}

const longestFormula = 1_000
const summary =
  /^(?:_xlfn\.)?(?:SUBTOTAL|AGGREGATE|SUM|AVERAGE|MIN|MAX|MEDIAN|COUNT|COUNTA|STDEV)\(([^()]*)\)$/i

/** Whether a formula is nothing but the sum, the average and so on of cells in several rows. */
function isOfSeveralRows(formula: string): boolean {
  const ranges = summary.exec(formula.trim())?.[1] ?? ''
  return [...ranges.matchAll(/\$?[A-Z]{1,3}\$?(\d+):\$?[A-Z]{1,3}\$?(\d+)/gi)].some(
    ([, first, last]) => first !== last,
  )
}

/** The number of a column from 0, from a reference such as `AB12`; Excel has at most three letters. */
function columnNumber(reference: string): number {
  let column = 0
  let at = 0
  for (; at < reference.length; at += 1) {
    const code = reference.charCodeAt(at) & 0xdf
    if (code < 0x41 || code > 0x5a) break
    column = column * 26 + code - 0x40
  }
  if (at === 0 || at > 3)
    throw damaged(`${JSON.stringify(reference.slice(0, 20))} is not a place of a cell`)
  return column - 1
}

/** `AB` for 27. */
export function columnName(column: number): string {
  const rest = Math.floor(column / 26)
  const letter = String.fromCharCode(0x41 + (column % 26))
  return rest === 0 ? letter : columnName(rest - 1) + letter
}

import { hash } from 'node:crypto'
import { encodeCell, encodeJson } from '../../warehouse/db/copy.ts'
import { CopyText } from '../../warehouse/db/copy-text.ts'
import type { StockRow, TypedRow } from '../csv/map/typing/typed-row.ts'
import type { CsvRecord } from '../csv/read/csv-file.ts'
import { shortenIssue } from './issue-tally.ts'
import { unitColumns } from './unit-columns.ts'

const longestKey = 80

export const rowColumns = 'import_id, line_no, stock_no, status, issues, cells'
const contentColumns = [...unitColumns, 'content_hash'].join(', ')
export const stageColumns = `line_no, is_rejected, has_left, ${contentColumns}`
export const addedColumns = `import_id, rooftop_id, first_seen_at, last_seen_at, ${contentColumns}`
export const changeColumns = 'import_id, rooftop_id, stock_no, change, changes'

/** The import whose rows and units are written. */
interface BatchTarget {
  readonly importId: number
  readonly rooftopId: number
  readonly now: Date
}

/** A unit that may already be in the warehouse. */
interface WaitingUnit {
  readonly line: number
  readonly stockNo: string
  /** The position of its columns among those that wait. */
  readonly start: number
  readonly end: number
}

/** Lines for the tables of units and of changes. */
export interface AddedUnits {
  readonly units: CopyText
  readonly changes: CopyText
  readonly count: number
}

/** Typed rows as COPY text, sent together. */
export class RowBatch {
  /** For the table of rows. */
  readonly rows = new CopyText()
  /** For the table of the stage. */
  readonly stage = new CopyText()
  /** The columns of each waiting unit, with a tab before each, and the line end. */
  readonly #contents = new CopyText()
  readonly #waiting: WaitingUnit[] = []
  readonly #importId: number
  /** The text before the columns of an added unit, and of its change. */
  readonly #unitHead: string
  readonly #changeHead: string
  #added = noUnits()

  constructor({ importId, rooftopId, now }: BatchTarget) {
    const at = now.toISOString()
    this.#importId = importId
    this.#changeHead = `${importId}\t${rooftopId}`
    this.#unitHead = `${this.#changeHead}\t${at}\t${at}`
  }

  /** In bytes. */
  get length(): number {
    return this.rows.length + this.#contents.length + this.#added.units.length
  }

  /** Stock numbers to check in the warehouse. */
  get mayBeKnown(): readonly string[] {
    return this.#waiting.map(({ stockNo }) => stockNo)
  }

  add(record: CsvRecord, row: TypedRow, mayBeKnown: boolean): void {
    this.rows.append(rowLine(this.#importId, record, row))
    const { unit } = row
    if (unit === null) {
      if (row.status === 'rejected' || row.hasLeft)
        this.stage.append(rejectedLine(record.line, row))
      return
    }
    const columns = rowContent(unit)
    const content = `${columns}\t\\\\x${hash('sha256', columns, 'hex')}\n`
    if (!mayBeKnown) {
      this.#added.units.append(this.#unitHead + content)
      this.#addChange(unit.stock_no)
      return
    }
    const start = this.#contents.length
    this.#contents.append(content)
    const [end, { line }] = [this.#contents.length, record]
    this.#waiting.push({ line, stockNo: unit.stock_no, start, end })
  }

  /** Stages the waiting units that are known and second rows of one unit; adds the others. Returns how many were staged. */
  splitWaiting(known: ReadonlySet<string>): number {
    const seen = new Set(known)
    let staged = 0
    for (const { line, stockNo, start, end } of this.#waiting) {
      if (seen.has(stockNo)) {
        staged += 1
        this.stage.append(`${line}\tf\tf`)
        this.stage.appendFrom(this.#contents, start, end)
        continue
      }
      seen.add(stockNo)
      this.#added.units.append(this.#unitHead)
      this.#added.units.appendFrom(this.#contents, start, end)
      this.#addChange(stockNo)
    }
    return staged
  }

  /** Returns the units to add so far, and empties the list. */
  takeAdded(): AddedUnits {
    const added = this.#added
    this.#added = noUnits()
    return added
  }

  #addChange(stockNo: string): void {
    const added = this.#added
    added.changes.append(`${this.#changeHead}\t${encodeCell(stockNo)}\tadded\t{}\n`)
    added.count += 1
  }
}

function noUnits() {
  return { units: new CopyText(), changes: new CopyText(), count: 0 }
}

function rowLine(importId: number, { line, cells }: CsvRecord, row: TypedRow): string {
  const { key, unit } = row
  const stockNo = unit?.stock_no ?? key.stockNo ?? key.vin
  const issues = row.issues.length === 0 ? '[]' : encodeJson(row.issues.map(shortenIssue))
  const name = encodeCell(stockNo?.slice(0, longestKey).toWellFormed() ?? null)
  return `${importId}\t${line}\t${name}\t${row.status}\t${issues}\t${encodeJson(cells)}\n`
}

/** In the order of unitColumns. Written out: a loop with lookups by name is slower. */
function rowContent(unit: StockRow): string {
  const { stock_no, vin, adcode, plate, make, model, variant } = unit
  const { model_year, odometer_km, asking_price, cost, currency_code, acquired_on } = unit
  const vehicle = `\t${encodeCell(stock_no)}\t${encodeCell(vin)}\t${encodeCell(adcode)}\t${encodeCell(plate)}\t${encodeCell(make)}\t${encodeCell(model)}\t${encodeCell(variant)}`
  const amounts = `\t${model_year ?? none}\t${odometer_km ?? none}\t${asking_price ?? none}\t${cost ?? none}\t${encodeCell(currency_code)}`
  return `${vehicle}${amounts}\t${unit.price_on_application ? 't' : 'f'}\t${acquired_on ?? none}\t${encodeJson(unit.extras)}`
}

const none = '\\N'

/** Nulls for the columns after stock_no and vin, and for the hash. */
const otherColumns = '\t\\N'.repeat(unitColumns.length - 1)

/** The key of a row without a unit. */
function rejectedLine(line: number, { key, hasLeft }: TypedRow): string {
  const keys = [key.stockNo, key.vin].map((text) => encodeCell(text?.slice(0, longestKey) ?? null))
  return `${line}\tt\t${hasLeft ? 't' : 'f'}\t${keys.join('\t')}${otherColumns}\n`
}

import { hash } from 'node:crypto'
import type { StockRow, TypedRow } from '../../csv/map/typing/stock-row.ts'
import type { CsvRecord } from '../../csv/read/csv-file.ts'
import { encodeCell, encodeJson } from '../../db/copy.ts'
import { CopyText } from '../../db/copy-text.ts'
import { brief } from './issue-tally.ts'
import { unitColumns } from './unit-columns.ts'

const longestKey = 80

export const rowColumns = 'import_id, line_no, stock_no, status, issues, cells'
const contentColumns = [...unitColumns, 'content_hash'].join(', ')
export const stageColumns = `line_no, is_rejected, is_new, ${contentColumns}`
export const newUnitColumns = `import_id, rooftop_id, first_seen_at, last_seen_at, ${contentColumns}`
export const changeColumns = 'import_id, rooftop_id, stock_no, change, changes'

/** The import whose rows and units are written, as COPY's text has it. */
export interface Written {
  readonly importId: number
  readonly rooftopId: number
  readonly now: Date
}

interface WaitingUnit {
  readonly line: number
  readonly stockNo: string
  readonly vin: string | null
  /** Where its columns and their digest stand among those of the batch. */
  readonly start: number
  readonly end: number
  readonly digest: string
}

/** Lines of COPY text of the tables that a batch of units goes to. */
export interface UnitLines {
  readonly stage: CopyText
  readonly units: CopyText
  readonly changes: CopyText
}

/** Typed rows that wait to be sent together, as COPY's text. */
export class Batch {
  /** For the table of rows. */
  readonly rows = new CopyText()
  readonly #stage = new CopyText()
  /** Of each unit its columns with a tab before each, the digest of these, and the end of the line. */
  readonly #contents = new CopyText()
  readonly #units: WaitingUnit[] = []

  /** In bytes. */
  get length(): number {
    return this.rows.length + this.#contents.length
  }

  get stockNumbers(): readonly string[] {
    return this.#units.map(({ stockNo }) => stockNo)
  }

  add(importId: number, record: CsvRecord, row: TypedRow): void {
    this.rows.append(rowLine(importId, record, row))
    const { unit } = row
    if (unit === null) {
      if (row.status === 'rejected') this.#stage.append(rejectedLine(record.line, row))
      return
    }
    const content = contentOf(unit)
    const digest = hash('sha256', content, 'hex')
    const start = this.#contents.length
    this.#contents.append(`${content}\t\\\\x${digest}\n`)
    const [end, { line }] = [this.#contents.length, record]
    this.#units.push({ line, stockNo: unit.stock_no, vin: unit.vin, start, end, digest })
  }

  /** A unit that is not among the known ones is new, but for its second row. Of new units the stage holds the keys alone. */
  unitLines(known: ReadonlySet<string>, { importId, rooftopId, now }: Written): UnitLines {
    const at = now.toISOString()
    const seen = new Set(known)
    const [stage, units, changes] = [this.#stage, new CopyText(), new CopyText()]
    for (const { line, stockNo, vin, start, end, digest } of this.#units) {
      if (seen.has(stockNo)) {
        stage.append(`${line}\tf\tf`)
        stage.appendFrom(this.#contents, start, end)
        continue
      }
      seen.add(stockNo)
      const name = encodeCell(stockNo)
      stage.append(`${line}\tf\tt\t${name}\t${encodeCell(vin)}${otherColumns}\t\\\\x${digest}\n`)
      units.append(`${importId}\t${rooftopId}\t${at}\t${at}`)
      units.appendFrom(this.#contents, start, end)
      changes.append(`${importId}\t${rooftopId}\t${name}\tadded\t{}\n`)
    }
    return { stage, units, changes }
  }
}

/** Nothing in the columns behind stock_no and vin. */
const otherColumns = '\t\\N'.repeat(unitColumns.length - 2)

function rowLine(importId: number, { line, cells }: CsvRecord, row: TypedRow): string {
  const { key, unit } = row
  const stockNo = unit?.stock_no ?? key.stockNo ?? key.vin
  const issues = row.issues.length === 0 ? '[]' : encodeJson(row.issues.map(brief))
  const name = encodeCell(stockNo?.slice(0, longestKey).toWellFormed() ?? null)
  return `${importId}\t${line}\t${name}\t${row.status}\t${issues}\t${encodeJson(cells)}\n`
}

function contentOf(unit: StockRow): string {
  let content = ''
  for (const name of unitColumns)
    content += '\t' + (name === 'extras' ? encodeJson(unit.extras) : encodeCell(unit[name]))
  return content
}

function rejectedLine(line: number, { key }: TypedRow): string {
  const own = [key.stockNo, key.vin].map((text) => encodeCell(text?.slice(0, longestKey) ?? null))
  return `${line}\tt\tf\t${own.join('\t')}${otherColumns}\t\\N\n`
}

import { hash } from 'node:crypto'
import type pg from 'pg'
import type { StockRow, TypedRow } from '../../csv/map/typing/stock-row.ts'
import type { CsvRecord } from '../../csv/read/csv-file.ts'
import { copyText, encodeCell, encodeJson } from '../../db/copy.ts'
import { brief } from './issue-tally.ts'
import { unitColumns } from './unit-columns.ts'

/** Text held back before it is sent, each for rows and for units. */
const batchLength = 1_000_000
const longestKey = 80

/** Where the rows of an import go: the warehouse, or for a dry run a table that is gone with its transaction. */
export const dryRows = 'pg_temp.stock_row'
export const keptRows = 'core.stock_import_row'

/** The import that is being staged. */
export interface Staging {
  readonly rowsTable: string
  readonly importId: number
  readonly rooftopId: number
  readonly dryRun: boolean
  readonly now: Date
}

/** Tables of the transaction alone. */
export async function createStage(client: pg.ClientBase, isDry: boolean): Promise<void> {
  // Enough to sort and hash 200,000 units without a file.
  await client.query("set local work_mem = '64MB'")
  // The tables grow by all their rows in this transaction, and no statistics know of it: a loop over them would be squared.
  await client.query('set local enable_nestloop = off')
  for (const table of ['stock_stage', 'stock_batch'])
    await client.query(
      `create temp table ${table} on commit drop as
       select 0 as line_no, false as is_rejected, ${unitColumns.join(', ')}, content_hash
       from core.stock_unit with no data`,
    )
  if (isDry)
    await client.query(
      'create temp table stock_row (like core.stock_import_row including indexes) on commit drop',
    )
}

/**
 * Sends typed rows to the database while the next ones are read. Units go to stock_stage, and so do the keys of rejected
 * rows; units that the stock has not known are added at once, for the transaction can still be undone.
 */
export class Stage {
  readonly #client: pg.ClientBase
  readonly #staging: Staging
  readonly #signal: AbortSignal
  #rows = ''
  #units = ''
  #sending: Promise<void> = Promise.resolve()

  constructor(client: pg.ClientBase, staging: Staging, signal: AbortSignal) {
    this.#client = client
    this.#staging = staging
    this.#signal = signal
  }

  /** Waits when the database is slower than the reading. */
  add(record: CsvRecord, row: TypedRow): Promise<void> | undefined {
    this.#rows += rowLine(this.#staging.importId, record, row)
    if (row.unit) this.#units += unitLine(record.line, row.unit)
    else if (row.status === 'rejected') this.#units += keyLine(record.line, row)
    return this.#rows.length > batchLength ? this.#send() : undefined
  }

  async end(): Promise<void> {
    await this.#send()
    await this.#sending
    await this.#client.query('analyze stock_stage (line_no, is_rejected, stock_no, vin)')
  }

  async #send(): Promise<void> {
    await this.#sending
    this.#signal.throwIfAborted()
    const [rows, units] = [this.#rows, this.#units]
    this.#rows = ''
    this.#units = ''
    this.#sending = this.#copy(rows, units)
    // Told to whoever waits for it next.
    this.#sending.catch(() => {})
  }

  async #copy(rows: string, units: string): Promise<void> {
    const client = this.#client
    const { rowsTable, importId, rooftopId, dryRun, now } = this.#staging
    const rowColumns = 'import_id, line_no, stock_no, status, issues, cells'
    await copyText(client, `${rowsTable} (${rowColumns})`, rows)
    await copyText(client, `pg_temp.stock_batch (${stageColumns})`, units)
    await client.query('insert into stock_stage select * from stock_batch')
    if (!dryRun) await client.query(addNewUnits, [rooftopId, importId, now])
    await client.query('truncate stock_batch')
  }
}

const unitNames = [...unitColumns, 'content_hash'].join(', ')
const addNewUnits = `
with new as (
  insert into core.stock_unit (rooftop_id, ${unitNames}, first_seen_at, last_seen_at, import_id)
  select $1::int, ${unitNames}, $3::timestamptz, $3::timestamptz, $2::bigint
  from stock_batch where not is_rejected
  on conflict (rooftop_id, stock_no) do nothing
  returning stock_no
)
insert into core.stock_unit_change (import_id, rooftop_id, stock_no, change, changes)
select $2::bigint, $1::int, stock_no, 'added', '{}' from new`

const stageColumns = ['line_no', 'is_rejected', ...unitColumns, 'content_hash'].join(', ')

function rowLine(importId: number, { line, cells }: CsvRecord, row: TypedRow): string {
  const { key, unit } = row
  const stockNo = unit?.stock_no ?? key.stockNo ?? key.vin
  const issues = row.issues.length === 0 ? '[]' : encodeJson(row.issues.map(brief))
  const name = encodeCell(stockNo?.slice(0, longestKey).toWellFormed() ?? null)
  return `${importId}\t${line}\t${name}\t${row.status}\t${issues}\t${encodeJson(cells)}\n`
}

function unitLine(line: number, unit: StockRow): string {
  let content = ''
  for (const name of unitColumns)
    content += '\t' + (name === 'extras' ? encodeJson(unit.extras) : encodeCell(unit[name]))
  return `${line}\tf${content}\t\\\\x${hash('sha256', content, 'hex')}\n`
}

function keyLine(line: number, { key }: TypedRow): string {
  const own = [key.stockNo, key.vin].map((text) => encodeCell(text?.slice(0, longestKey) ?? null))
  return `${line}\tt\t${own.join('\t')}${'\t\\N'.repeat(unitColumns.length - 1)}\n`
}

import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import type { TypedRow } from '../../csv/map/typing/stock-row.ts'
import type { CsvRecord } from '../../csv/read/csv-file.ts'
import { copyText } from '../../db/copy.ts'
import { Batch, changeColumns, newUnitColumns, rowColumns, stageColumns } from './batch.ts'
import { unitColumns } from './unit-columns.ts'

/** Held back before they are sent, in bytes. */
const batchLength = 2_000_000
/** While the database works: a millisecond of reading and typing. */
const hearEvery = 16

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
  // Enough to sort and hash 200,000 units without a file; compiling the few large queries takes longer than they do.
  await client.query("set local work_mem = '64MB'")
  await client.query('set local jit = off')
  // The tables grow by all their rows in this transaction, and no statistics know of it: a loop over them would be squared.
  await client.query('set local enable_nestloop = off')
  await client.query(
    `create temp table stock_stage on commit drop as
     select 0 as line_no, false as is_rejected, false as is_new, ${unitColumns.join(', ')}, content_hash
     from core.stock_unit with no data`,
  )
  if (isDry)
    await client.query(
      'create temp table stock_row (like core.stock_import_row including indexes) on commit drop',
    )
}

/**
 * Sends typed rows to the database while the next ones are read. Units go to stock_stage, and so do the keys of rejected
 * rows; units that the stock has not known are added at once, for the transaction can still be undone, and leave no more
 * than their keys in the stage.
 */
export class Stage {
  readonly #client: pg.ClientBase
  readonly #staging: Staging
  readonly #signal: AbortSignal
  #batch = new Batch()
  #sending: Promise<void> | null = null

  constructor(client: pg.ClientBase, staging: Staging, signal: AbortSignal) {
    this.#client = client
    this.#staging = staging
    this.#signal = signal
  }

  /** Waits when the database is slower than the reading, and now and then for its answers to be heard. */
  add(record: CsvRecord, row: TypedRow): Promise<void> | undefined {
    this.#batch.add(this.#staging.importId, record, row)
    if (this.#batch.length > batchLength) return this.#send()
    return this.#sending !== null && record.line % hearEvery === 0 ? setImmediate() : undefined
  }

  async end(): Promise<void> {
    await this.#send()
    await this.#sending
    await this.#client.query('analyze stock_stage (line_no, is_rejected, is_new, stock_no, vin)')
  }

  async #send(): Promise<void> {
    await this.#sending
    this.#signal.throwIfAborted()
    const sending = this.#copy(this.#batch)
    this.#batch = new Batch()
    this.#sending = sending
    // Told to whoever waits for it next.
    sending.then(
      () => {
        if (this.#sending === sending) this.#sending = null
      },
      () => {},
    )
  }

  async #copy(batch: Batch): Promise<void> {
    const client = this.#client
    const { rowsTable, dryRun } = this.#staging
    await copyText(client, `${rowsTable} (${rowColumns})`, batch.rows)
    const { stage, units, changes } = batch.unitLines(await this.#known(batch), this.#staging)
    await copyText(client, `pg_temp.stock_stage (${stageColumns})`, stage)
    if (dryRun) return
    await copyText(client, `core.stock_unit (${newUnitColumns})`, units)
    await copyText(client, `core.stock_unit_change (${changeColumns})`, changes)
  }

  /** Stock numbers of the batch that the stock has, be it from the batches before. */
  async #known({ stockNumbers }: Batch): Promise<ReadonlySet<string>> {
    const { rows } = await this.#client.query<{ stock_no: string }>(
      'select stock_no from core.stock_unit where rooftop_id = $1 and stock_no = any ($2::text[])',
      [this.#staging.rooftopId, stockNumbers],
    )
    return new Set(rows.map(({ stock_no }) => stock_no))
  }
}

import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import type { TypedRow } from '../../csv/map/typing/stock-row.ts'
import type { CsvRecord } from '../../csv/read/csv-file.ts'
import type { CopyText } from '../../db/copy-text.ts'
import { copyTexts } from '../../db/copy.ts'
import {
  addedColumns,
  type AddedUnit,
  type AddedUnits,
  RowBatch,
  changeColumns,
  rowColumns,
  stageColumns,
} from './row-batch.ts'
import { copied } from '../../values/text.ts'
import { BloomFilter } from './bloom-filter.ts'
import { shownChanges } from './import-report.ts'
import { unitColumns } from './unit-columns.ts'

/** Held back before they are sent, in bytes. */
const batchLength = 4_000_000
/** While the database works: a millisecond of reading and typing. */
const hearEvery = 16
/** Held to be asked for one by one. */
const mostVins = 10_000

/** Where what an import adds goes. */
interface ImportTables {
  readonly rows: string
  readonly units: string
  readonly changes: string
}

export const stockTables: ImportTables = {
  rows: 'core.stock_import_row',
  units: 'core.stock_unit',
  changes: 'core.stock_unit_change',
}
/** Of a dry run: gone with its transaction. */
export const dryRunTables: ImportTables = {
  rows: 'pg_temp.stock_import_row',
  units: 'pg_temp.stock_unit',
  changes: 'pg_temp.stock_unit_change',
}

/** The import that is being staged. */
export interface Staging {
  readonly tables: ImportTables
  readonly importId: number
  readonly rooftopId: number
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
     select 0 as line_no, false as is_rejected, false as has_left, ${unitColumns.join(', ')}, content_hash
     from core.stock_unit with no data`,
  )
  if (!isDry) return
  for (const [name, kept] of Object.entries(stockTables))
    await client.query(
      `create temp table ${dryRunTables[name as keyof ImportTables].split('.')[1]}
         (like ${kept} including indexes including constraints) on commit drop`,
    )
}

/** What has gone to the tables. */
export interface StagedUnits {
  /** Had the rooftop any unit before? */
  readonly hadStock: boolean
  /** Units that the stock has not known. */
  readonly added: number
  /** The first of them. */
  readonly firstAdded: readonly AddedUnit[]
  /** Rows in stock_stage that were accepted: of units that the stock knows, and second rows of new ones. */
  readonly staged: number
  /** Rows whose status says that the vehicle has left. */
  readonly left: number
  /** VINs that several rows may have; null: too many to tell. */
  readonly duplicateVins: readonly string[] | null
}

/**
 * Sends typed rows to the database while the next ones are read. Units that the stock has not known are added at once, for the
 * transaction can still be undone; units that it knows go to stock_stage to be compared, and so do second rows of one unit and
 * the keys of rejected rows.
 */
export class Stage {
  readonly #client: pg.ClientBase
  readonly #staging: Staging
  readonly #signal: AbortSignal
  /** null: the rooftop has stock, and each unit is asked for. */
  readonly #before: BloomFilter | null
  #batch: RowBatch
  #sending: Promise<void> | null = null
  readonly #vins = new BloomFilter()
  readonly #vinsTwice = new Set<string>()
  readonly #firstAdded: AddedUnit[] = []
  #added = 0
  #staged = 0
  #left = 0

  private constructor(
    client: pg.ClientBase,
    staging: Staging,
    signal: AbortSignal,
    before: BloomFilter | null,
  ) {
    this.#client = client
    this.#staging = staging
    this.#signal = signal
    this.#before = before
    this.#batch = new RowBatch(staging)
  }

  static async open(client: pg.ClientBase, staging: Staging, signal: AbortSignal): Promise<Stage> {
    const { rows } = await client.query<{ has_stock: boolean }>(
      'select exists (select from core.stock_unit where rooftop_id = $1) as has_stock',
      [staging.rooftopId],
    )
    return new Stage(client, staging, signal, rows[0]!.has_stock ? null : new BloomFilter())
  }

  /** Waits when the database is slower than the reading, and now and then for its answers to be heard. */
  add(record: CsvRecord, row: TypedRow): Promise<void> | undefined {
    const { unit } = row
    const mayBeKnown = unit !== null && (this.#before?.testAndAdd(unit.stock_no) ?? true)
    if (typeof unit?.vin === 'string' && this.#vins.testAndAdd(unit.vin)) this.#noteVin(unit.vin)
    if (row.hasLeft) this.#left += 1
    this.#batch.add(record, row, mayBeKnown)
    if (this.#batch.length > batchLength) return this.#send()
    return this.#sending !== null && record.line % hearEvery === 0 ? setImmediate() : undefined
  }

  async end(): Promise<StagedUnits> {
    await this.#send()
    await this.#sending
    await this.#client.query('analyze stock_stage (line_no, is_rejected, stock_no, vin)')
    return {
      ...{ hadStock: this.#before === null, staged: this.#staged, left: this.#left },
      ...{ added: this.#added, firstAdded: this.#firstAdded },
      duplicateVins: this.#vinsTwice.size > mostVins ? null : [...this.#vinsTwice],
    }
  }

  #noteVin(vin: string): void {
    if (this.#vinsTwice.size <= mostVins) this.#vinsTwice.add(copied(vin))
  }

  async #send(): Promise<void> {
    await this.#sending
    this.#signal.throwIfAborted()
    const sending = this.#copy(this.#batch)
    this.#batch = new RowBatch(this.#staging)
    this.#sending = sending
    // Told to whoever waits for it next.
    sending.then(
      () => {
        if (this.#sending === sending) this.#sending = null
      },
      () => {},
    )
  }

  async #copy(batch: RowBatch): Promise<void> {
    const { rows } = this.#staging.tables
    await this.#copyWith([`${rows} (${rowColumns})`, batch.rows], batch.takeAdded())
    const asked = batch.mayBeKnown
    if (asked.length > 0) this.#staged += batch.splitWaiting(await this.#knownOf(asked))
    await this.#copyWith([`pg_temp.stock_stage (${stageColumns})`, batch.stage], batch.takeAdded())
  }

  /** A text, and the units that are new with their reports. */
  async #copyWith(
    other: readonly [target: string, text: CopyText],
    { units, changes, count, first }: AddedUnits,
  ): Promise<void> {
    const { tables } = this.#staging
    await copyTexts(this.#client, [
      other,
      [`${tables.units} (${addedColumns})`, units],
      [`${tables.changes} (${changeColumns})`, changes],
    ])
    this.#added += count
    this.#firstAdded.push(...first.slice(0, shownChanges - this.#firstAdded.length))
  }

  /** Stock numbers that the stock has, be it from the rows before. */
  async #knownOf(stockNumbers: readonly string[]): Promise<ReadonlySet<string>> {
    const { tables, rooftopId } = this.#staging
    const places = new Set([stockTables.units, tables.units])
    const { rows } = await this.#client.query<{ stock_no: string }>(
      [...places]
        .map(
          (table) =>
            `select stock_no from ${table} where rooftop_id = $1 and stock_no = any ($2::text[])`,
        )
        .join(' union all '),
      [rooftopId, stockNumbers],
    )
    return new Set(rows.map(({ stock_no }) => stock_no))
  }
}

import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { copied } from '../../values/text.ts'
import { copyTexts } from '../../warehouse/db/copy.ts'
import type { CopyText } from '../../warehouse/db/copy-text.ts'
import type { TypedRow } from '../csv/map/typing/typed-row.ts'
import type { CsvRecord } from '../csv/read/csv-file.ts'
import { BloomFilter } from './bloom-filter.ts'
import {
  type AddedUnits,
  addedColumns,
  changeColumns,
  RowBatch,
  rowColumns,
  stageColumns,
} from './row-batch.ts'
import { unitColumns } from './unit-columns.ts'

/** Bytes that are collected before they are sent. */
const batchLength = 4_000_000
/** Records between two pauses while the database works: about a millisecond of reading and typing. */
const pauseEvery = 16
/** The most VINs that are stored for an exact check. */
const maxVins = 10_000

/** Tables that an import adds rows to. */
export interface ImportTables {
  readonly rows: string
  readonly units: string
  readonly changes: string
}

/** Tables of a real import. */
export const stockTables: ImportTables = {
  rows: 'core.stock_import_row',
  units: 'core.stock_unit',
  changes: 'core.stock_unit_change',
}
/** Tables of a dry run, dropped with its transaction. */
export const dryRunTables: ImportTables = {
  rows: 'pg_temp.stock_import_row',
  units: 'pg_temp.stock_unit',
  changes: 'pg_temp.stock_unit_change',
}

/** The import that is being staged. */
export interface Staging {
  /** In the import's transaction. */
  readonly client: pg.ClientBase
  readonly tables: ImportTables
  readonly importId: number
  readonly rooftopId: number
  readonly now: Date
}

/** Creates temporary tables, dropped at the end of the transaction. */
export async function createStage({ client, tables }: Staging): Promise<void> {
  // Enough memory to sort and hash 200,000 units without files. JIT would take longer than the few large queries.
  await client.query("set local work_mem = '64MB'")
  await client.query('set local jit = off')
  // The tables get all their rows in this transaction, without statistics: a nested loop would take quadratic time.
  await client.query('set local enable_nestloop = off')
  await client.query(
    `create temp table stock_stage on commit drop as
     select 0 as line_no, false as is_rejected, false as has_left, ${unitColumns.join(', ')}, content_hash
     from core.stock_unit with no data`,
  )
  if (tables === stockTables) return
  for (const [name, table] of Object.entries(stockTables))
    await client.query(
      `create temp table ${dryRunTables[name as keyof ImportTables].split('.')[1]}
         (like ${table} including indexes including constraints) on commit drop`,
    )
}

/** Copies added units into stock_stage, where they can be compared. `chosen`: a condition on `unit` and its row `stored`. */
export async function stageAdded(
  { client, tables, rooftopId, importId }: Staging,
  chosen: string,
): Promise<void> {
  const content = [...unitColumns, 'content_hash']
  await client.query(
    `insert into stock_stage (line_no, is_rejected, has_left, ${content.join(', ')})
     select stored.line_no, false, false, ${content.map((name) => `unit.${name}`).join(', ')}
     from ${tables.units} as unit
     join ${tables.rows} as stored on stored.import_id = $2 and stored.stock_no = unit.stock_no and stored.status = 'accepted'
     where unit.rooftop_id = $1 and unit.import_id = $2 and ${chosen}`,
    [rooftopId, importId],
  )
}

/** Deletes added units and their changes. `chosen`: a query for their stock numbers. */
export async function deleteAdded(
  { client, tables, rooftopId, importId }: Staging,
  chosen: string,
): Promise<void> {
  for (const table of [tables.units, tables.changes])
    await client.query(
      `delete from ${table} where rooftop_id = $1 and import_id = $2 and stock_no in (${chosen})`,
      [rooftopId, importId],
    )
}

/** What was written to the tables. */
export interface StagedUnits {
  /** Whether the rooftop had any unit before. */
  readonly hadStock: boolean
  /** Units that are new in the warehouse. */
  readonly added: number
  /** Accepted rows in stock_stage: of known units, and second rows of new ones. */
  readonly staged: number
  /** Rows of vehicles that have left by their status. */
  readonly left: number
  /** VINs that several rows may have; null: too many to list. */
  readonly duplicateVins: readonly string[] | null
}

/**
 * Sends typed rows to the database while the next ones are read. New units are added at once, because the
 * transaction can still be rolled back. Known units go to stock_stage for the comparison, and so do second rows of a unit and
 * the keys of rejected rows.
 */
export class Stage {
  readonly #staging: Staging
  readonly #signal: AbortSignal
  /** null: the rooftop has stock, so each unit is looked up. */
  readonly #before: BloomFilter | null
  #batch: RowBatch
  #sending: Promise<void> | null = null
  readonly #vins = new BloomFilter()
  readonly #duplicateVins = new Set<string>()
  #added = 0
  #staged = 0
  #left = 0

  private constructor(staging: Staging, signal: AbortSignal, before: BloomFilter | null) {
    this.#staging = staging
    this.#signal = signal
    this.#before = before
    this.#batch = new RowBatch(staging)
  }

  static async open(staging: Staging, signal: AbortSignal): Promise<Stage> {
    const { rows } = await staging.client.query<{ has_stock: boolean }>(
      'select exists (select from core.stock_unit where rooftop_id = $1) as has_stock',
      [staging.rooftopId],
    )
    return new Stage(staging, signal, rows[0]!.has_stock ? null : new BloomFilter())
  }

  /** Waits when the database is slower than the reading, and regularly so that the event loop can receive its answers. */
  add(record: CsvRecord, row: TypedRow): Promise<void> | undefined {
    const { unit } = row
    const mayBeKnown = unit !== null && (this.#before?.testAndAdd(unit.stock_no) ?? true)
    if (typeof unit?.vin === 'string' && this.#vins.testAndAdd(unit.vin)) this.#noteVin(unit.vin)
    if (row.hasLeft) this.#left += 1
    this.#batch.add(record, row, mayBeKnown)
    if (this.#batch.length > batchLength) return this.#send()
    return this.#sending !== null && record.line % pauseEvery === 0 ? setImmediate() : undefined
  }

  async end(): Promise<StagedUnits> {
    await this.#send()
    await this.#sending
    await this.#staging.client.query('analyze stock_stage (line_no, is_rejected, stock_no, vin)')
    return {
      ...{ hadStock: this.#before === null, staged: this.#staged, left: this.#left },
      ...{ added: this.#added },
      duplicateVins: this.#duplicateVins.size > maxVins ? null : [...this.#duplicateVins],
    }
  }

  #noteVin(vin: string): void {
    if (this.#duplicateVins.size <= maxVins) this.#duplicateVins.add(copied(vin))
  }

  async #send(): Promise<void> {
    await this.#sending
    this.#signal.throwIfAborted()
    const sending = this.#copy(this.#batch)
    this.#batch = new RowBatch(this.#staging)
    this.#sending = sending
    // The next `await` reports an error.
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
    const doubtful = batch.mayBeKnown
    if (doubtful.length > 0) this.#staged += batch.splitWaiting(await this.#knownOf(doubtful))
    await this.#copyWith([`pg_temp.stock_stage (${stageColumns})`, batch.stage], batch.takeAdded())
  }

  /** Sends a text, and the new units with their changes. */
  async #copyWith(
    other: readonly [target: string, text: CopyText],
    { units, changes, count }: AddedUnits,
  ): Promise<void> {
    const { tables } = this.#staging
    await copyTexts(this.#staging.client, [
      other,
      [`${tables.units} (${addedColumns})`, units],
      [`${tables.changes} (${changeColumns})`, changes],
    ])
    this.#added += count
  }

  /** The stock numbers that exist, also from earlier rows of this list. */
  async #knownOf(stockNumbers: readonly string[]): Promise<ReadonlySet<string>> {
    const { tables, rooftopId } = this.#staging
    const places = new Set([stockTables.units, tables.units])
    const { rows } = await this.#staging.client.query<{ stock_no: string }>(
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

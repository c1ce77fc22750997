import { setImmediate } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import { copied } from '../../values/text.ts'
import { copyTexts } from '../../warehouse/db/copy.ts'
import type { CopyText } from '../../warehouse/db/copy-text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
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
  /** The import's transaction; `client` for COPY. */
  readonly db: Db
  readonly client: pg.ClientBase
  readonly tables: ImportTables
  readonly importId: number
  readonly rooftopId: number
  readonly now: Date
}

/** Creates temporary tables, dropped at the end of the transaction. */
export async function createStage({ db, tables }: Staging): Promise<void> {
  // Enough memory to sort and hash 200,000 units without files. JIT would take longer than the few large queries.
  await sql`set local work_mem = '64MB'`.execute(db)
  await sql`set local jit = off`.execute(db)
  // The tables get all their rows in this transaction, without statistics: a nested loop would take quadratic time.
  await sql`set local enable_nestloop = off`.execute(db)
  await sql`
    create temp table stock_stage on commit drop as
    select 0 as line_no, false as is_rejected, false as has_left, ${sql.raw(unitColumns.join(', '))}, content_hash
    from core.stock_unit with no data`.execute(db)
  if (tables === stockTables) return
  for (const [name, table] of Object.entries(stockTables))
    await sql`
      create temp table ${sql.table(dryRunTables[name as keyof ImportTables])}
        (like ${sql.table(table)} including indexes including constraints)
        on commit drop`.execute(db)
}

/** Copies added units into stock_stage, where they can be compared. `chosen`: a condition on `unit` and its row `stored`. */
export async function stageAdded(
  { db, tables, rooftopId, importId }: Staging,
  chosen: RawBuilder<unknown>,
): Promise<void> {
  const content = [...unitColumns, 'content_hash']
  await sql`
    insert into stock_stage (line_no, is_rejected, has_left, ${sql.raw(content.join(', '))})
    select stored.line_no, false, false, ${sql.raw(content.map((name) => `unit.${name}`).join(', '))}
    from ${sql.table(tables.units)} as unit
    join ${sql.table(tables.rows)} as stored on stored.import_id = ${importId} and stored.stock_no = unit.stock_no
      and stored.status = 'accepted'
    where unit.rooftop_id = ${rooftopId}
      and unit.import_id = ${importId} and ${chosen}`.execute(db)
}

/** Deletes added units and their changes. `chosen`: a query for their stock numbers. */
export async function deleteAdded(
  { db, tables, rooftopId, importId }: Staging,
  chosen: RawBuilder<unknown>,
): Promise<void> {
  for (const table of [tables.units, tables.changes])
    await sql`
      delete from ${sql.table(table)}
      where rooftop_id = ${rooftopId} and import_id = ${importId} and stock_no in (${chosen})`.execute(
      db,
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
    const { rows } = await sql<{ has_stock: boolean }>`
      select exists (
        select from core.stock_unit where rooftop_id = ${staging.rooftopId}) as has_stock`.execute(
      staging.db,
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
    await sql`analyze stock_stage (line_no, is_rejected, stock_no, vin)`.execute(this.#staging.db)
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
    const queries = [...places].map(
      (table) => sql`
        select stock_no from ${sql.table(table)}
        where rooftop_id = ${rooftopId} and stock_no = any (${stockNumbers}::text[])`,
    )
    const { rows } = await sql<{
      stock_no: string
    }>`${sql.join(queries, sql` union all `)}`.execute(this.#staging.db)
    return new Set(rows.map(({ stock_no }) => stock_no))
  }
}

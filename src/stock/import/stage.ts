import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import { hash32 } from '../../values/hash32.ts'
import { copied } from '../../values/text.ts'
import { copyTexts, encodeCell, encodeJson } from '../../warehouse/db/copy.ts'
import { CopyText } from '../../warehouse/db/copy-text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { StockRow, TypedRow } from '../csv/map/typing/typed-row.ts'
import type { CsvRecord } from '../csv/read/csv-file.ts'
import { shortenIssue } from './issue-tally.ts'
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

const longestKey = 80

const rowColumns = 'import_id, line_no, stock_no, status, issues, cells'
const contentColumns = [...unitColumns, 'content_hash'].join(', ')
const stageColumns = `line_no, is_rejected, has_left, ${contentColumns}`
const addedColumns = `import_id, rooftop_id, first_seen_at, last_seen_at, ${contentColumns}`
const changeColumns = 'import_id, rooftop_id, stock_no, change, changes'

/** A unit that may already be in the warehouse. */
interface WaitingUnit {
  readonly line: number
  readonly stockNo: string
  /** The position of its columns among those that wait. */
  readonly start: number
  readonly end: number
}

/** Lines for the tables of units and of changes. */
type AddedUnits = ReturnType<typeof noUnits>

/** Typed rows as COPY text, sent together. */
class RowBatch {
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

  constructor({ importId, rooftopId, now }: Staging) {
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

const words = 2 ** 19

/** Names that may have been seen, in 2 MB for any number of names: two bits for each name, both in one word. */
export class BloomFilter {
  readonly #words = new Uint32Array(words)

  /** Adds the name. false: certainly not added before; true: added before, or (0.1 % at 200,000 names) a false positive. */
  testAndAdd(name: string): boolean {
    const hash = hash32(name)
    const at = hash >>> 13
    const bits = (1 << (hash & 31)) | (1 << ((hash >>> 5) & 31))
    const word = this.#words[at]!
    this.#words[at] = word | bits
    return (word & bits) === bits
  }
}

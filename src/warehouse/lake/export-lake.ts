import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type pg from 'pg'
import { BusyError, UsageError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { lockSql } from '../db/locks.ts'
import { type Db, inTransaction, inTwoSessions, openDb, type Tx } from '../db/transaction.ts'
import { type FileStore, StoreError } from '../store/file-store.ts'
import type { AddedFile, MetaData } from './delta-actions.ts'
import { DeltaLog } from './delta-log.ts'
import {
  assertOwn,
  cleanUp,
  exportTable,
  type LakeState,
  type PastExport,
  readLakeState,
} from './lake-state.ts'
import {
  type Digests,
  filePart,
  type Month,
  readAllDigests,
  schemaDigest,
  sessionSettings,
  type Wanted,
} from './partitions.ts'
import { parseLakePath } from './paths.ts'
import { type TableWriterOptions, writeFiles } from './table-writer.ts'
import { changedMetaData, exportRows, type LakeTable, monthly, readLakeTables } from './tables.ts'
import { Tasks } from './tasks.ts'
import {
  readChanges,
  readSnapshot,
  readWarehouse,
  storeMark,
  trackChanges,
  type WarehouseState,
} from './warehouse-state.ts'

/** Files on their way at once. */
const uploadsAtOnce = 4
const hourMs = 3_600_000
/** Less than a week, so that every seventh export of one a night compares everything. */
const compareEveryMs = 156 * hourMs

/** What an export needs. */
export interface LakeServices {
  readonly pool: pg.Pool
  readonly log: Log
  readonly signal: AbortSignal
  readonly crashPoint: (name: string) => void
  /** How long an earlier version stays readable. */
  readonly keepHours: number
  /** Whether a lake of another warehouse, or of a version before Delta tables, is replaced. */
  readonly isReplaced?: boolean
  /** Whether all rows are compared, whatever the warehouse knows about changes. */
  readonly isEverythingCompared?: boolean
}

/** A finished export. */
export interface LakeReport {
  readonly target: string
  /** Of the export: the rows of the table `export` with it name the versions that belong together. */
  readonly number: number
  readonly martVersion: string
  readonly coveredTo: string | null
  readonly tables: number
  readonly rows: number
  readonly bytes: number
  readonly files: {
    readonly written: number
    readonly unchanged: number
    readonly removed: number
  }
  /** Whether all earlier versions were deleted, since a customer was erased after the last export. */
  readonly isHistoryRemoved: boolean
  /** Whether the rows of all months were compared; false: those that the warehouse names as changed. */
  readonly isEverythingCompared: boolean
  readonly finishedAt: string
}

/**
 * Writes the months of the marts whose rows differ from the last version of their Delta table, commits them, then records in
 * the table `export` which versions belong together, then deletes what no readable version has. All rows are of one snapshot.
 * BusyError: another export writes to the same target. UsageError: the target cannot be used and nothing was changed.
 */
export async function exportLake(services: LakeServices, target: FileStore): Promise<LakeReport> {
  const progress: Progress = { last: undefined, hasStarted: false }
  try {
    await trackChanges(openDb(services.pool), target.name)
    return await inTransaction(
      services.pool,
      async (tx) => {
        await prepareSession(tx, target)
        return await exportSnapshot(services, target, tx, progress)
      },
      'repeatable read, read only',
    )
  } catch (error) {
    services.signal.throwIfAborted()
    throw explain(error, progress)
  } finally {
    await target.close()
  }
}

interface Progress {
  /** When the last complete export ended; null: none has; undefined: that is not known yet. */
  last: string | null | undefined
  /** Whether the target may have new files. */
  hasStarted: boolean
}

/** The lock ends with the transaction, so a process that has lost its connection can read nothing more. */
async function prepareSession({ db }: Tx, { name }: FileStore): Promise<void> {
  await sessionSettings.execute(db)
  const { rows } = await sql<{ isFree: boolean }>`
    select ${lockSql.try('lake', sql`hashtext(${name})`)} as "isFree"`.execute(db)
  if (!rows[0]!.isFree)
    throw new BusyError(
      `Another export to ${name} is running: wait until it has ended, or stop it. Nothing was started.`,
    )
}

/** One export while it runs. */
interface Running extends LakeServices, Tx {
  readonly target: FileStore
  readonly warehouse: WarehouseState
  readonly state: LakeState
  readonly scratch: string
  /** Its time, in ms: later than that of the last export, whatever the clock says. */
  readonly at: number
  /** Past exports whose versions stay readable. */
  readonly past: readonly PastExport[]
  /** What the last export has seen, where the warehouse knows all changes since; null: everything is compared. */
  readonly since: string | null
  /** A file that was removed from its table up to this time (ms) is in none of their versions. */
  readonly removedUntil: number
}

async function exportSnapshot(
  services: LakeServices,
  target: FileStore,
  tx: Tx,
  progress: Progress,
): Promise<LakeReport> {
  const warehouse = await readWarehouse(tx.db)
  const state = await readLakeState(target)
  const last = state.exports.at(-1)
  const isHistoryRemoved = mustRemoveHistory(state, warehouse)
  progress.last = last?.finishedAt ?? null
  assertOwn(target, state, warehouse.warehouse, services.isReplaced === true)
  const scratch = await target.prepare((path) => parseLakePath(path) !== null)
  progress.hasStarted = true
  const at = Math.max(Date.now(), (last?.at ?? 0) + 1)
  const oldest = at - services.keepHours * hourMs
  // A version is readable as long as it was not replaced before that.
  const past = isHistoryRemoved
    ? []
    : state.exports.filter((_, no, all) => (all[no + 1]?.at ?? at) > oldest)
  const removedUntil = past[0]?.at ?? at
  const since = await knownSince(services, target, tx.db, { state, warehouse, at })
  const common = { ...services, ...tx, target, warehouse, state, scratch, at }
  const running = { ...common, past, removedUntil, since }
  const changes = await writeTables(running)
  services.crashPoint('lake-files-complete')
  // Fails when the connection, and with it the lock, is lost: then another export may have started.
  await sql`select 1`.execute(tx.db)
  for (const change of changes) await commitTable(running, change)
  // Before the export is recorded: the next one must know it when this one is killed.
  if (isHistoryRemoved) await removeHistory(running, changes)
  const number = (last?.number ?? 0) + 1
  const finishedAt = new Date().toISOString()
  const token = randomUUID()
  await recordExport(running, changes, { number, finishedAt, token })
  progress.last = finishedAt
  services.crashPoint('lake-export-committed')
  await storeMark(openDb(services.pool), target.name, { ...warehouse, token })
  const removed = await removeOld(running, changes)
  const outcome = { number, isHistoryRemoved, isEverythingCompared: since === null, finishedAt }
  return { ...exportReport(running, changes, removed), ...outcome }
}

/**
 * The snapshot of the last export, if the warehouse has recorded every change since. Else null: then all rows are compared, as at
 * least once a week, after an erasure, and with other migrations or marts.
 */
async function knownSince(
  { isEverythingCompared = false }: LakeServices,
  { name }: FileStore,
  db: Db,
  { state, warehouse, at }: Pick<Running, 'state' | 'warehouse' | 'at'>,
): Promise<string | null> {
  const last = state.exports.at(-1)
  if (isEverythingCompared || last?.token === undefined) return null
  const isOfOther = last.warehouse !== warehouse.warehouse
  const isOld = at - (last.comparedAt ?? 0) >= compareEveryMs
  if (isOfOther || isOld || last.lastErasure !== warehouse.lastErasure) return null
  return await readSnapshot(db, name, { ...warehouse, token: last.token })
}

/**
 * Whether versions before this export must go: a customer was erased since, whose text they may have. Also versions that a killed export
 * has left before any was recorded: nothing says when they were made.
 */
function mustRemoveHistory(
  { exports, logs }: LakeState,
  { lastErasure, warehouse }: WarehouseState,
): boolean {
  const last = exports.at(-1)
  if (last === undefined) return logs.size > 0
  return last.lastErasure !== lastErasure || last.warehouse !== warehouse
}

/** What an export changes in one table. */
interface TableChange {
  readonly log: DeltaLog
  readonly table: LakeTable
  readonly metaData: MetaData | null
  readonly added: readonly AddedFile[]
  readonly replaced: readonly AddedFile[]
  readonly unchanged: readonly AddedFile[]
}

/** Stores the changed files of every table. No reader sees them yet. */
async function writeTables(running: Running): Promise<readonly TableChange[]> {
  const { db, log, since } = running
  const { martVersion } = running.warehouse
  const tables = await readLakeTables(db)
  const known = since === null ? new Map() : await readChanges(db, since, tables)
  const plans = tables.map((table) => planTable(running, table, known.get(table.name)))
  const compared = plans.filter(({ isCompared }) => isCompared)
  const digests = await readAllDigests(running, compared, martVersion)
  await using uploads = new Tasks(uploadsAtOnce)
  const changes = new Map<string, TableChange>()
  const write = async ({ client }: Pick<Tx, 'client'>, plan: TablePlan) => {
    const startedAt = performance.now()
    const { name } = plan.table
    const options = { ...running, client, uploads, martVersion }
    const change = await writeTable(running, plan, digests.get(name) ?? new Map(), options)
    changes.set(name, change)
    const ms = Math.round(performance.now() - startedAt)
    log.debug({ table: name, files: change.added.length, ms }, 'table exported')
  }
  await inTwoSessions(running, plans, write, sessionSettings)
  await uploads.end()
  return tables.map(({ name }) => changes.get(name)!)
}

/** What happens with a table. */
interface TablePlan extends Wanted {
  /** The digests of the months whose files can stay. */
  readonly usable: Digests
  /** Whether only months with another digest are written. Else all are, and a file with the digest of the last one is not stored. */
  readonly isCompared: boolean
}

function planTable(
  { state, warehouse, since }: Running,
  table: LakeTable,
  changed: ReadonlySet<Month> | undefined,
): TablePlan {
  const log = state.logs.get(table.name)
  const files = [...(log?.files.values() ?? [])]
  const usable = usableMonths(state, table, files, warehouse.martVersion)
  const unusable = files.map((file) => filePart(file).month).filter((month) => !usable.has(month))
  // Parts without their evaluation leave it when that one is added.
  const withoutMonth = usable.has(null) && changed?.size !== 0 ? [null] : []
  const isAll = changed === undefined || !log?.metaData || unusable.includes(undefined)
  const months = isAll ? null : [...new Set([...changed, ...unusable, ...withoutMonth])]
  // A small table is written as quickly as it is compared.
  const isLarge = table.month !== null && !monthly.includes(table.name)
  const isCompared = usable.size > 0 && (since === null || isLarge)
  return { table, usable, months, isCompared }
}

async function writeTable(
  { target, state, warehouse, keepHours, at }: Running,
  { table, usable, months, isCompared }: TablePlan,
  digests: Digests,
  options: TableWriterOptions,
): Promise<TableChange> {
  const log = await ensureLog(state, target, table.name)
  const metaData = changedMetaData(table, log.metaData, { ...warehouse, keepHours, at })
  const isSame = (month: Month) =>
    months?.includes(month) === false || (isCompared && digests.get(month) === usable.get(month))
  const wanted = isCompared ? [...digests.keys()].filter((month) => !isSame(month)) : months
  const { added, same } = await writeFiles(options, table, wanted, usable)
  const files = [...log.files.values()]
  const stays = (month: Month) => same.has(month) || (usable.has(month) && isSame(month))
  const unchanged = files.filter((file) => stays(filePart(file).month))
  const replaced = files.filter((file) => !stays(filePart(file).month))
  return { log, table, metaData, added, replaced, unchanged }
}

/** The digests of the months of a table whose files are all there, with their sizes, and are written as they would be today. */
function usableMonths(
  { sizes }: LakeState,
  table: LakeTable,
  files: readonly AddedFile[],
  martVersion: string,
): Digests {
  const schema = schemaDigest(table, martVersion)
  const usable = new Map<Month, string>()
  for (const [month, own] of Map.groupBy(files, (file) => filePart(file).month)) {
    const { digest, parts } = filePart(own[0]!)
    const isThere = own.every(({ path, size }) => sizes.get(`${table.name}/${path}`) === size)
    if (isThere && own.length === parts && digest?.startsWith(schema) === true)
      usable.set(month, digest)
  }
  return usable
}

/** The log of a table, which may be new. */
async function ensureLog({ logs }: LakeState, target: FileStore, table: string): Promise<DeltaLog> {
  const log =
    logs.get(table) ?? (await DeltaLog.open(target, table, { commits: [], checkpoints: [] }))
  logs.set(table, log)
  return log
}

async function commitTable(running: Running, change: TableChange): Promise<void> {
  const { at, removedUntil, crashPoint } = running
  const { log, metaData, added, replaced } = change
  if (metaData === null && added.length === 0 && replaced.length === 0) return
  await log.commit({ at, metaData, added, removed: replaced, removedUntil })
  crashPoint('lake-table-committed')
}

interface NewExport {
  readonly number: number
  readonly finishedAt: string
  readonly token: string
}

/** Commits the rows of this export to the table `export`, without those of exports whose versions are not readable any more. */
async function recordExport(
  running: Running,
  changes: readonly TableChange[],
  { number, finishedAt, token }: NewExport,
): Promise<void> {
  const { target, state, warehouse, at, keepHours, past, removedUntil } = running
  const exportedAt = new Date(at).toISOString()
  const table = exportRows(
    changes.map((change) => ({
      ...{ export_number: number, exported_at: exportedAt, snapshot_at: warehouse.snapshotAt },
      ...{ warehouse: warehouse.warehouse, mart_version: warehouse.martVersion },
      ...{ covered_to: warehouse.coveredTo, table_name: change.table.name },
      ...{ table_version: change.log.version, row_count: countRows(change) },
    })),
  )
  const log = await ensureLog(state, target, exportTable)
  const uploads = new Tasks(1)
  const { martVersion, lastErasure } = warehouse
  const { added } = await writeFiles({ ...running, uploads, martVersion }, table, null, new Map())
  await uploads.end()
  const tags = {
    ...{ number: String(number), at: String(at), finishedAt, warehouse: warehouse.warehouse },
    ...{ lastErasure: String(lastErasure), token },
    versions: JSON.stringify(tableVersions(changes)),
    comparedAt: String(running.since === null ? at : state.exports.at(-1)!.comparedAt),
  }
  const paths = new Set(past.map(({ path }) => path))
  await log.commit({
    ...{ at, removedUntil, added: [{ ...added[0]!, tags }] },
    metaData: changedMetaData(table, log.metaData, { ...warehouse, keepHours, at }),
    removed: [...log.files.values()].filter(({ path }) => !paths.has(path)),
  })
}

/** Deletes every version before the last one of every table, with its files. */
async function removeHistory(running: Running, changes: readonly TableChange[]): Promise<void> {
  for (const { log } of changes) await log.checkpoint(running.at)
  await removeOld(running, changes)
}

/** Deletes what no version that must stay readable has. Returns the number of data files. */
async function removeOld(running: Running, changes: readonly TableChange[]): Promise<number> {
  const { target, state, past, removedUntil, crashPoint, isReplaced = false } = running
  const readable = [...past, { versions: tableVersions(changes) }]
  const isReadable = (table: string) =>
    table === exportTable || readable.some(({ versions }) => table in versions)
  return await cleanUp({
    ...{ target, readable, removedUntil, isReplaced, crashPoint },
    logs: new Map([...state.logs].filter(([table]) => isReadable(table))),
    dropped: new Set([...state.logs.keys()].filter((table) => !isReadable(table))),
  })
}

function tableVersions(changes: readonly TableChange[]): Record<string, number> {
  return Object.fromEntries(changes.map(({ table, log }) => [table.name, log.version]))
}

function countRows({ added, unchanged }: TableChange): number {
  const rows = [...added, ...unchanged].map(
    ({ stats }) => (JSON.parse(stats ?? '{}') as { numRecords?: number }).numRecords ?? 0,
  )
  return rows.reduce((sum, one) => sum + one, 0)
}

function exportReport(
  { target, warehouse }: Running,
  changes: readonly TableChange[],
  removed: number,
) {
  const total = (of: (change: TableChange) => number) =>
    changes.reduce((sum, change) => sum + of(change), 0)
  const sizes = ({ added, unchanged }: TableChange) =>
    [...added, ...unchanged].reduce((sum, { size }) => sum + size, 0)
  return {
    target: target.name,
    martVersion: warehouse.martVersion,
    coveredTo: warehouse.coveredTo,
    tables: changes.length,
    rows: total(countRows),
    bytes: total(sizes),
    files: {
      written: total(({ added }) => added.length),
      unchanged: total(({ unchanged }) => unchanged.length),
      removed,
    },
  }
}

/** One sentence with what failed, where, which state is valid, and what to do. */
function explain(error: unknown, { last, hasStarted }: Progress): unknown {
  if (!(error instanceof StoreError)) return error
  const state =
    last === null ? '. There is no complete export yet' : `. The export of ${last} stays valid`
  const known = last === undefined ? '' : state
  const message = `${error.message}${known}: ${error.advice}, then run "forecourt lake export" again.`
  return hasStarted
    ? new Error(message, { cause: error })
    : new UsageError(message, { cause: error })
}

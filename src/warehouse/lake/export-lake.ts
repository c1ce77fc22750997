import type pg from 'pg'
import { BusyError, UsageError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { lockSql } from '../db/locks.ts'
import { inTransaction } from '../db/transaction.ts'
import { type FileStore, StoreError } from '../store/file-store.ts'
import { cleanUp } from './clean-up.ts'
import type { AddedFile, MetaData } from './delta-actions.ts'
import { DeltaLog } from './delta-log.ts'
import { exportRows } from './export-table.ts'
import {
  assertOwn,
  exportTable,
  type LakeState,
  type PastExport,
  readLakeState,
} from './lake-state.ts'
import { changedMetaData } from './metadata.ts'
import { type Digests, filePart, type Month, readAllDigests } from './partitions.ts'
import { parseLakePath } from './paths.ts'
import { writeFiles } from './table-writer.ts'
import { type LakeTable, readLakeTables } from './tables.ts'
import { Tasks } from './tasks.ts'
import { readWarehouse, type WarehouseState } from './warehouse-state.ts'

/** Files on their way at once. */
const uploadsAtOnce = 4
const hourMs = 3_600_000

/** What an export needs. */
interface LakeServices {
  readonly pool: pg.Pool
  readonly log: Log
  readonly signal: AbortSignal
  readonly crashPoint: (name: string) => void
  /** How long an earlier version stays readable. */
  readonly keepHours: number
  /** Whether a lake of another warehouse, or of a version before Delta tables, is replaced. */
  readonly isReplaced?: boolean
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
    return await inTransaction(
      services.pool,
      async ({ client }) => {
        await prepareSession(client, target)
        return await exportSnapshot(services, target, client, progress)
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
async function prepareSession(client: pg.ClientBase, { name }: FileStore): Promise<void> {
  // While files are sent, the transaction is idle.
  await client.query("set local idle_in_transaction_session_timeout = '1h'")
  await client.query('set local statement_timeout = 0')
  // Months are sorted.
  await client.query("set local work_mem = '64MB'")
  const { rows } = await client.query<{ isFree: boolean }>(
    `select ${lockSql.try('lake', 'hashtext($1)')} as "isFree"`,
    [name],
  )
  if (!rows[0]!.isFree)
    throw new BusyError(
      `Another export to ${name} is running: wait until it has ended, or stop it. Nothing was started.`,
    )
}

/** One export while it runs. */
interface Running extends LakeServices {
  readonly target: FileStore
  readonly client: pg.ClientBase
  readonly warehouse: WarehouseState
  readonly state: LakeState
  readonly scratch: string
  /** Its time, in ms: later than that of the last export, whatever the clock says. */
  readonly at: number
  /** Past exports whose versions stay readable. */
  readonly past: readonly PastExport[]
  /** A file that was removed from its table up to this time (ms) is in none of their versions. */
  readonly removedUntil: number
}

async function exportSnapshot(
  services: LakeServices,
  target: FileStore,
  client: pg.ClientBase,
  progress: Progress,
): Promise<LakeReport> {
  const warehouse = await readWarehouse(client)
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
  const running = { ...services, target, client, warehouse, state, scratch, at, past, removedUntil }
  const changes = await writeTables(running)
  services.crashPoint('lake-files-complete')
  // Fails when the connection, and with it the lock, is lost: then another export may have started.
  await client.query('select 1')
  for (const change of changes) await commitTable(running, change)
  // Before the export is recorded: the next one must know it when this one is killed.
  if (isHistoryRemoved) await removeHistory(running, changes)
  const number = (last?.number ?? 0) + 1
  const finishedAt = new Date().toISOString()
  await recordExport(running, changes, { number, finishedAt })
  progress.last = finishedAt
  services.crashPoint('lake-export-committed')
  const removed = await removeOld(running, changes)
  return { ...exportReport(running, changes, removed), number, isHistoryRemoved, finishedAt }
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
  const { client, state, log, warehouse } = running
  const tables = await readLakeTables(client)
  const known = tables.filter(({ name }) => usableMonths(state, name).size > 0)
  const digests = await readAllDigests(running, known, warehouse.martVersion)
  const uploads = new Tasks(uploadsAtOnce)
  const changes: TableChange[] = []
  try {
    for (const table of tables) {
      const startedAt = performance.now()
      const change = await writeTable(running, table, digests.get(table.name), uploads)
      changes.push(change)
      const ms = Math.round(performance.now() - startedAt)
      log.debug({ table: table.name, files: change.added.length, ms }, 'table exported')
    }
  } catch (error) {
    await uploads.settle()
    throw error
  }
  await uploads.end()
  return changes
}

/** `digests`: of the rows, undefined when no file can stay: they come with the rows then, so that one scan is enough. */
async function writeTable(
  running: Running,
  table: LakeTable,
  digests: Digests | undefined,
  uploads: Tasks,
): Promise<TableChange> {
  const { target, state, warehouse, keepHours, at } = running
  const { martVersion } = warehouse
  const log = await ensureLog(state, target, table.name)
  const metaData = changedMetaData(table, log.metaData, { ...warehouse, keepHours, at })
  const files = [...log.files.values()]
  const usable = usableMonths(state, table.name)
  const isSame = (month: Month) => {
    const digest = usable.get(month)
    return digest !== undefined && digests?.get(month) === digest
  }
  const unchanged = files.filter((file) => isSame(filePart(file).month))
  const replaced = files.filter((file) => !isSame(filePart(file).month))
  const months = digests && [...digests.keys()].filter((month) => !isSame(month))
  const added =
    months?.length === 0
      ? []
      : await writeFiles({ ...running, uploads, martVersion }, table, months ?? null)
  return { log, table, metaData, added, replaced, unchanged }
}

/** The digests of the months of a table whose files are all there, with their sizes. */
function usableMonths({ logs, sizes }: LakeState, table: string): Digests {
  const files = [...(logs.get(table)?.files.values() ?? [])]
  const usable = new Map<Month, string>()
  for (const [month, monthFiles] of Map.groupBy(files, (file) => filePart(file).month)) {
    const { digest, parts } = filePart(monthFiles[0]!)
    const isWhole =
      monthFiles.length === parts &&
      monthFiles.every(({ path, size }) => sizes.get(`${table}/${path}`) === size)
    if (digest !== undefined && isWhole) usable.set(month, digest)
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
}

/** Commits the rows of this export to the table `export`, without those of exports whose versions are not readable any more. */
async function recordExport(
  running: Running,
  changes: readonly TableChange[],
  { number, finishedAt }: NewExport,
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
  const [file] = await writeFiles({ ...running, uploads, martVersion }, table, null)
  await uploads.end()
  const tags = {
    ...{ number: String(number), at: String(at), finishedAt, warehouse: warehouse.warehouse },
    ...{ lastErasure: String(lastErasure), versions: JSON.stringify(tableVersions(changes)) },
  }
  const paths = new Set(past.map(({ path }) => path))
  await log.commit({
    ...{ at, removedUntil, added: [{ ...file!, tags }] },
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

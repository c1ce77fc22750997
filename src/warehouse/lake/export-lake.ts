import type pg from 'pg'
import { BusyError, UsageError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { lockSql } from '../db/locks.ts'
import { inTransaction } from '../db/transaction.ts'
import { LakeWriter } from './lake-writer.ts'
import {
  assertClaim,
  claimLake,
  type Manifest,
  type ManifestTable,
  readManifest,
  removeProgress,
  writeManifest,
} from './manifest.ts'
import { removeUnnamed, supersededFiles } from './superseded.ts'
import { readLakeTables } from './tables.ts'
import { type LakeTarget, TargetError } from './target.ts'
import { readCoverage, readWarehouse } from './warehouse-state.ts'

/** What an export needs. */
interface LakeServices {
  readonly pool: pg.Pool
  readonly log: Log
  readonly signal: AbortSignal
  readonly crashPoint: (name: string) => void
  /** How long a replaced file stays for readers of an earlier manifest. */
  readonly keepHours: number
}

/** A finished export. */
export interface LakeReport {
  readonly target: string
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
  readonly finishedAt: string
}

/**
 * Writes the partitions of the marts that differ from the last complete state of the target, then the manifest, then removes what
 * the manifest no longer names. All rows are of one snapshot. BusyError: another export writes to the same target. UsageError: the
 * target cannot be used and nothing was changed.
 */
export async function exportLake(services: LakeServices, target: LakeTarget): Promise<LakeReport> {
  const progress: Progress = { last: null, hasStarted: false }
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
  /** The last complete state. */
  last: Manifest | null
  /** Whether the target may have new files. */
  hasStarted: boolean
}

/** The lock ends with the transaction, so a process that has lost its connection can read nothing more. */
async function prepareSession(client: pg.ClientBase, { name }: LakeTarget): Promise<void> {
  // While files are sent, the transaction is idle.
  await client.query("set local idle_in_transaction_session_timeout = '1h'")
  await client.query('set local statement_timeout = 0')
  const { rows } = await client.query<{ isFree: boolean }>(
    `select ${lockSql.try('lake', 'hashtext($1)')} as "isFree"`,
    [name],
  )
  if (!rows[0]!.isFree)
    throw new BusyError(
      `Another export to ${name} is running: wait until it has ended, or stop it. Nothing was started.`,
    )
}

async function exportSnapshot(
  services: LakeServices,
  target: LakeTarget,
  client: pg.ClientBase,
  progress: Progress,
): Promise<LakeReport> {
  const { crashPoint } = services
  const startedAt = new Date().toISOString()
  const state = await readWarehouse(client)
  const last = await readManifest(target)
  progress.last = last
  const { tables, counts } = await writeTables(
    { ...services, target, client, last, state },
    progress,
  )
  crashPoint('lake-files-complete')
  const finishedAt = new Date().toISOString()
  const all = Object.values(tables)
  const sum = (of: (table: ManifestTable) => number) =>
    all.reduce((total, one) => total + of(one), 0)
  const manifest: Manifest = {
    ...{ format: 1, ...state, ...(await readCoverage(client)), startedAt, finishedAt },
    rows: sum(({ rows }) => rows),
    bytes: sum(({ files }) => files.reduce((total, { bytes }) => total + bytes, 0)),
    tables,
    superseded: supersededFiles(last, { ...state, tables, finishedAt }, services.keepHours),
  }
  // Fails when the connection, and with it the lock, is lost: then another export may have started.
  await client.query('select 1')
  await assertClaim(target, state.warehouse)
  await writeManifest(target, manifest)
  progress.last = manifest
  crashPoint('lake-manifest-stored')
  const removed = await removeUnnamed(target, manifest, crashPoint)
  await removeProgress(target)
  const { martVersion, coveredTo, rows, bytes } = manifest
  return {
    ...{ target: target.name, martVersion, coveredTo, tables: all.length, rows, bytes },
    files: { ...counts, removed },
    finishedAt,
  }
}

interface TableExport extends LakeServices {
  readonly target: LakeTarget
  readonly client: pg.ClientBase
  readonly last: Manifest | null
  readonly state: Pick<Manifest, 'warehouse' | 'martVersion'>
}

/** Claims the lake and stores the changed files of every table. */
async function writeTables({ last, state, ...services }: TableExport, progress: Progress) {
  const { target, client, log } = services
  const { scratch, earlier } = await claimLake(target, state.warehouse, last)
  progress.hasStarted = true
  services.crashPoint('lake-progress-stored')
  const stored = await target.list()
  const writer = new LakeWriter({ ...services, ...state, scratch, stored, earlier })
  const tables: Record<string, ManifestTable> = {}
  try {
    for (const table of await readLakeTables(client)) {
      const known = [...(last?.tables[table.name]?.files ?? []), ...(earlier.get(table.name) ?? [])]
      const startedAt = performance.now()
      tables[table.name] = await writer.write(table, known)
      const ms = Math.round(performance.now() - startedAt)
      log.debug({ table: table.name, rows: tables[table.name]!.rows, ms }, 'table exported')
    }
    await writer.end()
  } catch (error) {
    await writer.abandon()
    throw error
  }
  return { tables, counts: writer.counts }
}

/** One sentence with what failed, where, which state is valid, and what to do. */
function explain(error: unknown, { last, hasStarted }: Progress): unknown {
  if (!(error instanceof TargetError)) return error
  const state =
    last === null ? 'There is no complete state yet' : `The state of ${last.finishedAt} stays valid`
  const message = `${error.message}. ${state}: ${error.advice}, then run "forecourt lake export" again.`
  return hasStarted
    ? new Error(message, { cause: error })
    : new UsageError(message, { cause: error })
}

import { join } from 'node:path'
import type pg from 'pg'
import type { RooftopConfig } from '../../app/config/read.ts'
import { BusyError, UnreachableError, UsageError } from '../../errors.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storable } from '../../values/text.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import { importStock } from '../import/import-stock.ts'
import { FileChangedError } from '../import/list-source.ts'
import type { ImportRequest, StockImportReport } from '../import/request.ts'
import { confirmingCommand } from '../refusal.ts'
import type { FileRecord } from './file-records.ts'
import { folders, type Inbox } from './inbox.ts'
import type { OwnFolders } from './own-folders.ts'
import { type FilePlan, type PlannedPart, planParts } from './plan-parts.ts'
import type { InboxServices } from './services.ts'

/** Thrown to undo an import whose part of the file another process has decided meanwhile. */
class AlreadyDecided extends Error {}

/** A file at work. */
export interface FileWork {
  readonly services: InboxServices
  readonly inbox: Inbox
  readonly at: OwnFolders
  /** false: its pattern is no longer in the config, and the inbox is another one of the folder. */
  readonly isConfigured: boolean
  readonly file: FileRecord
  readonly rooftops: readonly RooftopRow[]
}

/**
 * Imports every part of a taken file that is not decided yet, each in a transaction of its own that also records it. UsageError when
 * the file as a whole cannot be imported. Any other error is not the file's, and the file is tried again later.
 */
export async function importFile(work: FileWork): Promise<FilePlan> {
  const { services, inbox } = work
  const plan = await planParts(
    inbox,
    requestFor(work, { rooftop: anyRooftop(work) }),
    services.signal,
  )
  const decided = await decidedRooftops(work, plan.sha256)
  for (const part of plan.parts) {
    const { id } = work.rooftops.find(({ uid }) => uid === part.rooftop.uid)!
    if (!decided.includes(id)) await importPart(work, part, id, plan.sha256)
    services.crashPoint?.('inbox-imported')
  }
  return plan
}

/** The plan of a file that was decided before this process began; null: it can no longer be read. */
export async function planAgain(work: FileWork): Promise<FilePlan | null> {
  const request = requestFor(work, { rooftop: anyRooftop(work) })
  return await planParts(work.inbox, request, work.services.signal).catch((error) => {
    if (error instanceof UsageError) return null
    throw error
  })
}

/** A rooftop of the file: its region decides the encoding where the bytes do not. */
export function anyRooftop({ inbox, services }: FileWork): RooftopConfig {
  return inbox.rooftop ?? services.warehouse.config.rooftops[0]!
}

/** An import of the taken file. Messages and commands name it where a person will find it: in failed/. */
export function requestFor(
  { services, inbox, at, file }: FileWork,
  part: Partial<PlannedPart> & Pick<PlannedPart, 'rooftop'>,
): ImportRequest {
  return {
    file: join(inbox.folder, folders.failed, file.takenAs!),
    path: join(at.working, file.takenAs!),
    ...{ mode: inbox.mode, dryRun: false, maps: [], rejects: null, allowMassRemoval: false },
    ...{ importedBy: 'drop folder', now: services.now() },
    ...(inbox.sheet === null ? {} : { sheet: inbox.sheet }),
    ...part,
  }
}

async function decidedRooftops(
  { services, file }: FileWork,
  sha256: Buffer,
): Promise<readonly number[]> {
  const { rows } = await services.warehouse.pool.query<{ id: number }>(
    'select rooftop_id as id from ops.stock_inbox_part where file_id = $1 and sha256 = $2',
    [file.id, sha256],
  )
  return rows.map(({ id }) => id)
}

async function importPart(
  work: FileWork,
  part: PlannedPart,
  rooftopId: number,
  planned: Buffer,
): Promise<void> {
  const { services } = work
  const request = requestFor(work, part)
  const save = async (client: pg.ClientBase, part: SavedPart) => {
    if (!(await savePart(client, work.file.id, rooftopId, part))) throw new AlreadyDecided()
  }
  const beforeCommit = async (
    client: pg.ClientBase,
    { status, importId }: StockImportReport,
    sha256: Buffer,
  ) => {
    if (!sha256.equals(planned)) throw new FileChangedError(`${request.file} was written to.`)
    const outcome = status === 'imported' ? 'imported' : 'already-imported'
    await save(client, { sha256, outcome, importId, reason: null, command: null })
  }
  try {
    await importStock({ ...services, beforeCommit }, request)
  } catch (error) {
    if (error instanceof AlreadyDecided) return
    if (!isAboutFile(error)) throw error
    const { message: reason } = error
    const command = confirmingCommand(request, error)
    const refused = {
      sha256: planned,
      outcome: 'refused',
      importId: null,
      reason,
      command,
    } as const
    await savePart(services.warehouse.pool, work.file.id, rooftopId, refused)
  }
}

/** Whether the file is the reason: not the warehouse, another import, or a program that still writes it. */
export function isAboutFile(error: unknown): error is UsageError {
  return (
    error instanceof UsageError &&
    !(error instanceof UnreachableError) &&
    !(error instanceof FileChangedError) &&
    !isConnectionLoss(error)
  )
}

/** Whether it is worth trying again, without counting the attempt. */
export function isTransient(error: unknown, signal: AbortSignal): boolean {
  return (
    signal.aborted ||
    error instanceof BusyError ||
    error instanceof FileChangedError ||
    error instanceof UnreachableError ||
    isConnectionLoss(error)
  )
}

/** A reason may quote a cell, which may hold what Postgres cannot. */
function storableOrNull(text: string | null): string | null {
  return text === null ? null : storable(text)
}

interface SavedPart {
  readonly sha256: Buffer
  readonly outcome: 'imported' | 'already-imported' | 'refused'
  readonly importId: number | null
  readonly reason: string | null
  readonly command: string | null
}

/** false: the file is not being imported any more, or this part of the same content has been decided. */
async function savePart(
  client: Pick<pg.ClientBase, 'query'>,
  fileId: number,
  rooftopId: number,
  { sha256, outcome, importId, reason, command }: SavedPart,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `with file as (select file_id from ops.stock_inbox_file where file_id = $1 and state = 'taken' for update)
     insert into ops.stock_inbox_part as known (file_id, rooftop_id, sha256, outcome, import_id, reason, command)
     select file_id, $2, $3, $4, $5, $6, $7 from file
     on conflict (file_id, rooftop_id) do update
     set sha256 = excluded.sha256, outcome = excluded.outcome, import_id = excluded.import_id, reason = excluded.reason,
       command = excluded.command, decided_at = now()
     where known.sha256 <> excluded.sha256`,
    [fileId, rooftopId, sha256, outcome, importId, storableOrNull(reason), storableOrNull(command)],
  )
  return rowCount === 1
}

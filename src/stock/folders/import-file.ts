import { join } from 'node:path'
import { sql } from 'kysely'
import type { RooftopConfig } from '../../app/config/read.ts'
import { BusyError, UnreachableError, UsageError } from '../../errors.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { storableJson } from '../../values/text.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { importList } from '../import/import-stock.ts'
import { closedCheck, type ListCheck } from '../import/list-check.ts'
import { FileChangedError, openSource } from '../import/list-source.ts'
import type { ImportRequest, ImportServices, ListSource } from '../import/request.ts'
import type { FileRecord } from './file-records.ts'
import { type Inbox, type InboxServices, refusedRequest } from './inbox.ts'
import type { OwnFolders } from './own-folders.ts'
import { type FilePlan, type PlannedPart, planParts } from './plan-parts.ts'

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
  const request = requestFor(work, { rooftop: anyRooftop(work) })
  await using source = await openSource(request, services)
  const plan = await planParts(inbox, request, source, services.signal)
  const decided = await decidedRooftops(work, source.sha256)
  let refused: ListCheck | null = null
  for (const part of plan.parts) {
    const { id } = work.rooftops.find(({ uid }) => uid === part.rooftop.uid)!
    if (!decided.includes(id)) refused = (await importPart(work, part, id, source)) ?? refused
    services.crashPoint?.('inbox-imported')
  }
  return { ...plan, checked: refused && { check: refused, sha256: source.sha256 } }
}

/** The plan of a file of several rooftops that was decided before this process began; null: it can no longer be read. */
export async function planAgain(work: FileWork): Promise<FilePlan | null> {
  if (work.inbox.column === null) return null
  const request = requestFor(work, { rooftop: anyRooftop(work) })
  try {
    await using source = await openSource(request, work.services)
    return await planParts(work.inbox, request, source, work.services.signal)
  } catch (error) {
    if (error instanceof UsageError) return null
    throw error
  }
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
    ...refusedRequest(inbox, file.takenAs!, part.rooftop),
    path: join(at.working, file.takenAs!),
    // Corrected rows are never the whole stock.
    ...{ mode: inbox.mode, rejectsAreDelta: true, dryRun: false, rejects: null },
    ...{ allowMassRemoval: false, importedBy: 'drop folder', now: services.now() },
    ...part,
  }
}

async function decidedRooftops(
  { services, file }: FileWork,
  sha256: Buffer,
): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select rooftop_id as id from ops.stock_inbox_part
    where file_id = ${file.id} and sha256 = ${sha256}`.execute(services.warehouse.db)
  return rows.map(({ id }) => id)
}

/** Gives the check of a refused part. */
async function importPart(
  work: FileWork,
  part: PlannedPart,
  rooftopId: number,
  source: ListSource,
): Promise<ListCheck | null> {
  const { services } = work
  const request = { ...requestFor(work, part), source }
  const beforeCommit: ImportServices['beforeCommit'] = async (db, { status, importId }) => {
    const outcome = status === 'imported' ? 'imported' : 'already-imported'
    const part = { sha256: source.sha256, outcome, importId, result: null } as const
    if (!(await savePart(db, work.file.id, rooftopId, part))) throw new AlreadyDecided()
  }
  const check = await importList({ ...services, beforeCommit }, request).catch((error: unknown) => {
    if (error instanceof AlreadyDecided) return null
    if (!isAboutFile(error)) throw error
    return closedCheck(request, { is: 'unreadable', why: error.message })
  })
  if (check === null || check.refusals.length === 0) return null
  await savePart(services.warehouse.db, work.file.id, rooftopId, {
    ...{ sha256: source.sha256, outcome: 'refused', importId: null },
    result: { ...check, first: null, report: null },
  })
  return check
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

interface SavedPart {
  readonly sha256: Buffer
  readonly outcome: 'imported' | 'already-imported' | 'refused'
  readonly importId: number | null
  /** Of a refused part, without its rows. */
  readonly result: ListCheck | null
}

/** false: the file is not being imported any more, or this part of the same content has been decided. */
async function savePart(
  db: Db,
  fileId: number,
  rooftopId: number,
  { sha256, outcome, importId, result }: SavedPart,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    with file as (select file_id from ops.stock_inbox_file where file_id = ${fileId} and state = 'taken' for update)
    insert into ops.stock_inbox_part as known (file_id, rooftop_id, sha256, outcome, import_id, result)
    select file_id, ${rooftopId}, ${sha256}, ${outcome}, ${importId},
      ${result && JSON.stringify(storableJson(result))} from file
    on conflict (file_id, rooftop_id) do update
    set sha256 = excluded.sha256, outcome = excluded.outcome, import_id = excluded.import_id, result = excluded.result,
      decided_at = now()
    where known.sha256 <> excluded.sha256`.execute(db)
  return numAffectedRows === 1n
}

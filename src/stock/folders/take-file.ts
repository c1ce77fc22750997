import type { BigIntStats } from 'node:fs'
import { lstat, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText, isCode } from '../../errors.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import { takenName } from './file-names.ts'
import {
  beginAttempt,
  type FileRecord,
  forgetAttempt,
  recordChanged,
  recordDecided,
  recordEnd,
  recordNotTaken,
  recordTaken,
} from './file-records.ts'
import { type FileResult, finishFile, takeBackGrown } from './finish-file.ts'
import { joinPath, type SeenFile } from './folder.ts'
import { type FileWork, importFile, isAboutFile, isTransient } from './import-file.ts'
import { folders } from './inbox.ts'
import { FolderProblem } from './own-folders.ts'
import { isThere } from './place-file.ts'
import type { FilePlan } from './plan-parts.ts'

/** A list of a million vehicles has a tenth of this. */
const maxBytes = 2 * 1024 ** 3
const maxAttempts = 3
/** An empty file may be one whose upload has just started. */
const emptyFactor = 6

/** Whether a file is complete: it has its marker, or has not changed for long enough. */
export function isComplete(
  { inbox, isLink, isMarked }: Pick<SeenFile, 'inbox' | 'isLink' | 'isMarked'>,
  { unchangedSeconds, bytes }: FileRecord,
): boolean {
  if (inbox.marker !== null && !isLink) return isMarked
  const factor = bytes === '0' ? emptyFactor : 1
  return isLink || unchangedSeconds >= inbox.settleSeconds * factor
}

/** Takes a complete file: from now on its name in the folder is free. null: it is gone, or another process took it. */
export async function takeFile(work: FileWork, seen: SeenFile): Promise<FileWork | null> {
  const { services, inbox, file } = work
  const { db } = services.warehouse
  const takenAs = takenName(seen.shown, file.id, services.now())
  const taken = { ...work, file: await recordTaken(db, file, seen, takenAs) }
  services.crashPoint?.('inbox-recorded')
  if (!(await moveToWorking(taken, seen.name))) {
    await recordNotTaken(db, file)
    return null
  }
  services.crashPoint?.('inbox-taken')
  services.log.info({ file: seen.shown, folder: inbox.folder }, `took ${seen.shown}`)
  return taken
}

/** false: the file is not there. FolderProblem when it may not be moved; it then stays, and is not imported. */
async function moveToWorking({ inbox, at, file }: FileWork, name: Buffer): Promise<boolean> {
  const to = join(at.working, file.takenAs!)
  const from = joinPath(at.top, name)
  try {
    // Before the file: the marker of this list must not complete the next one.
    if (inbox.marker !== null)
      await rm(Buffer.concat([from, Buffer.from(inbox.marker)]), { force: true })
    await rename(from, to)
    return true
  } catch (error) {
    if (isCode(error, 'ENOENT')) return await isThere(to)
    throw new FolderProblem(
      `${file.name} cannot be moved to ${join(inbox.folder, folders.working)} (${at.named(errorText(error))}), so it is not imported: the user that runs Forecourt needs the right to rename in ${inbox.folder}, and free space on its disk.`,
    )
  }
}

/**
 * Brings a taken file to its end, from wherever a process left it: imports what is not imported, writes the report, moves it. null: it
 * is not complete yet, or the warehouse is away; a later pass goes on.
 */
export async function bringToEnd(work: FileWork): Promise<FileResult | null> {
  const { services, inbox, at, file } = work
  const found = await lstat(join(at.working, file.takenAs!), { bigint: true }).catch(() => null)
  if (found === null) return await findMissing(work)
  if (file.state === 'decided') return await finish(work, undefined)
  const { size, mtimeNs: modifiedNs } = found
  if (found.isFile() && (String(size) !== file.bytes || String(modifiedNs) !== file.modifiedNs)) {
    await recordChanged(services.warehouse.db, file, { size, modifiedNs })
    return null
  }
  const isFresh = file.unchangedSeconds < inbox.settleSeconds && inbox.marker === null
  if (isFresh && found.isFile()) return null
  const refused = work.isConfigured ? findRefusal(found) : notConfigured
  if (refused !== null) return await decide(work, refused, null)
  return await attempt(work)
}

const notConfigured =
  'The pattern that it was taken for is no longer in stock.inbox, so nothing shows whose stock it is: drop it again.'

/** Why a file is not even opened; null: it is. */
function findRefusal(found: BigIntStats): string | null {
  if (found.isSymbolicLink())
    return 'It is a symbolic link, which may point anywhere, so it was not read: drop the file itself.'
  if (!found.isFile()) return 'It is not a file.'
  if (found.size <= maxBytes) return null
  const gigabytes = (Number(found.size) / 1024 ** 3).toFixed(1)
  return `It has ${gigabytes} GB, and no stock list has more than ${maxBytes / 1024 ** 3}: is it another file?`
}

async function attempt(work: FileWork): Promise<FileResult | null> {
  const { services, file } = work
  const { db } = services.warehouse
  const attempts = await beginAttempt(db, file)
  if (attempts > maxAttempts) {
    const reason = `Reading it did not come to an end ${maxAttempts} times: its process was killed, or failed with an error that the log has.`
    return await decide(work, reason, null)
  }
  try {
    return await decide(work, null, await importFile(work))
  } catch (error) {
    if (isAboutFile(error)) return await decide(work, error.message, null)
    if (isTransient(error, services.signal)) await forgetAttempt(db, file).catch(() => undefined)
    throw error
  }
}

async function decide(
  work: FileWork,
  reason: string | null,
  plan: FilePlan | null,
): Promise<FileResult | null> {
  const { services, file } = work
  await recordDecided(services.warehouse.db, file, reason)
  services.crashPoint?.('inbox-decided')
  return await finish({ ...work, file: { ...file, state: 'decided', reason } }, plan)
}

/** FolderProblem when the report cannot be written or the file cannot be moved; a later pass does only that again. */
async function finish(
  work: FileWork,
  plan: FilePlan | null | undefined,
): Promise<FileResult | null> {
  try {
    return await finishFile(work, plan)
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    const isOfDisk = typeof code === 'string' && /^E[A-Z]+$/.test(code) && !isConnectionLoss(error)
    if (!isOfDisk) throw error
    const where = join(work.inbox.folder, folders.working, work.file.takenAs!)
    throw new FolderProblem(
      `${work.file.name} is decided but cannot be moved out of ${where} (${work.at.named(errorText(error))}): free some space, or correct the rights of ${folders.done}/ and ${folders.failed}/. It is not imported again.`,
    )
  }
}

/** A taken file that is not in working/: it was moved, was not taken after all, or someone removed it. */
async function findMissing(work: FileWork): Promise<FileResult | null> {
  const { services, inbox, at, file } = work
  const { db } = services.warehouse
  for (const state of ['done', 'failed'] as const) {
    const path = join(at[state], file.takenAs!)
    if (!(await isThere(path))) continue
    if (await takeBackGrown(work, path, [`${path}.report.txt`])) return null
    await recordEnd(db, file, state, file.reason)
    return null
  }
  if (file.state === 'taken' && (await isThere(joinPath(at.top, file.nameBytes)))) {
    if (await moveToWorking(work, file.nameBytes)) return await bringToEnd(work)
  }
  const reason = `${file.name} disappeared from ${join(inbox.folder, folders.working)} while it was being imported: drop it again.`
  await recordEnd(db, file, 'gone', reason)
  services.log.warn({ file: file.name }, reason)
  const none = { path: null, report: null, commands: [], rooftops: [], unknownRows: 0 }
  return { ...none, file: file.name, state: 'gone', reason }
}

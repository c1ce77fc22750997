import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import type pg from 'pg'
import { BusyError, errorText, UsageError } from '../../errors.ts'
import { registerRooftops } from '../../sync/run/rooftops.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import { isConnectionLoss } from '../../warehouse/db/connect.ts'
import { lockSql } from '../../warehouse/db/locks.ts'
import { dbOn } from '../../warehouse/db/transaction.ts'
import { takenAt } from './file-names.ts'
import {
  type FileRecord,
  nameKey,
  openFailures,
  recordCheck,
  recordCleared,
  recordSeen,
  registerInboxes,
  unfinishedFiles,
} from './file-records.ts'
import type { FileResult } from './finish-file.ts'
import { type OpenFolder, openFolder, readFolder } from './folder.ts'
import { type FileWork, isTransient } from './import-file.ts'
import type { Inbox, InboxServices } from './inbox.ts'
import { FolderProblem, type OwnFolders } from './own-folders.ts'
import { isThere } from './place-file.ts'
import { bringToEnd, isComplete, takeFile } from './take-file.ts'

/** What one pass over drop folders did. */
export interface PassReport {
  readonly files: readonly FileResult[]
  /** Files that are in a folder and not complete yet, or that are to be tried again. */
  readonly waiting: readonly string[]
  /** What lies in a folder and is not a file. */
  readonly ignored: readonly { readonly name: string; readonly reason: string }[]
  /** Why a folder could not be used. */
  readonly problems: readonly { readonly folder: string; readonly problem: string }[]
  /** Folders that another process is working on. */
  readonly busy: readonly string[]
}

/** Imports every complete file of the folders, one after the other; no fault of a file or a folder stops it. A file that has to wait makes
 *  the newer ones of its inbox wait too: an older list after a newer one would take the stock back. */
export async function runPass(
  services: InboxServices,
  inboxes: readonly Inbox[],
): Promise<PassReport> {
  const reports: PassReport[] = []
  await registerInboxes(services.warehouse.db, inboxes)
  for (const [folder, ofFolder] of Map.groupBy(inboxes, (inbox) => inbox.folder))
    if (!services.stopping.aborted) reports.push(await passFolder(services, folder, ofFolder))
  return joined(reports)
}

/** Several reports as one. */
export function joined(reports: readonly PassReport[]): PassReport {
  return {
    files: reports.flatMap(({ files }) => files),
    waiting: reports.flatMap(({ waiting }) => waiting),
    ignored: reports.flatMap(({ ignored }) => ignored),
    problems: reports.flatMap(({ problems }) => problems),
    busy: reports.flatMap(({ busy }) => busy),
  }
}

const nothing: PassReport = { files: [], waiting: [], ignored: [], problems: [], busy: [] }

async function passFolder(
  services: InboxServices,
  folder: string,
  inboxes: readonly Inbox[],
): Promise<PassReport> {
  const { db, pool } = services.warehouse
  try {
    await using open = await openFolder(folder)
    const work = { services, inboxes, folder, folderId: open.id, at: open.at }
    const report = await whenFree(pool, open.id, () => workFolder(work))
    if (report === null) return { ...nothing, busy: [folder] }
    const [problem] = report.problems
    await recordCheck(db, inboxes, problem?.problem ?? null)
    return report
  } catch (error) {
    if (isConnectionLoss(error)) throw error
    if (!(error instanceof FolderProblem || error instanceof UsageError)) throw error
    await recordCheck(db, inboxes, error.message)
    services.log.warn({ folder }, error.message)
    return { ...nothing, problems: [{ folder, problem: error.message }] }
  }
}

/** null: another process has the folder's lock. */
async function whenFree<T>(
  pool: pg.Pool,
  folderId: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const client = await pool.connect()
  const db = dbOn(client)
  let isFree = true
  try {
    const { rows } = await sql<{ free: boolean }>`
      select ${lockSql.trySession('inbox', sql`hashtext(${folderId})`)} as free`.execute(db)
    if (!rows[0]!.free) return null
    isFree = false
    const result = await work()
    await sql`select ${lockSql.unlockSession('inbox', sql`hashtext(${folderId})`)}`.execute(db)
    isFree = true
    return result
  } finally {
    // A session that may still have the lock is ended, and the lock with it.
    client.release(!isFree)
  }
}

interface FolderWork {
  readonly services: InboxServices
  readonly inboxes: readonly Inbox[]
  readonly folder: string
  readonly folderId: string
  readonly at: OpenFolder['at']
}

async function workFolder(work: FolderWork): Promise<PassReport> {
  const { services, inboxes, at, folderId } = work
  const { db, config } = services.warehouse
  await clearRemoved(work)
  const registered = config.rooftops.filter((rooftop) =>
    inboxes.some((inbox) => inbox.column !== null || inbox.rooftop === rooftop),
  )
  const rooftops = await registerRooftops(db, registered, services.log)
  const pass = new Pass(work, rooftops)
  for (const file of await unfinishedFiles(db, folderId)) await pass.bringToEnd(file)
  const content = await readFolder(at, inboxes)
  const records = await recordSeen(db, folderId, content)
  for (const seen of content.files) {
    const record = records.get(nameKey(seen.name))
    if (record === undefined || pass.isOver) continue
    if (isComplete(seen, record)) await pass.take(record, seen)
    // A file whose marker never comes holds up no other.
    else pass.wait(record, seen.inbox.marker === null)
  }
  const problems = await clearDone(work)
  const report = pass.report()
  return { ...report, ignored: content.ignored, problems: [...report.problems, ...problems] }
}

/** Removes old files of done/. What is wrong there does not hide what the pass did. */
async function clearDone({ services, inboxes, folder, at }: FolderWork) {
  try {
    const removed = await removeOld(at, inboxes, services.now())
    if (removed > 0) services.log.info({ folder }, `removed ${removed} old files from done/`)
    return []
  } catch (error) {
    if (!(error instanceof FolderProblem)) throw error
    services.log.warn({ folder }, error.message)
    return [{ folder, problem: error.message }]
  }
}

/** One pass over one folder. */
class Pass {
  readonly #work: FolderWork
  readonly #rooftops: readonly RooftopRow[]
  readonly #files: FileResult[] = []
  #problem: string | null = null
  readonly #waiting: string[] = []
  /** The keys of inboxes with a file that waits. */
  readonly #held = new Set<string>()

  constructor(work: FolderWork, rooftops: readonly RooftopRow[]) {
    this.#work = work
    this.#rooftops = rooftops
  }

  /** The process is to stop, or the folder cannot be written to. */
  get isOver(): boolean {
    return this.#work.services.stopping.aborted || this.#problem !== null
  }

  report(): PassReport {
    const { folder } = this.#work
    const problems = this.#problem === null ? [] : [{ folder, problem: this.#problem }]
    return { files: this.#files, waiting: this.#waiting, ignored: [], problems, busy: [] }
  }

  wait({ name, inbox }: FileRecord, isHolding = true): void {
    this.#waiting.push(name)
    if (isHolding) this.#held.add(inbox)
  }

  async take(file: FileRecord, seen: Parameters<typeof takeFile>[1]): Promise<void> {
    await this.#guard(file, async () => {
      const taken = await takeFile(this.#of(file), seen)
      return taken === null ? null : await this.#end(taken)
    })
  }

  async bringToEnd(file: FileRecord): Promise<void> {
    await this.#guard(file, async () => await this.#end(this.#of(file)))
  }

  async #end(work: FileWork): Promise<FileResult | null> {
    const result = await bringToEnd(work)
    if (result === null) this.wait(work.file)
    return result
  }

  #of(file: FileRecord): FileWork {
    const { services, inboxes, at } = this.#work
    const inbox = inboxes.find(({ key }) => key === file.inbox)
    const rooftops = this.#rooftops
    return {
      services,
      at,
      inbox: inbox ?? inboxes[0]!,
      isConfigured: inbox !== undefined,
      file,
      rooftops,
    }
  }

  async #guard(file: FileRecord, work: () => Promise<FileResult | null>): Promise<void> {
    const { services, folder } = this.#work
    const { name, inbox } = file
    if (this.isOver) return
    if (this.#held.has(inbox)) return this.wait(file)
    try {
      const result = await work()
      if (result === null) return
      this.#files.push(result)
      logResult(services, result)
    } catch (error) {
      if (isConnectionLoss(error)) throw error
      if (error instanceof FolderProblem) {
        this.#problem = error.message
        services.log.error({ folder, file: name }, error.message)
        return
      }
      this.wait(file)
      const level = isTransient(error, services.signal) ? 'info' : 'error'
      const why = error instanceof BusyError ? 'another import runs' : errorText(error)
      services.log[level]({ folder, file: name, err: error }, `${name} is tried again: ${why}`)
    }
  }
}

function logResult({ log }: InboxServices, result: FileResult): void {
  const { file, state, rooftops, reason, report } = result
  const imports = rooftops.map(
    ({ rooftop, outcome, accepted, rejected }) =>
      `${rooftop} ${outcome}${outcome === 'imported' ? ` (${accepted} accepted, ${rejected} rejected)` : ''}`,
  )
  const text = [
    `${file} is ${state}`,
    ...imports,
    ...(reason === null ? [] : [reason.split('\n')[0]!]),
  ]
  log[state === 'done' ? 'info' : 'warn']({ file, report }, text.join(': '))
}

/** A failed file that a person removed from failed/ waits for no one any more. */
async function clearRemoved({ services, at, folderId }: FolderWork): Promise<void> {
  const { db } = services.warehouse
  const cleared: number[] = []
  for (const { id, takenAs } of await openFailures(db, folderId))
    if (!(await isThere(join(at.failed, takenAs)))) cleared.push(id)
  if (cleared.length > 0) await recordCleared(db, cleared)
}

/** Whether a pass left anything that a person has to see. */
export function hasFaults({ files, problems }: PassReport): boolean {
  const isWhole = ({ state, rooftops, unknownRows }: FileResult) =>
    state === 'done' && unknownRows === 0 && rooftops.every(({ rejected }) => rejected === 0)
  return problems.length > 0 || !files.every(isWhole)
}

/**
 * Removes what has been in done/ for `keepDays`: lists, reports and rejected rows, by the time in their names. Where several inboxes have
 * the folder, the longest time counts. Other files in done/ are left alone. Gives how many were removed; FolderProblem when one may not be.
 */
async function removeOld(
  at: Pick<OwnFolders, 'done' | 'named'>,
  inboxes: readonly Pick<Inbox, 'keepDays'>[],
  now: Date,
): Promise<number> {
  const days = Math.max(...inboxes.map(({ keepDays }) => keepDays ?? Infinity))
  if (days === Infinity) return 0
  const done = `${at.done}/`
  const isOld = (name: string) => {
    const at = takenAt(name)
    return at !== null && at.getTime() < now.getTime() - days * 86_400_000
  }
  try {
    const old = (await readdir(done)).filter(isOld)
    for (const name of old) await rm(join(done, name), { force: true })
    return old.length
  } catch (cause) {
    throw new FolderProblem(
      `Files in ${at.named(done)} that are older than keepDays (${days}) cannot be removed (${at.named(errorText(cause))}): correct its rights, or remove them.`,
    )
  }
}

import { randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { lstat, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText, isCode } from '../../errors.ts'
import { readOwnFile } from '../import/list-source.ts'
import { isTemporary, shownName } from './file-names.ts'
import { folders, type Inbox } from './inbox.ts'
import { FolderProblem, type OwnFolders, openOwnFolders } from './own-folders.ts'

/** A file in a drop folder. */
export interface SeenFile {
  readonly inbox: Inbox
  /** Its name as the system has it; it need not be text. */
  readonly name: Buffer
  readonly shown: string
  readonly size: bigint
  readonly modifiedNs: bigint
  readonly isLink: boolean
  /** Whether the marker that the config asks for is beside it. */
  readonly isMarked: boolean
}

/** What a drop folder holds. */
export interface FolderContent {
  /** The oldest first, so that the newest list of a rooftop is imported last. */
  readonly files: readonly SeenFile[]
  /** What is not a file: folders, pipes, devices. */
  readonly ignored: readonly { readonly name: string; readonly reason: string }[]
}

const idFile = '.forecourt-inbox'
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/

/** A drop folder that is being worked on. */
export interface OpenFolder extends AsyncDisposable {
  /** The same for all hosts wherever they mount it. */
  readonly id: string
  readonly at: OwnFolders
}

/** Opens a drop folder and those of the inbox in it, which are made if they are missing. */
export async function openFolder(folder: string): Promise<OpenFolder> {
  try {
    await using stack = new AsyncDisposableStack()
    const at = stack.use(await openOwnFolders(folder))
    const id = await readId(join(at.top, idFile), join(folder, idFile))
    const opened = stack.move()
    return { id, at, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  } catch (cause) {
    if (cause instanceof FolderProblem) throw cause
    throw new FolderProblem(`${folder} cannot be used (${errorText(cause)}): ${adviceFor(cause)}`)
  }
}

function adviceFor(cause: unknown): string {
  if (isCode(cause, 'ENOENT')) return 'make the folder, or correct stock.inbox.'
  if (isCode(cause, 'ENOSPC', 'EDQUOT')) return 'its disk is full; free some space.'
  return 'the user that runs Forecourt needs the right to read, write and rename in it.'
}

async function readId(path: string, shown: string): Promise<string> {
  for (;;) {
    const found = await findId(path)
    if (found !== null) return found
    const text = `Forecourt imports the stock lists of this folder. This file names it: leave it here.\n${randomUUID()}\n`
    await writeFile(path, text, { flag: 'wx' }).catch(async (error) => {
      if (!isCode(error, 'EEXIST')) throw error
      await refuseDamaged(path, shown)
    })
  }
}

/** null: there is no such file yet, or none with an id in it. */
async function findId(path: string): Promise<string | null> {
  const text = await readOwnFile(path).catch(() => Buffer.alloc(0))
  return uuid.exec(text.toString('latin1'))?.[0] ?? null
}

/** Another process may be writing it at this moment; one without an id after that is damaged. */
async function refuseDamaged(path: string, shown: string): Promise<void> {
  await new Promise((done) => setTimeout(done, 200))
  if ((await findId(path)) !== null) return
  throw new FolderProblem(`${shown} is damaged: remove it while no process watches the folder.`)
}

/** The files of the folder that are lists of one of these inboxes, which are all of this folder. */
export async function readFolder(
  { top, named }: OwnFolders,
  inboxes: readonly Inbox[],
): Promise<FolderContent> {
  const names = await readdir(Buffer.from(`${top}/`), { encoding: 'buffer' }).catch((cause) => {
    const [folder] = inboxes.map((inbox) => inbox.folder)
    throw new FolderProblem(
      `${folder} cannot be read (${named(errorText(cause))}): ${adviceFor(cause)}`,
    )
  })
  const all = new Set(names.map((name) => name.toString('latin1')))
  const files: SeenFile[] = []
  const ignored: FolderContent['ignored'][number][] = []
  for (const name of names) {
    const shown = shownName(name)
    const inbox = inboxes.find((one) => isList(shown, one))
    if (inbox === undefined || Object.values<string>(folders).includes(shown)) continue
    const found = await lstat(joinPath(top, name), { bigint: true }).catch(() => null)
    if (found === null) continue
    const { size, mtimeNs: modifiedNs } = found
    const isMarked = inbox.marker !== null && all.has(`${name.toString('latin1')}${inbox.marker}`)
    if (found.isFile() || found.isSymbolicLink())
      files.push({
        ...{ inbox, name, shown, size, modifiedNs, isMarked },
        isLink: found.isSymbolicLink(),
      })
    else ignored.push({ name: shown, reason: fileKind(found) })
  }
  return { files: files.sort(byAge), ignored }
}

function byAge(one: SeenFile, other: SeenFile): number {
  const difference = one.modifiedNs - other.modifiedNs
  return difference === 0n ? Buffer.compare(one.name, other.name) : difference < 0n ? -1 : 1
}

function isList(name: string, { matches, marker }: Inbox): boolean {
  return !isTemporary(name) && !(marker !== null && name.endsWith(marker)) && matches(name)
}

function fileKind(found: BigIntStats): string {
  if (found.isDirectory()) return 'a folder: drop the files themselves'
  if (found.isFIFO()) return 'a pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

/** The path of a name that need not be text. */
export function joinPath(folder: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(join(folder, '/')), name])
}

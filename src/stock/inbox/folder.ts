import { randomUUID } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '../../db/embedded-lock.ts'
import { messageOf } from '../../errors.ts'
import { isTemporary, shownName } from './file-names.ts'
import { folders, type Inbox } from './inbox.ts'

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
  /** What is no file: folders, pipes, devices. */
  readonly ignored: readonly { readonly name: string; readonly reason: string }[]
}

/** The folder cannot be used; the message says what to do. */
export class FolderProblem extends Error {
  override readonly name = 'FolderProblem'
}

const idFile = '.forecourt-inbox'
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/

/** Makes the folders of the inbox, and gives the folder's id, which is the same for all hosts wherever they mount it. */
export async function openFolder(folder: string): Promise<string> {
  try {
    const found = await lstat(folder, { bigint: true })
    for (const name of Object.values(folders)) await makeFolder(join(folder, name), found)
    return await readId(join(folder, idFile))
  } catch (cause) {
    if (cause instanceof FolderProblem) throw cause
    throw new FolderProblem(`${folder} cannot be used (${messageOf(cause)}): ${adviceFor(cause)}`)
  }
}

function adviceFor(cause: unknown): string {
  if (isCode(cause, 'ENOENT')) return 'make the folder, or correct stock.inbox.'
  if (isCode(cause, 'ENOSPC', 'EDQUOT')) return 'its disk is full; free some space.'
  return 'the user that runs Forecourt needs the right to read, write and rename in it.'
}

async function makeFolder(path: string, { dev }: BigIntStats): Promise<void> {
  await mkdir(path).catch((error) => {
    if (!isCode(error, 'EEXIST')) throw error
  })
  const found = await lstat(path, { bigint: true })
  if (!found.isDirectory())
    throw new FolderProblem(`${path} is not a folder: move it away, Forecourt makes its own.`)
  // A rename takes a file, so that two processes never take it both; between disks there is none.
  if (path.endsWith(folders.working) && found.dev !== dev)
    throw new FolderProblem(
      `${path} is on another disk than the folder: let Forecourt make it, and put only done/ and failed/ on another one.`,
    )
}

async function readId(path: string): Promise<string> {
  for (;;) {
    const found = uuid.exec(await readFile(path, 'latin1').catch(() => ''))
    if (found) return found[0]
    const text = `Forecourt imports the stock lists of this folder. This file names it: leave it here.\n${randomUUID()}\n`
    await writeFile(path, text, { flag: 'wx' }).catch(async (error) => {
      if (!isCode(error, 'EEXIST')) throw error
      await refuseDamaged(path)
    })
  }
}

/** Another process may be writing it at this moment; one without an id after that is damaged. */
async function refuseDamaged(path: string): Promise<void> {
  await new Promise((done) => setTimeout(done, 200))
  if (uuid.test(await readFile(path, 'latin1'))) return
  throw new FolderProblem(`${path} is damaged: remove it while no process watches the folder.`)
}

/** The files of the folder that are lists of one of these inboxes, which are all of this folder. */
export async function readFolder(
  folder: string,
  inboxes: readonly Inbox[],
): Promise<FolderContent> {
  const names = await readdir(Buffer.from(folder), { encoding: 'buffer' }).catch((cause) => {
    throw new FolderProblem(`${folder} cannot be read (${messageOf(cause)}): ${adviceFor(cause)}`)
  })
  const all = new Set(names.map((name) => name.toString('latin1')))
  const files: SeenFile[] = []
  const ignored: FolderContent['ignored'][number][] = []
  for (const name of names) {
    const shown = shownName(name)
    const inbox = inboxes.find((one) => isList(shown, one))
    if (inbox === undefined || Object.values<string>(folders).includes(shown)) continue
    const found = await lstat(pathOf(folder, name), { bigint: true }).catch(() => null)
    if (found === null) continue
    const { size, mtimeNs: modifiedNs } = found
    const isMarked = inbox.marker !== null && all.has(`${name.toString('latin1')}${inbox.marker}`)
    if (found.isFile() || found.isSymbolicLink())
      files.push({
        ...{ inbox, name, shown, size, modifiedNs, isMarked },
        isLink: found.isSymbolicLink(),
      })
    else ignored.push({ name: shown, reason: kindOf(found) })
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

function kindOf(found: BigIntStats): string {
  if (found.isDirectory()) return 'a folder: drop the files themselves'
  if (found.isFIFO()) return 'a pipe'
  return found.isSocket() ? 'a socket' : 'a device'
}

/** The path of a name that need not be text. */
export function pathOf(folder: string, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(join(folder, '/')), name])
}

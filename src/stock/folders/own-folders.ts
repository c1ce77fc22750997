import { constants } from 'node:fs'
import { access, type FileHandle, lstat, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { isCode } from '../../errors.ts'
import { folders } from './inbox.ts'

/** The folder cannot be used; the message says what to do. */
export class FolderProblem extends Error {
  override readonly name = 'FolderProblem'
}

/**
 * Where a drop folder and its three folders are, for every call that reads or writes them. On Linux these are paths of open folders:
 * who may write to the drop folder can neither rename nor replace them while a pass works.
 */
export interface OwnFolders
  extends AsyncDisposable,
    Readonly<Record<keyof typeof folders, string>> {
  readonly top: string
  /** A message with the names that people know. */
  named(text: string): string
}

/** Makes the folders that are missing and opens all. FolderProblem if one of them is a link or of another user. */
export async function openOwnFolders(folder: string): Promise<OwnFolders> {
  await using stack = new AsyncDisposableStack()
  const names = new Map<string, string>()
  const canName = await hasHandlePaths()
  const openAt = async (path: string, shown: string, flags: number) => {
    const handle = stack.use(await openDirectory(path, shown, flags))
    const at = canName ? `/proc/self/fd/${handle.fd}` : shown
    names.set(`${at}/`, `${shown}/`)
    return { at, dev: (await handle.stat({ bigint: true })).dev, handle }
  }
  // An operator may have made the drop folder itself a link.
  const top = await openAt(folder, folder, 0)
  const openOwn = async (name: string) => {
    const [path, shown] = [join(top.at, name), join(folder, name)]
    await mkdir(path).catch((error) => {
      if (!isCode(error, 'EEXIST')) throw error
    })
    const opened = await openAt(path, shown, constants.O_NOFOLLOW)
    await assertOurs(opened.handle, shown)
    return opened
  }
  const working = await openOwn(folders.working)
  // A rename takes a opened, so that two processes never take it both; between disks there is none.
  if (working.dev !== top.dev)
    throw new FolderProblem(
      `${join(folder, folders.working)} is on another disk than the folder: let Forecourt make it, and put only done/ and failed/ on another one.`,
    )
  const [done, failed] = [await openOwn(folders.done), await openOwn(folders.failed)]
  const opened = stack.move()
  return {
    ...{ top: top.at, working: working.at, done: done.at, failed: failed.at },
    named: (text) => [...names].reduce((all, [at, shown]) => all.replaceAll(at, shown), text),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function hasHandlePaths(): Promise<boolean> {
  if (process.platform !== 'linux') return false
  return await access('/proc/self/fd').then(
    () => true,
    () => false,
  )
}

async function openDirectory(path: string, shown: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | flags)
  } catch (error) {
    if (!isCode(error, 'ENOTDIR', 'ELOOP')) throw error
    const found = await lstat(path)
    const what = found.isSymbolicLink() ? 'a symbolic link' : 'not a folder'
    throw new FolderProblem(`${shown} is ${what}: move it away, Forecourt makes its own.`)
  }
}

/** Another user's folder may hold links with the names of our reports. */
async function assertOurs(handle: FileHandle, shown: string): Promise<void> {
  const { uid } = await handle.stat()
  const processUid = process.geteuid?.() ?? uid
  if (uid === processUid) return
  throw new FolderProblem(
    `${shown} belongs to another user (${uid}) than the one that runs Forecourt (${processUid}): move it away, Forecourt makes its own, or give it to that user (chown ${processUid}).`,
  )
}

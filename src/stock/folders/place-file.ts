import { lstat, open, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isCode } from '../../errors.ts'
import { openOwnFile } from '../import/list-source.ts'

/** Whether something has this name, be it a broken link. */
export async function isThere(path: string | Buffer): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null
}

/**
 * Moves a file, between disks too: then it is complete there before it is removed here. When a killed process has done a part of it,
 * the rest is done. No other file ever has the target's name.
 */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (isCode(error, 'ENOENT') && (await isThere(to))) return
    if (!isCode(error, 'EXDEV')) throw error
    const part = `${to}.part`
    await rm(part, { force: true })
    // A link is moved, never what it points to.
    if ((await lstat(from)).isSymbolicLink()) await symlink(await readlink(from), part)
    else await copyNew(from, part)
    await rename(part, to)
    await sync(dirname(to))
    await rm(from, { force: true })
  }
}

/** Follows a link at neither end. */
async function copyNew(from: string, to: string): Promise<void> {
  await using source = await openOwnFile(from)
  const { mode } = await source.stat()
  const content = source.createReadStream({ autoClose: false })
  await writeFile(to, content, { flag: 'wx', mode: mode & 0o777, flush: true })
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}

/** Writes a file that appears with all its content, and never through a link. */
export async function placeText(path: string, text: string): Promise<void> {
  const part = `${path}.part`
  await rm(part, { force: true })
  await writeFile(part, text, { flag: 'wx' })
  await rename(part, path)
}

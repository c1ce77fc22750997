import { constants } from 'node:fs'
import { copyFile, lstat, open, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isCode } from '../../db/embedded-lock.ts'

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
    else {
      await copyFile(from, part, constants.COPYFILE_FICLONE)
      await sync(part)
    }
    await rename(part, to)
    await sync(dirname(to))
    await rm(from, { force: true })
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Writes a file that appears with all its content. */
export async function placeText(path: string, text: string): Promise<void> {
  const part = `${path}.part`
  await writeFile(part, text)
  await rename(part, path)
}

import { execFile } from 'node:child_process'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'

const execute = promisify(execFile)
const megabyte = 1024 * 1024

/** A disk of a fixed size. Needs the right to mount. */
export async function openDisk(megabytes: number): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  const path = join(folder.path, 'disk')
  await mkdir(path)
  await execute('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path])
  return {
    path,
    async [Symbol.asyncDispose]() {
      await execute('umount', [path])
      await folder[Symbol.asyncDispose]()
    },
  }
}

export async function mayMount(): Promise<boolean> {
  try {
    await using _disk = await openDisk(1)
    return true
  } catch {
    return false
  }
}

/** Fills a disk up to this much free space. */
export async function fill(path: string, megabytes: number): Promise<() => Promise<void>> {
  const { bavail, bsize } = await statfs(path)
  const file = join(path, 'ballast')
  await writeFile(file, Buffer.alloc(Math.max(0, bavail * bsize - megabytes * megabyte)))
  return async () => await rm(file)
}

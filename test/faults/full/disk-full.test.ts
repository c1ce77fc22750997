import { execFile } from 'node:child_process'
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import { openCluster } from '../cluster.ts'
import { expectTruth, openFleet } from '../fleet.ts'

const execute = promisify(execFile)
const megabyte = 1024 * 1024

/** A disk of a fixed size. Needs the right to mount. */
async function openDisk(megabytes: number): Promise<TemporaryFolder> {
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

async function mayMount(): Promise<boolean> {
  try {
    await using _disk = await openDisk(1)
    return true
  } catch {
    return false
  }
}

/** Leaves so much of a disk. */
async function fill(path: string, megabytes: number): Promise<() => Promise<void>> {
  const { bavail, bsize } = await statfs(path)
  const file = join(path, 'ballast')
  await writeFile(file, Buffer.alloc(Math.max(0, bavail * bsize - megabytes * megabyte)))
  return async () => await rm(file)
}

test.skipIf(!(await mayMount()))(
  'a disk that is full fails the slices that need it, and when there is room again the next sync has everything',
  async () => {
    await using disk = await openDisk(400)
    await using cluster = await openCluster(join(disk.path, 'postgres'))
    const url = await cluster.warehouse('crowded')
    await using fleet = await openFleet({ url, rooftops: 40, evaluations: 3000 })
    const free = await fill(disk.path, 4)

    const { code, signal, stderr } = await fleet.run(['sync', 'evaluations'])

    expect({ code, signal }).toEqual({ code: 1, signal: null })
    expect(stderr).toMatch(/No space left on device|connection to Postgres was lost/)
    expect(stderr).not.toMatch(/Unhandled|uncaught/)
    await free()
    await cluster.start()
    expect(await fleet.run(['sync', 'evaluations'])).toMatchObject({ code: 0 })
    await expectTruth(fleet)
  },
)

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '#src/errors.ts'
import { stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { folderPrefix } from './temporary-folder.ts'

/**
 * Starts a process that removes `folder` and stops its Postgres when this process ends, even by SIGKILL: its standard input
 * closes then. Returns what does so at once.
 */
export function cleanUpAfter(folder: string): () => Promise<void> {
  // In a session of its own: Ctrl-C must not reach it.
  const child = spawn(process.execPath, [import.meta.filename, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  return async () => {
    const ended = once(child, 'exit')
    child.ref()
    child.stdin.end('done')
    const [code] = await ended
    if (code !== 0) throw new Error(`${folder} could not be removed: stop its Postgres, remove it`)
  }
}

const memory = '/dev/shm'

/** A folder in memory if that has room, else the temporary one: a disk takes four times the CPU to create a database. */
export async function fastFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize > 4 * 2 ** 30 ? memory : tmpdir()
}

/** Removes the folders of test processes that have ended, and stops the servers in them. */
export async function removeLeftOvers(): Promise<void> {
  for (const parent of [tmpdir(), memory])
    for (const name of await readdir(parent).catch(() => [])) {
      const pid = new RegExp(`^${folderPrefix}(\\d+)-`).exec(name)?.[1]
      if (pid === undefined || isAlive(Number(pid))) continue
      await removeFolder(join(parent, name)).catch((error: unknown) => {
        console.log(`Left ${name} in place (${errorText(error)})`)
      })
    }
}

async function removeFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true }))
    if (name.endsWith(join('cluster', 'data', 'postmaster.pid')))
      await stopEmbedded(join(folder, name, '../../..'))
  await rm(folder, { recursive: true, force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

if (import.meta.main) {
  const isDone = (await text(process.stdin)) === 'done'
  await removeFolder(process.argv[2]!)
  if (!isDone) {
    // The workers of the run notice its end a little later, and their folders are free then.
    await sleep(3_000)
    await removeLeftOvers()
  }
}

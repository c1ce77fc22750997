import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { realpath, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorText, UsageError } from '../../errors.ts'

/** Checks the output file before anything is read; UsageError if it exists or cannot be a file. Returns its path without links. */
export async function checkTarget(file: string, force: boolean): Promise<string> {
  const found = await stat(file).catch(() => null)
  if (found === null) {
    const folder = path.dirname(path.resolve(file))
    const parent = await stat(folder).catch(() => null)
    if (parent?.isDirectory()) return path.resolve(file)
    throw new UsageError(`there is no folder ${folder}: create it first.`)
  }
  if (!found.isFile())
    throw new UsageError(
      `--out ${file} is not a file that can be replaced: name another, or omit --out to write to stdout.`,
    )
  if (!force)
    throw new UsageError(`${file} already exists: name another, or replace it with --force.`)
  return await realpath(file)
}

/**
 * Has a temporary file written in the folder of `target`, and renames it once it is complete. No reader
 * finds half a file, and a failure leaves the previous file unchanged. Returns the size in bytes.
 */
export async function writeWhole(
  target: string,
  write: (file: string) => Promise<void>,
): Promise<number> {
  const unfinished = `${target}.${randomUUID().slice(0, 8)}.part`
  try {
    await write(unfinished)
    const { size } = await stat(unfinished)
    await rename(unfinished, target)
    return size
  } catch (error) {
    await rm(unfinished, { force: true })
    throw isOfDisk(error)
      ? new Error(`${target} cannot be written: ${errorText(error)}`, { cause: error })
      : error
  }
}

function isOfDisk(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOSPC', 'EDQUOT', 'EIO'].includes(String(code))
}

/** Writes to a new file and syncs it to disk. */
export async function writeBytes(
  chunks: AsyncIterable<string | Uint8Array>,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(Readable.from(chunks), createWriteStream(file, { flags: 'wx', flush: true }), {
    signal,
  })
}

/** Writes to a stream that stays open, as fast as its reader allows. */
export async function writeOpen(
  chunks: AsyncIterable<string | Uint8Array>,
  stream: Writable,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(Readable.from(chunks), stream, { signal, end: false })
}

import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { errorText, isCode, UsageError } from '../../errors.ts'
import type { FileDigest, ImportRequest, ImportServices, ListSource } from './request.ts'

const chunkBytes = 256 * 1024

/** Opens the list; UsageError if the file does not exist or cannot be read to its end. */
export async function openSource(
  { file, input, bytes, path }: ImportRequest,
  { signal, crashPoint }: Pick<ImportServices, 'signal' | 'crashPoint'>,
): Promise<ListSource> {
  if (bytes !== undefined) return sourceOfBytes(bytes, crashPoint)
  const handle = input
    ? await copyToTempFile(input, signal)
    : await (path === undefined ? openFile(file) : openTaken(file, path))
  try {
    const before = await handle.stat()
    crashPoint?.('list-hashed')
    const fingerprint = await digestFile(handle)
    const assertUnchanged = async () => {
      const { size, mtimeMs } = await handle.stat()
      if (size !== fingerprint.bytes || mtimeMs !== before.mtimeMs)
        throw changedWhileRead(file, before.size, size)
    }
    return {
      ...fingerprint,
      assertUnchanged,
      read: async function* () {
        crashPoint?.('list-read')
        const hash = createHash('sha256')
        for await (const chunk of fileChunks(handle)) {
          hash.update(chunk)
          yield chunk
        }
        if (hash.digest().equals(fingerprint.sha256)) return
        throw changedWhileRead(file, before.size, (await handle.stat()).size)
      },
      [Symbol.asyncDispose]: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function sourceOfBytes(bytes: Buffer, crashPoint: ImportServices['crashPoint']): ListSource {
  return {
    sha256: createHash('sha256').update(bytes).digest(),
    bytes: bytes.length,
    assertUnchanged: async () => {},
    read: async function* () {
      crashPoint?.('list-read')
      for (let at = 0; at < bytes.length; at += chunkBytes)
        yield bytes.subarray(at, at + chunkBytes)
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

/** The file was written to while it was read: it was not complete. */
export class FileChangedError extends UsageError {}

function changedWhileRead(file: string, before: number, now: number): FileChangedError {
  const sizes = before === now ? '' : ` (${before} bytes at first, ${now} now)`
  return new FileChangedError(
    `${file} was written to while it was read${sizes}: nothing was imported. Import it once it is complete. Tip: write under another name and rename at the end.`,
  )
}

/** A file of a folder to which others may write. */
async function openTaken(file: string, path: string): Promise<FileHandle> {
  try {
    return await openOwnFile(path)
  } catch (cause) {
    const why = errorText(cause).replaceAll(path, file)
    throw new UsageError(`${file} cannot be read (${why}): drop the file again.`, { cause })
  }
}

/** Opens a file, and neither what a link points to nor a pipe, which would never end. */
export async function openOwnFile(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Error(`not a file: ${path}`)
}

/** The whole of such a file. */
export async function readOwnFile(path: string): Promise<Buffer> {
  await using handle = await openOwnFile(path)
  return await handle.readFile()
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    const found = await stat(file)
    if (found.isDirectory()) throw new UsageError(`${file} is a folder: name the CSV file in it.`)
    if (!found.isFile())
      throw new UsageError(
        `${file} is a ${found.isFIFO() ? 'pipe' : 'device'}, not a file. To import what a program writes, give it to standard input, with - as the file: <program> | forecourt stock import - …`,
      )
    return await open(file)
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(
      isCode(cause, 'ENOENT')
        ? `${file} does not exist: check the path of the stock list.`
        : `${file} cannot be read (${errorText(cause)}): check its rights.`,
      { cause },
    )
  }
}

async function digestFile(handle: FileHandle): Promise<FileDigest> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of fileChunks(handle)) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { sha256: hash.digest(), bytes }
}

async function* fileChunks(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.allocUnsafe(chunkBytes),
      position,
    })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

/** Copies standard input to an unnamed file: a pipe can be read only once, a list is sometimes read twice. No crash leaves it behind. */
async function copyToTempFile(input: Readable, signal: AbortSignal): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'forecourt-list-'))
  const handle = await open(join(folder, 'list'), 'wx+', 0o600)
  try {
    await rm(folder, { recursive: true })
    await handle.writeFile(addAbortSignal(signal, input))
    return handle
  } catch (error) {
    await handle.close()
    signal.throwIfAborted()
    throw error
  }
}

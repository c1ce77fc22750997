import { link, mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { isCode } from '../../errors.ts'
import { explainFileFault, type FileStore, StoreError } from './file-store.ts'

/** Where files are made: on the same file system, so that a rename stores them. Readers skip names that begin with an underscore. */
const scratchName = '_unfinished'

/** A lake in a folder, which is created when it does not exist. */
export class FolderStore implements FileStore {
  readonly name: string
  readonly #scratch: string
  /** Folders with new entries that are not yet synced to disk. */
  readonly #touched = new Set<string>()
  #isPrepared = false

  constructor(folder: string) {
    this.name = folder
    this.#scratch = path.join(folder, scratchName)
  }

  async prepare(): Promise<string> {
    return await this.#at(scratchName, async () => {
      await rm(this.#scratch, { recursive: true, force: true })
      await makeFolder(this.#scratch)
      this.#isPrepared = true
      return this.#scratch
    })
  }

  async read(file: string): Promise<Buffer | null> {
    return await this.#at(file, async () => await readFile(this.#path(file)).catch(ifMissing))
  }

  async list(): Promise<ReadonlyMap<string, number>> {
    return await this.#at('', async () => {
      const sizes = new Map<string, number>()
      const options = { recursive: true, withFileTypes: true } as const
      for (const entry of (await readdir(this.name, options).catch(ifMissing)) ?? []) {
        if (!entry.isFile() || entry.parentPath === this.#scratch) continue
        const full = path.join(entry.parentPath, entry.name)
        const found = await stat(full).catch(ifMissing)
        if (found) sizes.set(path.relative(this.name, full).split(path.sep).join('/'), found.size)
      }
      return sizes
    })
  }

  async put(file: string, localFile: string): Promise<void> {
    await this.#at(file, async () => {
      const full = this.#path(file)
      await makeFolder(path.dirname(full))
      await sync(localFile)
      await rename(localFile, full)
      for (let at = path.dirname(full); at !== this.name; at = path.dirname(at))
        this.#touched.add(at)
    })
  }

  async putBytes(file: string, bytes: Uint8Array): Promise<void> {
    await this.#at(file, async () => {
      const full = this.#path(file)
      await rename(await this.#unfinished(full, bytes), full)
      await sync(path.dirname(full))
    })
  }

  async create(file: string, text: string): Promise<boolean> {
    return await this.#at(file, async () => {
      const folders = [...this.#touched]
      this.#touched.clear()
      for (const folder of folders) await sync(folder)
      const full = this.#path(file)
      const unfinished = await this.#unfinished(full, Buffer.from(text))
      // A rename would replace what is there, and a file that is written in place is seen before it is whole.
      const isNew = await link(unfinished, full).then(
        () => true,
        async (error: unknown) => await this.#createInPlace(full, text, error),
      )
      await rm(unfinished, { force: true })
      await sync(path.dirname(full))
      return isNew
    })
  }

  /** Where the file system has no links; the lock of the warehouse lets only one export write. */
  async #createInPlace(full: string, text: string, cause: unknown): Promise<boolean> {
    if (isCode(cause, 'EEXIST')) return false
    if (!isCode(cause, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw cause
    try {
      await using handle = await open(full, 'wx')
      await handle.writeFile(text)
      await handle.sync()
      return true
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false
      throw error
    }
  }

  /** The bytes in the local folder, safe on the disk, and a folder for them to go to. */
  async #unfinished(full: string, bytes: Uint8Array): Promise<string> {
    await makeFolder(path.dirname(full))
    const unfinished = path.join(this.#scratch, path.basename(full))
    await using handle = await open(unfinished, 'w')
    await handle.writeFile(bytes)
    await handle.sync()
    return unfinished
  }

  async remove(file: string): Promise<void> {
    await this.#at(file, async () => {
      const full = this.#path(file)
      await rm(full, { force: true })
      await removeEmptyFolders(path.dirname(full), this.name)
    })
  }

  async close(): Promise<void> {
    // Another export may have files there, when this one has not started.
    if (!this.#isPrepared) return
    await rm(this.#scratch, { recursive: true, force: true }).catch(() => undefined)
  }

  #path(file: string): string {
    return path.join(this.name, ...file.split('/'))
  }

  async #at<T>(file: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw explainFileFault(error, this.#path(file))
    }
  }
}

/** With its parents. On a read-only file system the recursive mkdir of node reports a folder that is missing. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if (isCode(error, 'EEXIST')) return
    if (!isCode(error, 'ENOENT') || folder === path.dirname(folder)) throw error
    await makeFolder(path.dirname(folder))
    // In /proc a folder is missing although its parent is there: no other attempt would make it.
    await mkdir(folder).catch((cause: unknown) => {
      if (isCode(cause, 'EEXIST')) return
      if (!isCode(cause, 'ENOENT')) throw cause
      throw new StoreError(
        `${folder} cannot be created: its file system takes no folders (ENOENT)`,
        'name another folder',
        { cause },
      )
    })
  }
}

function ifMissing(error: unknown): null {
  if (isCode(error, 'ENOENT')) return null
  throw error
}

async function sync(file: string): Promise<void> {
  await using handle = await open(file, 'r')
  await handle.sync()
}

/** Up to the first one that still has an entry. */
async function removeEmptyFolders(from: string, root: string): Promise<void> {
  for (let at = from; at !== root; at = path.dirname(at)) {
    const isGone = await rmdir(at).then(
      () => true,
      () => false,
    )
    if (!isGone) return
  }
}

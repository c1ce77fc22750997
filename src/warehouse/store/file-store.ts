/** A store of files: a folder, or a prefix of a bucket. Each file is stored whole or not at all. */
export interface FileStore {
  /** For messages; without credentials. */
  readonly name: string
  /** Prepares an empty local folder for files that are being made, and returns its path. What a killed process left is removed. `isOwn`: of a path. */
  prepare(isOwn: (path: string) => boolean): Promise<string>
  /** The bytes of a file; null: there is none. */
  read(path: string): Promise<Buffer | null>
  /** The size in bytes of every file, by its path. */
  list(): Promise<ReadonlyMap<string, number>>
  /** Moves a local file into the store, replacing what has that path. */
  put(path: string, localFile: string): Promise<void>
  /** Stores bytes, replacing what has that path. */
  putBytes(path: string, bytes: Uint8Array): Promise<void>
  /** Stores a text once everything that was put before is safe; false: there is a file with that path, which stays. */
  create(path: string, text: string): Promise<boolean>
  /** Removes a file; one that is gone already is not an error. */
  remove(path: string): Promise<void>
  /** Removes the local folder. */
  close(): Promise<void>
}

/** The store cannot be read or written. The message names the place and the reason; `advice` says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly advice: string

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options)
    this.advice = advice
  }
}

const reasons: Readonly<Record<string, readonly [reason: string, advice: string]>> = {
  ENOSPC: ['the disk is full', 'free some space'],
  EDQUOT: ['the disk quota is used up', 'free some space'],
  EACCES: ['this user may not write there', 'correct the rights of the folder'],
  EPERM: ['this user may not write there', 'correct the rights of the folder'],
  EROFS: ['the file system is read-only', 'name another folder'],
  ENOTDIR: ['a part of its path is a file', 'name another folder'],
  EIO: ['the disk failed', 'check the disk'],
  ENOENT: ['it was removed meanwhile', 'leave its files alone'],
  ENAMETOOLONG: ['its path is too long', 'name another folder'],
  EEXIST: ['a file has the name of the folder', 'name another folder'],
  EMFILE: ['this process has too many open files', 'raise its limit (ulimit -n)'],
}

/** A StoreError for a fault of a file system; any other error unchanged. */
export function explainFileFault(error: unknown, location: string): unknown {
  const { code } = (error ?? {}) as { code?: unknown }
  const known = typeof code === 'string' ? reasons[code] : undefined
  if (known === undefined) return error
  const [reason, advice] = known
  return new StoreError(`${location} cannot be used: ${reason} (${code})`, advice, { cause: error })
}

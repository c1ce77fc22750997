import { randomUUID } from 'node:crypto'
import { programVersion } from '../../version.ts'
import { type FileStore, StoreError } from '../store/file-store.ts'
import {
  type Action,
  type AddedFile,
  action,
  type MetaData,
  readCheckpoint,
  withFormat,
  writeCheckpoint,
} from './delta-actions.ts'
import { checkpointPath, commitPath, lastCheckpoint } from './paths.ts'

/** What a commit changes. */
interface Change {
  readonly at: number
  readonly metaData: MetaData | null
  readonly removed: readonly AddedFile[]
  readonly added: readonly AddedFile[]
  /** Files that were removed up to this time (ms) are in no readable version. */
  readonly removedUntil: number
}

const protocol = { minReaderVersion: 1, minWriterVersion: 2 }
const engineInfo = `forecourt/${programVersion()}`
const versionsOfACheckpoint = 10

/** The state of a Delta table at its last version, and its next commit. */
export class DeltaLog {
  readonly #target: FileStore
  readonly #table: string
  /** -1: there is no table yet. */
  version = -1
  metaData: MetaData | null = null
  /** By path. */
  readonly files = new Map<string, AddedFile>()
  /** Files that only earlier versions have, by path, with the time of their removal in ms. */
  readonly tombstones = new Map<string, number>()
  /** An engine that is not ours and has committed; null: none. */
  foreign: { readonly version: number; readonly engine: string } | null = null

  private constructor(target: FileStore, table: string) {
    this.#target = target
    this.#table = table
  }

  /** Replays the log from its newest checkpoint. StoreError when it cannot be read or has a gap. */
  static async open(
    target: FileStore,
    table: string,
    entries: { readonly commits: readonly number[]; readonly checkpoints: readonly number[] },
  ): Promise<DeltaLog> {
    const log = new DeltaLog(target, table)
    const from = Math.max(-1, ...entries.checkpoints)
    if (from >= 0)
      for (const one of await readCheckpoint(await log.#bytes(checkpointPath(from))))
        log.#apply(action.parse(one))
    log.version = from
    for (const version of entries.commits.filter((one) => one > from).toSorted((a, b) => a - b)) {
      if (version !== log.version + 1) throw log.#broken(`version ${log.version + 1} is missing`)
      log.#replay(version, String(await log.#bytes(commitPath(version))))
    }
    return log
  }

  #replay(version: number, text: string): void {
    let actions: Action[]
    try {
      actions = text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => action.parse(JSON.parse(line)))
    } catch {
      throw this.#broken(`version ${version} cannot be read`)
    }
    for (const one of actions) this.#apply(one)
    const engine = actions.find(({ commitInfo }) => commitInfo)?.commitInfo?.engineInfo ?? 'unknown'
    if (!engine.startsWith('forecourt/')) this.foreign = { version, engine }
    this.version = version
  }

  #apply({ add: added, remove: gone, metaData: found }: Action): void {
    if (found) this.metaData = found
    if (gone) {
      this.files.delete(gone.path)
      this.tombstones.set(gone.path, gone.deletionTimestamp ?? 0)
    }
    if (added) {
      this.files.set(added.path, added)
      this.tombstones.delete(added.path)
    }
  }

  /**
   * Writes the next version. It exists whole or not at all, and never replaces one of another writer: StoreError then.
   * Readers see it at once.
   */
  async commit(change: Change): Promise<void> {
    const version = this.version + 1
    const { at, removed, added } = change
    const txnId = randomUUID()
    const info = {
      ...{
        timestamp: at,
        operation: 'WRITE',
        operationParameters: {},
        isBlindAppend: removed.length === 0,
      },
      ...{ engineInfo, txnId },
      ...(version === 0 ? {} : { readVersion: this.version }),
    }
    const actions: Action[] = [
      { commitInfo: info },
      ...(version === 0 ? [{ protocol }] : []),
      ...(change.metaData === null ? [] : [{ metaData: change.metaData }]),
      ...removed.map((file) => ({ remove: removeAction(file, at) })),
      ...added.map((file) => ({ add: file })),
    ]
    const path = this.#path(commitPath(version))
    const text = actions.map((one) => `${JSON.stringify(withFormat(one))}\n`).join('')
    if (!(await this.#target.create(path, text)) && !(await this.#isOurs(path, txnId)))
      throw new StoreError(
        `Another program has written version ${version} of the table ${this.#table} in ${this.#target.name}`,
        'let only one warehouse write to this lake',
      )
    for (const one of actions) this.#apply(one)
    this.version = version
    if (version > 0 && version % versionsOfACheckpoint === 0)
      await this.checkpoint(change.removedUntil)
  }

  /** A put that is repeated after a cut connection meets what it has stored. */
  async #isOurs(path: string, txnId: string): Promise<boolean> {
    return (await this.#target.read(path))?.includes(txnId) === true
  }

  /** Writes the state, with the files that were removed after `removedUntil` (ms): what is below it can be deleted then. */
  async checkpoint(removedUntil: number): Promise<void> {
    const adds = [...this.files.values()].map((file) => ({ ...file, dataChange: false }))
    const removals = [...this.tombstones].filter(([, at]) => at > removedUntil)
    const actions = [
      { protocol },
      { metaData: this.metaData! },
      ...removals.map(([path, at]) => ({
        remove: { path, deletionTimestamp: at, dataChange: false },
      })),
      ...adds.map((file) => ({ add: file })),
    ]
    const bytes = writeCheckpoint(actions)
    await this.#target.putBytes(this.#path(checkpointPath(this.version)), bytes)
    const hint = { version: this.version, size: actions.length, numOfAddFiles: adds.length }
    await this.#target.putBytes(this.#path(lastCheckpoint), Buffer.from(JSON.stringify(hint)))
  }

  #path(path: string): string {
    return `${this.#table}/${path}`
  }

  async #bytes(path: string): Promise<Uint8Array> {
    const found = await this.#target.read(this.#path(path))
    if (found === null) throw this.#broken(`${path} is missing`)
    return found
  }

  #broken(what: string): StoreError {
    return new StoreError(
      `The log of the table ${this.#table} in ${this.#target.name} is damaged: ${what}`,
      'restore it, or remove the folder of the table to export it again',
    )
  }
}

function removeAction({ path, partitionValues, size }: AddedFile, at: number) {
  return {
    ...{ path, dataChange: true, deletionTimestamp: at },
    ...{ extendedFileMetadata: true, partitionValues, size },
  }
}

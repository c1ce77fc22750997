import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { writeParquet } from '../marts/parquet.ts'
import { digestOf, type PartitionState, readPartitions } from './digests.ts'
import { keyOf, pathOf } from './files.ts'
import { type LakeFile, type ManifestTable, type StoredFiles, writeProgress } from './manifest.ts'
import { type PartitionRows, RowSums, readRows } from './rows.ts'
import type { LakeTable } from './tables.ts'
import { explainFileFault, type LakeTarget } from './target.ts'
import { Tasks } from './tasks.ts'

/** Files on their way at once. */
const uploadsAtOnce = 4
/** How often the stored files are recorded: a killed export makes at most the files of this time again. */
const progressEveryMs = 10_000

interface LakeWriterOptions {
  readonly client: pg.ClientBase
  readonly target: LakeTarget
  /** The local folder for files that are being made. */
  readonly scratch: string
  readonly signal: AbortSignal
  readonly crashPoint: (name: string) => void
  /** The size of every stored file by path. */
  readonly stored: ReadonlyMap<string, number>
  /** The files that an unfinished export has stored, by table. */
  readonly earlier: StoredFiles
  readonly warehouse: string
  readonly martVersion: string
}

/** Writes the changed partitions of tables, one after another. */
export class LakeWriter {
  readonly counts = { written: 0, unchanged: 0 }
  readonly #options: LakeWriterOptions
  readonly #uploads = new Tasks(uploadsAtOnce)
  /** Files that are stored and not in the manifest yet, by table. */
  readonly #done: Map<string, LakeFile[]>
  #recordedAt = performance.now()

  constructor(options: LakeWriterOptions) {
    this.#options = options
    this.#done = new Map([...options.earlier].map(([name, files]) => [name, [...files]]))
  }

  /** Writes the partitions whose digest no known and stored file has. The files may be on their way until `end`. */
  async write(table: LakeTable, known: readonly LakeFile[]): Promise<ManifestTable> {
    const { client, stored, martVersion } = this.#options
    const usable = new Map(
      known
        .filter(({ path: file, bytes }) => stored.get(file) === bytes)
        .map((file) => [`${keyOf(file)} ${file.digest}`, file]),
    )
    // Where nothing can stay, one scan is enough: the digests come with the rows.
    const partitions = usable.size === 0 ? null : await readPartitions(client, table, martVersion)
    const files: LakeFile[] = []
    const changed: PartitionState[] = []
    for (const one of partitions ?? []) {
      const file = usable.get(`${keyOf(one)} ${one.digest}`)
      if (file === undefined) changed.push(one)
      else files.push(file)
    }
    this.counts.unchanged += files.length
    this.#done.set(table.name, [...files])
    const states = new Map(changed.map((one) => [keyOf(one), one]))
    for await (const rows of readRows(client, table, partitions === null ? null : changed))
      files.push(await this.#makeFile(table, rows, states.get(keyOf(rows.partition))))
    const { columns, monthOf } = table
    return {
      rows: files.reduce((sum, file) => sum + file.rows, 0),
      monthOf,
      columns: columns.map(({ name, type, precision, scale }) => ({
        name,
        type: precision === null ? type : `${type}(${precision},${scale})`,
      })),
      files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    }
  }

  /** Waits until every file is stored. */
  async end(): Promise<void> {
    await this.#uploads.end()
  }

  /** Records what is stored, after a fault or a signal. */
  async abandon(): Promise<void> {
    await this.#uploads.settle()
    // The fault that led here says what is wrong.
    await this.#writeProgress().catch(() => undefined)
  }

  async #makeFile(
    table: LakeTable,
    { partition, pages }: PartitionRows,
    state: PartitionState | undefined,
  ): Promise<LakeFile> {
    const { target, scratch, signal, crashPoint, martVersion } = this.#options
    signal.throwIfAborted()
    const local = path.join(scratch, `${randomUUID()}.parquet`)
    const read = new RowSums()
    let made: { readonly rows: number; readonly bytes: number; readonly sha256: string }
    try {
      const rows = await writeParquet(local, table, read.count(pages))
      made = { rows, bytes: (await stat(local)).size, sha256: await sha256Of(local) }
    } catch (error) {
      throw explainFileFault(error, scratch)
    }
    if (state !== undefined && made.rows !== state.rows)
      throw new Error(
        `${table.name} of ${keyOf(partition)} has ${made.rows} rows, and its digest ${state.rows}: the lake was left as it was; report this.`,
      )
    const digest = state?.digest ?? digestOf(table, martVersion, read)
    crashPoint('lake-file-made')
    const file = { path: pathOf(table.name, partition, made.sha256), ...partition, ...made, digest }
    await this.#uploads.add(async () => {
      await target.put(file.path, local)
      crashPoint('lake-file-stored')
      this.counts.written += 1
      this.#done.get(table.name)!.push(file)
    })
    await this.#recordProgress()
    return file
  }

  async #recordProgress(): Promise<void> {
    if (performance.now() - this.#recordedAt < progressEveryMs) return
    this.#recordedAt = performance.now()
    await this.#writeProgress()
    this.#options.crashPoint('lake-progress-stored')
  }

  async #writeProgress(): Promise<void> {
    const { target, warehouse } = this.#options
    await writeProgress(target, warehouse, this.#done)
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

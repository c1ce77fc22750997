import { type FileHandle, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type pg from 'pg'
import { quotedName } from '../marts/mart.ts'
import { copyRows } from '../parquet/copy-rows.ts'
import { type ColumnSummary, ParquetWriter } from '../parquet/writer.ts'
import { explainFileFault, type FileStore } from '../store/file-store.ts'
import type { AddedFile } from './delta-actions.ts'
import { type Digests, digestMonth, type Month, rowConditions, rowHashSql } from './partitions.ts'
import { monthColumn, newFilePath } from './paths.ts'
import type { LakeTable } from './tables.ts'
import type { Tasks } from './tasks.ts'

const maxFileBytes = 128 * 1024 * 1024
/** The month and the hash come before the columns of a row. */
const fieldsBefore = 2

export interface TableWriterOptions {
  readonly client: pg.ClientBase
  readonly target: FileStore
  /** The local folder for files that are being made. */
  readonly scratch: string
  readonly uploads: Tasks
  readonly signal: AbortSignal
  readonly crashPoint: (name: string) => void
  readonly martVersion: string
  readonly at: number
  /** A larger month has several files: a file ends with the group of rows that reaches it. */
  readonly maxBytes?: number
}

/** What was written. */
interface Written {
  readonly added: readonly AddedFile[]
  /** Months whose rows have the digest that is known: they have no new file. */
  readonly same: ReadonlySet<Month>
}

/**
 * Writes the rows of these months (null: all) to new files, which no reader sees before they are committed. They may be on
 * their way to the target until `uploads` has ended.
 */
export async function writeFiles(
  options: TableWriterOptions,
  table: LakeTable,
  months: readonly Month[] | null,
  known: Digests,
): Promise<Written> {
  const writer = new MonthWriter(options, table, known)
  try {
    for (const condition of rowConditions(table, months))
      for await (const rows of copyRows(
        options.client,
        rowsQuery(table, condition),
        table.columns.length + fieldsBefore,
      )) {
        options.signal.throwIfAborted()
        for (const { buffer, starts, lengths } of rows) {
          const month =
            table.month === null ? undefined : bufferText(buffer, starts[0]!, lengths[0]!)
          if (writer.mustWait(month)) await writer.begin(month)
          writer.add(buffer, starts, lengths)
        }
      }
    return await writer.end()
  } catch (error) {
    if (error instanceof RangeError)
      throw new Error(`The mart ${table.name} cannot be exported: ${error.message}.`)
    throw error
  } finally {
    await writer.close()
  }
}

function bufferText(buffer: Buffer, at: number, length: number): string | null {
  return length < 0 ? null : buffer.toString('latin1', at, at + length)
}

function rowsQuery(table: LakeTable, condition: string): string {
  const list = table.columns.map(({ name, expression }) => expression(`t.${quotedName(name)}`))
  return [
    `select ${[`${table.month ?? 'null'}`, rowHashSql(table), ...list].join(', ')} from ${table.source}`,
    `where ${condition}`,
    ...(table.order === null ? [] : [`order by ${table.order}`]),
  ].join(' ')
}

/** Writes the files of one month after another. */
class MonthWriter {
  readonly #options: TableWriterOptions
  readonly #table: LakeTable
  readonly #known: Digests
  readonly #added: AddedFile[] = []
  readonly #same = new Set<Month>()
  #month: Month
  /** The files of the month so far. */
  #parts: { readonly file: AddedFile; readonly local: string }[] = []
  #rows = 0
  #sum = 0n
  #file: OpenFile | null = null

  constructor(options: TableWriterOptions, table: LakeTable, known: Digests) {
    this.#options = options
    this.#table = table
    this.#known = known
  }

  /** Whether `begin` must be called before the next row is added. */
  mustWait(month: Month): boolean {
    return this.#file === null || this.#month !== month || this.#file.parquet.isFull
  }

  /** Writes what is complete, and makes room for a row of this month. */
  async begin(month: Month): Promise<void> {
    if (this.#file !== null && this.#month !== month) await this.#endMonth()
    if (this.#file?.parquet.isFull === true) {
      await this.#write(this.#file, this.#file.parquet.endGroup())
      const { maxBytes = maxFileBytes } = this.#options
      if (this.#file.parquet.bytes >= maxBytes) await this.#endFile()
    }
    this.#month = month
    this.#file ??= await this.#openFile()
  }

  add(buffer: Buffer, starts: Int32Array, lengths: Int32Array): void {
    this.#rows += 1
    this.#sum += buffer.readBigInt64BE(starts[1]!)
    this.#file!.parquet.add(buffer, starts, lengths, fieldsBefore)
  }

  async end(): Promise<Written> {
    if (this.#file !== null) await this.#endMonth()
    return { added: this.#added, same: this.#same }
  }

  async close(): Promise<void> {
    await this.#file?.handle.close()
  }

  async #openFile(): Promise<OpenFile> {
    const name = newFilePath(this.#month)
    const local = path.join(this.#options.scratch, path.basename(name))
    try {
      const handle = await open(local, 'w')
      return { name, local, handle, parquet: new ParquetWriter(this.#table.columns) }
    } catch (error) {
      throw explainFileFault(error, this.#options.scratch)
    }
  }

  async #write({ handle }: OpenFile, bytes: Uint8Array): Promise<void> {
    try {
      await handle.writeFile(bytes)
    } catch (error) {
      throw explainFileFault(error, this.#options.scratch)
    }
  }

  async #endFile(): Promise<void> {
    const file = this.#file!
    const { name, local, parquet } = file
    await this.#write(file, parquet.end())
    this.#file = null
    await file.handle.close()
    const { crashPoint, at } = this.#options
    crashPoint('lake-file-made')
    const made = {
      ...{ path: name, size: parquet.bytes, modificationTime: at, dataChange: true },
      partitionValues: this.#month === undefined ? {} : { [monthColumn]: this.#month },
      stats: fileStatistics(parquet),
    }
    this.#parts.push({ file: made, local })
  }

  async #endMonth(): Promise<void> {
    await this.#endFile()
    const { target, uploads, crashPoint, martVersion } = this.#options
    const digest = digestMonth(this.#table, martVersion, this.#rows, this.#sum)
    const tags = { digest, parts: String(this.#parts.length) }
    const isSame = this.#known.get(this.#month) === digest
    if (isSame) this.#same.add(this.#month)
    for (const { file, local } of this.#parts) {
      if (isSame) await rm(local)
      if (isSame) continue
      this.#added.push({ ...file, tags })
      await uploads.add(async () => {
        await target.put(`${this.#table.name}/${file.path}`, local)
        crashPoint('lake-file-stored')
      })
    }
    this.#parts = []
    this.#rows = 0
    this.#sum = 0n
  }
}

interface OpenFile {
  readonly name: string
  readonly local: string
  readonly handle: FileHandle
  readonly parquet: ParquetWriter
}

/** Statistics as Delta writes them (PROTOCOL.md, Per-file Statistics): exact, and none of a text, which may be personal. */
function fileStatistics({ rows, summaries }: ParquetWriter): string {
  const least = summaries.flatMap((one) => bound(one, one.least, true))
  const greatest = summaries.flatMap((one) => bound(one, one.greatest, false))
  const nulls = summaries.map(
    ({ column, nulls: count }) => `${JSON.stringify(column.name)}:${count}`,
  )
  return `{"numRecords":${rows},"minValues":{${least}},"maxValues":{${greatest}},"nullCount":{${nulls}}}`
}

function bound({ column, isExact }: ColumnSummary, value: number | null, isMin: boolean): string[] {
  const text = value === null || !isExact ? null : (column.statistic?.(value, isMin) ?? null)
  return text === null ? [] : [`${JSON.stringify(column.name)}:${text}`]
}

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Mapping } from '../csv/map/column-mapping.ts'
import type { MappingOptions } from '../csv/map/mapping.ts'
import { type CsvFile, CsvFileError, type CsvRecord } from '../csv/read/csv-file.ts'
import type { ListOptions } from '../workbook/read-list.ts'
import type { ListSource } from './request.ts'
import { decodeError, type EncodedError } from './thread-error.ts'

/** What reading one list may cost. */
interface ReadingLimits {
  /** Of the thread's heap. */
  readonly megabytes: number
  /** From one batch of records to the next. */
  readonly batchSeconds: number
  /** For all of them, without the time in which the program uses them. */
  readonly seconds: number
}

/** A list of a million vehicles takes a third of the time, and a workbook of 25 MB a third of the memory. */
export const readingLimits: ReadingLimits = { megabytes: 512, batchSeconds: 60, seconds: 1_800 }

/** What the program sends to the thread. */
export type ListRequest =
  | { readonly kind: 'open'; readonly options: Omit<ListOptions, 'isKnownName'> }
  | { readonly kind: 'next' }
  | {
      readonly kind: 'map'
      readonly names: readonly string[] | null
      readonly rows: readonly (readonly string[])[]
      readonly options: MappingOptions
    }
  /** null: no more. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array | null }

type Found = Pick<CsvFile, 'encoding' | 'warnings'>

/** What the thread sends. `pull` asks for bytes; every other message answers a request, in their order. */
export type ListMessage =
  | { readonly kind: 'pull' }
  | ({
      readonly kind: 'opened'
      readonly list: Omit<CsvFile, 'batches' | 'close' | keyof Found>
    } & Found)
  | ({ readonly kind: 'batch'; readonly records: readonly CsvRecord[] | null } & Found)
  | { readonly kind: 'mapping'; readonly mapping: Mapping }
  | { readonly kind: 'failed'; readonly error: EncodedError }

/** A list that is read in a thread of its own, which ends when it is closed. */
export interface ListApart extends CsvFile {
  /** `proposeMapping`, in that thread. */
  map(
    names: readonly string[] | null,
    rows: readonly (readonly string[])[],
    options: MappingOptions,
  ): Promise<Mapping>
}

/**
 * `readList` in a thread of its own, which ends with the list: whatever a list holds, this process goes on. Rejects as `readList`
 * does, with CsvFileError beyond a limit, and with the signal's reason.
 */
export async function openApart(
  source: Pick<ListSource, 'read'>,
  options: Omit<ListOptions, 'isKnownName'>,
  signal: AbortSignal,
  limits = readingLimits,
): Promise<ListApart> {
  signal.throwIfAborted()
  const thread = new ListThread(source, signal, limits)
  try {
    const opened = await thread.request('opened', { kind: 'open', options })
    let { encoding } = opened
    const warnings = [...opened.warnings]
    return {
      ...opened.list,
      warnings,
      get encoding() {
        return encoding
      },
      map: async (names, rows, options) =>
        (await thread.request('mapping', { kind: 'map', names, rows, options })).mapping,
      batches: thread.batches((found) => {
        encoding = found.encoding
        warnings.push(...found.warnings.slice(warnings.length))
      }),
      close: () => thread.end(),
    }
  } catch (error) {
    await thread.end()
    throw error
  }
}

interface Waiting {
  resolve(message: ListMessage): void
  reject(error: unknown): void
}

const advice =
  'it is not a stock list, or has far more in it than one. Export the list again, without anything else, as CSV'

class ListThread {
  readonly #worker: Worker
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #signal: AbortSignal
  readonly #limits: ReadingLimits
  readonly #waiting: Waiting[] = []
  #failure: { readonly error: unknown } | null = null
  #timer: NodeJS.Timeout | undefined
  #since = 0
  #spentMs = 0

  constructor(source: Pick<ListSource, 'read'>, signal: AbortSignal, limits: ReadingLimits) {
    this.#chunks = source.read()[Symbol.asyncIterator]()
    this.#signal = signal
    this.#limits = limits
    const script = new URL(`list-thread${extname(import.meta.url)}`, import.meta.url)
    this.#worker = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: limits.megabytes },
    })
    this.#worker.on('message', this.#take)
    this.#worker.on('error', (error) => this.#fail(this.#reasonOf(error)))
    this.#worker.on('exit', () => this.#fail(new Error('The thread that reads the list ended.')))
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  async request<Kind extends ListMessage['kind']>(
    kind: Kind,
    request: ListRequest,
  ): Promise<Extract<ListMessage, { readonly kind: Kind }>> {
    if (this.#failure) throw this.#failure.error
    const message = await new Promise<ListMessage>((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      if (this.#waiting.length === 1) this.#startTimer()
      this.#worker.postMessage(request)
    })
    if (message.kind !== kind) throw new Error(`The thread sent ${message.kind}, not ${kind}.`)
    return message as Extract<ListMessage, { readonly kind: Kind }>
  }

  /** One batch is read while the one before it is used. The thread outlives the last one: it still maps columns. */
  async *batches(onFound: (found: Found) => void): AsyncGenerator<readonly CsvRecord[]> {
    const next = () => {
      const batch = this.request('batch', { kind: 'next' })
      batch.catch(() => {})
      return batch
    }
    let isRead = false
    try {
      for (let pending = next(); ; ) {
        const { records, ...found } = await pending
        onFound(found)
        isRead = records === null
        if (records === null) return
        pending = next()
        yield records
      }
    } finally {
      if (!isRead) await this.end()
    }
  }

  async end(): Promise<void> {
    this.#fail(new Error('The list is closed.'))
    await this.#chunks.return?.()
    await this.#worker.terminate()
  }

  readonly #take = (message: ListMessage): void => {
    if (message.kind === 'pull') return void this.#send()
    this.#stopTimer()
    const waiting = this.#waiting.shift()
    if (this.#waiting.length > 0) this.#startTimer()
    if (message.kind === 'failed') waiting?.reject(decodeError(message.error))
    else waiting?.resolve(message)
  }

  async #send(): Promise<void> {
    try {
      const { done, value } = await this.#chunks.next()
      // A view of a larger buffer would be sent with all of it.
      const bytes = done === true ? null : new Uint8Array(value)
      this.#worker.postMessage(
        { kind: 'bytes', bytes } satisfies ListRequest,
        bytes ? [bytes.buffer] : [],
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  readonly #abort = (): void => this.#fail(this.#signal.reason)

  /** Rejects what waits and what is requested from now on, with the first reason. */
  #fail(error: unknown): void {
    if (this.#failure) return
    this.#failure = { error }
    this.#stopTimer()
    this.#signal.removeEventListener('abort', this.#abort)
    for (const { reject } of this.#waiting.splice(0)) reject(error)
    void this.#worker.terminate()
  }

  #reasonOf(error: unknown): unknown {
    if ((error as { code?: unknown }).code !== 'ERR_WORKER_OUT_OF_MEMORY') return error
    const limit = `${this.#limits.megabytes} MB`
    return new CsvFileError('too-large', `reading it takes more than ${limit} of memory: ${advice}`)
  }

  #startTimer(): void {
    const { batchSeconds, seconds } = this.#limits
    const leftMs = Math.min(batchSeconds * 1_000, seconds * 1_000 - this.#spentMs)
    this.#since = performance.now()
    this.#timer = setTimeout(() => {
      const limit = leftMs < batchSeconds * 1_000 ? seconds : batchSeconds
      this.#fail(
        new CsvFileError('too-large', `reading it takes more than ${limit} seconds: ${advice}`),
      )
    }, leftMs)
  }

  #stopTimer(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#spentMs += performance.now() - this.#since
  }
}

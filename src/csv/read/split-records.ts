import type { Dialect } from './csv-file.ts'
import { PlainLines } from './plain-lines.ts'
import { QuotedRecords } from './quoted-records.ts'
import type { RawRecord, SplitOptions } from './raw-record.ts'

/** Splits UTF-8 chunks into records, one batch for each chunk. Holds at most a chunk and a record. */
export async function* splitRecords(
  chunks: AsyncIterable<Buffer>,
  dialect: Dialect,
  options: SplitOptions,
): AsyncGenerator<readonly RawRecord[]> {
  const splitter = new Splitter(dialect, options.firstLine ?? 1)
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    yield await splitter.add(chunk)
    while (splitter.pending > options.maxRecordBytes) yield await splitter.passStrayQuote(options)
  }
  if (!options.isWhole) return
  yield await splitter.end()
}

/** Splits simple lines itself. From a difficult one on, csv-parse reads to the end of the chunk, or of the cell. */
class Splitter {
  readonly #dialect: Dialect
  readonly #lines: PlainLines
  #parser: QuotedRecords | null = null

  constructor(dialect: Dialect, firstLine: number) {
    this.#dialect = dialect
    this.#lines = new PlainLines(dialect, firstLine)
  }

  /** Bytes since the last record, or characters while no parser is open. */
  get pending(): number {
    return this.#parser?.pendingBytes ?? this.#lines.pending
  }

  async add(chunk: Buffer): Promise<RawRecord[]> {
    if (this.#parser) return this.#resume(await this.#parser.add(chunk))
    const records = this.#lines.add(chunk.toString('utf8'))
    if (!this.#lines.isStopped) return records
    return [...records, ...this.#resume(await this.#parse())]
  }

  async end(): Promise<RawRecord[]> {
    if (this.#parser) return await this.#parser.end()
    const records = this.#lines.end()
    if (!this.#lines.isStopped) return records
    const parsed = await this.#parse()
    return [...records, ...parsed, ...(await this.#parser!.end())]
  }

  async passStrayQuote(options: SplitOptions): Promise<RawRecord[]> {
    const parsed = this.#parser ? [] : await this.#parse()
    return this.#resume([...parsed, ...(await this.#parser!.passStrayQuote(options))])
  }

  async #parse(): Promise<RawRecord[]> {
    this.#parser = new QuotedRecords(this.#dialect, this.#lines.line)
    return await this.#parser.add(Buffer.from(this.#lines.leave()))
  }

  /** Returns to plain lines, unless a quoted cell is still open. */
  #resume(records: RawRecord[]): RawRecord[] {
    if (this.#parser === null || records.length === 0) return records
    this.#lines.resume(this.#parser.line, this.#parser.leave().toString('utf8'))
    this.#parser = null
    return records
  }
}

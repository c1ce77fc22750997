import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type { InsertType } from 'kysely'
import type pg from 'pg'
import { storableJson } from '../../values/text.ts'
import type { CopyText } from './copy-text.ts'
import type { Tables } from './tables.ts'

/** A row of a table, with every column that Postgres does not generate: a missing, misspelt or unknown one does not compile. */
export type TableRow<T extends keyof Tables> = {
  readonly [C in keyof Tables[T] as [InsertType<Tables[T][C]>] extends [never]
    ? never
    : C]: Exclude<InsertType<Tables[T][C]>, undefined>
}

type CopyRow = Readonly<Record<string, unknown>>

type EncodeRow = (row: CopyRow) => string
const encoders = new Map<string, { names: string; encode: EncodeRow }>()

/** COPYs rows into a table, the fastest way to insert. Throws the error of Postgres, e.g. for a key that already exists. */
export async function copyInto<T extends keyof Tables>(
  client: pg.ClientBase,
  table: T,
  rows: readonly TableRow<T>[],
): Promise<void> {
  await copyTables(client, [[table, rows]])
}

/** Like `copyInto` for several tables, in this order and in one exchange. Throws for a row without one of the columns. */
export async function copyTables(
  client: pg.ClientBase,
  tables: readonly (readonly [table: string, rows: readonly CopyRow[]])[],
): Promise<void> {
  const sources: CopySource[] = []
  for (const [table, rows] of tables) {
    if (rows.length === 0) continue
    const { names, encode } = await findEncoder(client, table)
    sources.push({ into: `${table} (${names})`, lines: chunks(rows, encode) })
  }
  await copyIn(client, sources)
}

/** Lines in chunks of about 64 KB, so that a large batch is never in memory twice. */
function* chunks(rows: readonly CopyRow[], encode: EncodeRow): Generator<Buffer> {
  let text = ''
  for (const row of rows) {
    text += encode(row)
    if (text.length > 65_536) {
      yield Buffer.from(text)
      text = ''
    }
  }
  if (text !== '') yield Buffer.from(text)
}

async function findEncoder(
  client: pg.ClientBase,
  table: string,
): Promise<{ names: string; encode: EncodeRow }> {
  const key = `${(client as pg.Client).database} ${table}`
  const found = encoders.get(key)
  if (found) return found
  const names = await readWrittenColumns(client, table)
  const encode: EncodeRow = (row) => {
    let line = ''
    for (const name of names) {
      const value = row[name]
      if (value === undefined) throw new Error(`A row of ${table} has no ${name}.`)
      line += (line === '' ? '' : '\t') + encodeCell(value)
    }
    return line + '\n'
  }
  const made = { names: names.map((name) => `"${name}"`).join(', '), encode }
  encoders.set(key, made)
  return made
}

/** The columns of a table whose values Postgres does not generate, in the order of the table. Throws when there is no such table. */
export async function readWrittenColumns(
  client: Pick<pg.ClientBase, 'query'>,
  table: string,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' and attidentity <> 'a' order by attnum`,
    [table],
  )
  return rows.map(({ name }) => name)
}

const special = /[\\\t\n\r]/
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
}

/** One cell of COPY's text format. */
export function encodeCell(value: unknown): string {
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'string') return escapeText(value)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return '\\\\x' + value.toString('hex')
  if (Array.isArray(value)) return escapeText(`{${value.map(arrayElement).join(',')}}`)
  return escapeText(JSON.stringify(value))
}

function escapeText(text: string): string {
  return special.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (char) => escapes[char]!) : text
}

function arrayElement(value: unknown): string {
  return value === null ? 'null' : `"${String(value).replaceAll(/["\\]/g, '\\$&')}"`
}

/** COPYs lines that are already in COPY's text format, in this order and in one exchange; a target is a table with its columns. */
export async function copyTexts(
  client: pg.ClientBase,
  texts: readonly (readonly [target: string, text: CopyText])[],
): Promise<void> {
  const filled = texts.filter(([, { bytes }]) => bytes.length > 0)
  await copyIn(
    client,
    filled.map(([into, { bytes }]) => ({ into, lines: [bytes] })),
  )
}

/** A JSON value as one cell of COPY's text format that jsonb accepts. */
export function encodeJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes('\\')) return text
  // jsonb refuses both. An escaped backslash before `u` only takes the slower path.
  const isOdd = text.includes('\\u0000') || text.includes('\\ud')
  const fit = isOdd ? JSON.stringify(storableJson(value)) : text
  return fit.replaceAll('\\', '\\\\')
}

/** The data of one COPY: `into` is a table with its columns, `lines` are complete lines of COPY's text format. */
interface CopySource {
  readonly into: string
  readonly lines: Iterable<Uint8Array>
}

/** Messages of the protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const copyData = 0x64
const copyDone = Buffer.from([0x63, 0, 0, 0, 4])
const headerBytes = 5
/** Unsent bytes at most, so that a large batch is never in memory twice. */
const maxUnsentBytes = 262_144

/** The connection of the driver, with members that its types lack. */
interface CopyConnection extends pg.Connection {
  readonly stream: Duplex
  sendCopyFail(reason: string): void
}

/**
 * COPYs into several tables in one exchange: sends all commands and lines, then reads one answer. Waiting for an answer to each
 * command would wake Postgres and this process several times per table, which costs more than the rows of a small batch.
 * By the protocol, Postgres ignores lines after an error.
 * Rejects with the error of Postgres or of `lines`; then nothing is written, and the transaction must be rolled back.
 */
export async function copyIn(client: pg.ClientBase, sources: readonly CopySource[]): Promise<void> {
  if (sources.length > 0) await client.query(new CopyIn(sources)).done
}

/** A query of the driver, which calls it by these names. */
class CopyIn implements pg.Submittable {
  readonly #text: string
  readonly #messages: Iterator<Uint8Array>
  readonly #done = Promise.withResolvers<void>()
  /** The error of `lines`: it is more precise than the error of Postgres that follows from it. */
  #thrown: { readonly error: unknown } | undefined
  #hasEnded = false

  constructor(sources: readonly CopySource[]) {
    this.#text = sources.map(({ into }) => `copy ${into} from stdin`).join('; ')
    this.#messages = copyMessages(sources)
  }

  get done(): Promise<void> {
    return this.#done.promise
  }

  submit(connection: pg.Connection): void {
    void this.#send(connection as CopyConnection)
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#hasEnded = true
    this.#done.resolve()
  }

  handleError(error: unknown): void {
    this.#hasEnded = true
    this.#done.reject(this.#thrown === undefined ? error : this.#thrown.error)
  }

  /** Never rejects: `done` reports the end of the query. */
  async #send(connection: CopyConnection): Promise<void> {
    const { stream } = connection
    stream.cork()
    connection.query(this.#text)
    try {
      for (;;) {
        const isMore = this.#fill(stream)
        stream.uncork()
        if (!isMore) return
        if (stream.writableNeedDrain) await once(stream, 'drain')
        if (this.#hasEnded) return
        stream.cork()
      }
    } catch (error) {
      this.#thrown = { error }
      connection.sendCopyFail('the lines could not be generated')
      stream.uncork()
    }
  }

  /** Whether there is more to send; the driver reports a lost connection. */
  #fill(stream: Duplex): boolean {
    while (stream.writableLength < maxUnsentBytes) {
      if (!stream.writable) return false
      const { value, done } = this.#messages.next()
      if (done === true) return false
      stream.write(value)
    }
    return true
  }
}

function* copyMessages(sources: readonly CopySource[]): Generator<Uint8Array> {
  for (const { lines } of sources) {
    for (const piece of lines) {
      const header = Buffer.allocUnsafe(headerBytes)
      header[0] = copyData
      header.writeUInt32BE(piece.length + headerBytes - 1, 1)
      yield header
      yield piece
    }
    yield copyDone
  }
}

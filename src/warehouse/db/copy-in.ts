import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type pg from 'pg'

/** The data of one COPY: `into` is a table with its columns, `lines` are complete lines of COPY's text format. */
export interface CopySource {
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

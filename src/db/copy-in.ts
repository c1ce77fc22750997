import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type pg from 'pg'

/** What one COPY brings: `into` is a table with its columns, `lines` are whole lines of COPY's text format. */
export interface CopySource {
  readonly into: string
  readonly lines: Iterable<Uint8Array>
}

/** Messages of the protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const copyData = 0x64
const copyDone = Buffer.from([0x63, 0, 0, 0, 4])
const headerBytes = 5
/** On the way to the socket at once, so that a large batch never stands in memory twice. */
const mostUnsentBytes = 262_144

/** As the driver has it, but for what its types leave out. */
interface CopyConnection extends pg.Connection {
  readonly stream: Duplex
  sendCopyFail(reason: string): void
}

/**
 * COPYs into several tables in one exchange: commands and lines go out together, and one answer comes back. What waits
 * for an answer to each command and sends lengths apart from lines wakes Postgres and this process several times a table, which
 * costs a small batch more than its rows. Lines that come after an error Postgres ignores, as the protocol has it.
 * Rejects as Postgres does, or with what `lines` threw; then nothing of it is written, and the transaction is to be rolled back.
 */
export async function copyIn(client: pg.ClientBase, sources: readonly CopySource[]): Promise<void> {
  if (sources.length > 0) await client.query(new CopyIn(sources)).done
}

/** A query of the driver, which calls it by these names. */
class CopyIn implements pg.Submittable {
  readonly #text: string
  readonly #messages: Iterator<Uint8Array>
  readonly #done = Promise.withResolvers<void>()
  /** What `lines` threw: it tells more than Postgres, which was told of it. */
  #thrown: { readonly error: unknown } | undefined
  #isOver = false

  constructor(sources: readonly CopySource[]) {
    this.#text = sources.map(({ into }) => `copy ${into} from stdin`).join('; ')
    this.#messages = messagesOf(sources)
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
    this.#isOver = true
    this.#done.resolve()
  }

  handleError(error: unknown): void {
    this.#isOver = true
    this.#done.reject(this.#thrown === undefined ? error : this.#thrown.error)
  }

  /** Never rejects: the end of the query tells. */
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
        if (this.#isOver) return
        stream.cork()
      }
    } catch (error) {
      this.#thrown = { error }
      connection.sendCopyFail('the lines could not be made')
      stream.uncork()
    }
  }

  /** Whether there is more to send; of a connection that is lost the driver tells. */
  #fill(stream: Duplex): boolean {
    while (stream.writableLength < mostUnsentBytes) {
      if (!stream.writable) return false
      const { value, done } = this.#messages.next()
      if (done === true) return false
      stream.write(value)
    }
    return true
  }
}

function* messagesOf(sources: readonly CopySource[]): Generator<Uint8Array> {
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

import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type pg from 'pg'
import { to } from 'pg-copy-streams'

/** A row in the binary format of COPY: where its fields begin, and their lengths (-1: null). Valid until the next row. */
interface CopiedRow {
  readonly buffer: Buffer
  readonly starts: Int32Array
  readonly lengths: Int32Array
}

const signatureBytes = 19

/**
 * The rows of a query in the binary format of COPY, one at a time
 * (https://www.postgresql.org/docs/current/sql-copy.html, Binary Format). Postgres waits while the reader does.
 */
export async function* copyRows(
  client: pg.ClientBase,
  query: string,
  fields: number,
): AsyncGenerator<Iterable<CopiedRow>> {
  const stream = client.query(to(`copy (${query}) to stdout (format binary)`))
  const starts = new Int32Array(fields)
  const lengths = new Int32Array(fields)
  let rest: Buffer = Buffer.alloc(0)
  let hasBegun = false
  for await (const chunk of readToEnd(stream)) {
    const buffer: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    if (!hasBegun) {
      if (buffer.length < signatureBytes) {
        rest = buffer
        continue
      }
      at = signatureBytes
      hasBegun = true
    }
    const rows = { buffer, starts, lengths }
    yield (function* () {
      for (;;) {
        const end = findFields(buffer, at, starts, lengths)
        if (end < 0) break
        at = end
        yield rows
      }
    })()
    rest = buffer.subarray(at)
  }
}

/**
 * The data of a COPY. When its reader stops half-way, the rest is read and dropped: before its end, the connection can do nothing else.
 */
async function* readToEnd(stream: Readable): AsyncGenerator<Buffer> {
  let hasEnded = false
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) yield chunk as Buffer
    hasEnded = true
  } catch (error) {
    hasEnded = true
    throw error
  } finally {
    if (!hasEnded) await finished(stream.resume()).catch(() => undefined)
  }
}

/** Where the row ends; -1: it is not complete, or the end of the data is reached. */
function findFields(buffer: Buffer, from: number, starts: Int32Array, lengths: Int32Array): number {
  const { length: size } = buffer
  if (from + 2 > size || buffer.readInt16BE(from) === -1) return -1
  let at = from + 2
  for (let no = 0; no < starts.length; no++) {
    if (at + 4 > size) return -1
    const length = buffer.readInt32BE(at)
    at += 4
    starts[no] = at
    lengths[no] = length
    if (length > 0) at += length
  }
  return at > size ? -1 : at
}

import { isAscii, isUtf8 } from 'node:buffer'
import { type CsvEncoding, CsvFileError, type Market } from './csv-file.ts'
import { incompleteTail, sniffHighBytes } from './encoding.ts'
import { chunksWithLineFeeds } from './line-ends.ts'

/** Turns the bytes of one file into UTF-8, chunk by chunk. If a file begins as ASCII, its encoding is decided at the first
 *  byte that is not ASCII. */
export class Decoding {
  encoding: CsvEncoding
  /** Whether invalid bytes were found; they became U+FFFD. */
  broken = false
  readonly #market: Market | undefined
  #isSettled: boolean

  readonly #isMixed: boolean

  constructor(
    encoding: CsvEncoding,
    {
      isSettled,
      isMixed = false,
      market,
    }: {
      readonly isSettled: boolean
      /** Some lines end with CR alone: each such CR becomes LF. */
      readonly isMixed?: boolean
      readonly market: Market | undefined
    },
  ) {
    this.encoding = encoding
    this.#isSettled = isSettled
    this.#isMixed = isMixed
    this.#market = market
  }

  /** Yields the chunks as UTF-8 without a BOM; no character is split. */
  utf8(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    return this.#isMixed ? chunksWithLineFeeds(this.#decoded(chunks)) : this.#decoded(chunks)
  }

  async *#decoded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let held: Buffer = Buffer.alloc(0)
    let decoder: TextDecoder | null = null
    for await (const chunk of withoutBom(chunks, this.encoding)) {
      const bytes: Buffer = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      held = Buffer.alloc(0)
      if (!this.#isSettled && isAscii(bytes)) {
        yield bytes
        continue
      }
      // If the first byte above ASCII is the chunk's last, the next chunk decides.
      if (!this.#isSettled && isAscii(bytes.subarray(0, -64))) {
        held = bytes
        continue
      }
      this.#settle(bytes)
      if (this.encoding.name !== 'utf-8') {
        decoder ??= new TextDecoder(this.encoding.name, { ignoreBOM: true })
        yield this.#text(decoder.decode(bytes, { stream: true }))
        continue
      }
      const cut = incompleteTail(bytes)
      held = bytes.subarray(bytes.length - cut)
      yield this.#sound(bytes.subarray(0, bytes.length - cut))
    }
    if (held.length > 0) this.#settle(held)
    if (decoder) yield this.#text(decoder.decode())
    else if (held.length > 0) yield this.#last(held)
  }

  #settle(bytes: Buffer): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.encoding = sniffHighBytes(bytes, this.#market)
  }

  #sound(bytes: Buffer): Buffer {
    if (isUtf8(bytes)) return bytes
    this.broken = true
    return Buffer.from(bytes.toString('utf8'))
  }

  #last(bytes: Buffer): Buffer {
    if (this.encoding.name === 'utf-8') return this.#sound(bytes)
    return this.#text(new TextDecoder(this.encoding.name).decode(bytes))
  }

  #text(text: string): Buffer {
    if (text.includes('\uFFFD')) this.broken = true
    return Buffer.from(text)
  }
}

async function* withoutBom(
  chunks: AsyncIterable<Buffer>,
  encoding: CsvEncoding,
): AsyncGenerator<Buffer> {
  let skip = encoding.bom ? (encoding.name === 'utf-8' ? 3 : 2) : 0
  for await (const chunk of chunks) {
    yield chunk.subarray(skip)
    skip = 0
  }
}

/** Decodes the sample. Throws if the encoding fits too few of its bytes. */
export function decodeSample(bytes: Buffer, encoding: CsvEncoding): string {
  const bom = encoding.bom ? (encoding.name === 'utf-8' ? 3 : 2) : 0
  // stream: a character that is split at the end is left out.
  const text = new TextDecoder(encoding.name, { ignoreBOM: true }).decode(bytes.subarray(bom), {
    stream: true,
  })
  const broken = text.match(/\uFFFD/g)?.length ?? 0
  if (broken > 8 && broken > text.length / 20)
    throw new CsvFileError(
      'undecodable',
      `${broken} of the first ${text.length} characters are invalid in ${encoding.name}: name the file's encoding, or save it as CSV UTF-8`,
    )
  return text
}

/** The encoding that the user names. */
export function namedEncoding(name: string, bytes: Buffer): CsvEncoding {
  try {
    const known = new TextDecoder(name).encoding
    const start = bytes.toString('hex', 0, 3)
    const bom =
      (known === 'utf-8' && start === 'efbbbf') ||
      (known === 'utf-16le' && start.startsWith('fffe')) ||
      (known === 'utf-16be' && start.startsWith('feff'))
    return { name: known, bom, confidence: 'certain' }
  } catch (error) {
    throw new CsvFileError(
      'undecodable',
      `the encoding "${name}" is not known: try utf-8, windows-1252, windows-1256 or utf-16le`,
      { cause: error },
    )
  }
}

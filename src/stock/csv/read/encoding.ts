import { isAscii, isUtf8 } from 'node:buffer'
import { type CsvEncoding, CsvFileError, type Market } from './csv-file.ts'
import { chunksWithLineFeeds } from './line-ends.ts'

/** Detects the encoding: by BOM, NUL pattern, strict UTF-8, then script and market. */
export function sniffEncoding(bytes: Buffer, whole: boolean, market?: Market): CsvEncoding {
  return withBom(bytes) ?? wideWithoutBom(bytes) ?? narrow(bytes, whole, market)
}

function withBom(bytes: Buffer): CsvEncoding | null {
  const start = bytes.toString('hex', 0, 3)
  if (start === 'efbbbf') return { name: 'utf-8', bom: true, confidence: 'certain' }
  if (start.startsWith('fffe')) return { name: 'utf-16le', bom: true, confidence: 'certain' }
  if (start.startsWith('feff')) return { name: 'utf-16be', bom: true, confidence: 'certain' }
  return null
}

/** UTF-16 without a BOM is valid UTF-8; its NUL bytes, all on one side of the pairs, reveal it. */
function wideWithoutBom(bytes: Buffer): CsvEncoding | null {
  if (!bytes.includes(0)) return null
  const nuls = [0, 0]
  const seen = Math.min(bytes.length, 65_536)
  for (let at = 0; at < seen; at += 1) if (bytes[at] === 0) nuls[at % 2]! += 1
  const [even = 0, odd = 0] = nuls.map((count) => count / (seen / 2))
  if (odd > 0.2 && even < 0.05) return { name: 'utf-16le', bom: false, confidence: 'likely' }
  if (even > 0.2 && odd < 0.05) return { name: 'utf-16be', bom: false, confidence: 'likely' }
  return null
}

function narrow(bytes: Buffer, whole: boolean, market?: Market): CsvEncoding {
  const confidence = whole ? 'certain' : 'assumed'
  if (isAscii(bytes)) return { name: 'utf-8', bom: false, confidence }
  return sniffHighBytes(bytes, market)
}

/** The same for bytes without a BOM that are neither UTF-16 nor pure ASCII. */
function sniffHighBytes(bytes: Buffer, market?: Market): CsvEncoding {
  const text = bytes.subarray(0, bytes.length - incompleteTail(bytes))
  if (isUtf8(text)) return { name: 'utf-8', bom: false, confidence: 'certain' }
  if (isMostlyUtf8(text)) return { name: 'utf-8', bom: false, confidence: 'likely' }
  return singleByte(bytes, market)
}

/** Whether there are few invalid bytes and many UTF-8 characters: lines of another file were pasted in. */
function isMostlyUtf8(bytes: Buffer): boolean {
  let broken = 0
  let sound = 0
  for (const character of bytes.toString('utf8'))
    if (character === '\uFFFD') broken += 1
    else if (character > '\x7F') sound += 1
  return sound >= 10 * broken
}

/** Bytes at the end that begin an incomplete UTF-8 character: 0 to 3. */
function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

function singleByte(bytes: Buffer, market?: Market): CsvEncoding {
  const script = arabicShare(bytes)
  const isArabic = script.letters >= 0.8 && (market === 'GCC' || script.inWords >= 0.6)
  if (isArabic)
    return {
      name: 'windows-1256',
      bom: false,
      confidence: script.inWords >= 0.6 ? 'likely' : 'assumed',
    }
  if (isMacRoman(bytes)) return { name: 'macintosh', bom: false, confidence: 'likely' }
  return { name: 'windows-1252', bom: false, confidence: 'assumed' }
}

/** Among the bytes above ASCII: the share that are Arabic letters in windows-1256, and the share in words. */
function arabicShare(bytes: Buffer): { readonly letters: number; readonly inWords: number } {
  const text = new TextDecoder('windows-1256').decode(bytes)
  const letters = text.match(/\p{Script=Arabic}/gu)?.length ?? 0
  const inWords = text.match(/\p{Script=Arabic}{3,}/gu)?.join('').length ?? 0
  // Punctuation at the same place in both code pages is not evidence.
  const others =
    text.match(/[^\0-\x7F\p{Script=Arabic}\p{P}\p{S}\p{Z}\u200C-\u200F]/gu)?.length ?? 0
  const total = Math.max(1, letters + others)
  return { letters: letters / total, inWords: inWords / total }
}

// Letters of Mac OS Roman where windows-1252 has signs that no word contains.
const macLetters = new Set([
  0x81, 0x83, 0x87, 0x88, 0x8a, 0x8d, 0x8e, 0x8f, 0x90, 0x98, 0x9a, 0x9d, 0x9f,
])

/** Whether the bytes fit Mac OS Roman: its accented letters are where windows-1252 has almost none. */
function isMacRoman(bytes: Buffer): boolean {
  let mac = 0
  let windows = 0
  for (let at = 1; at < bytes.length; at += 1) {
    const byte = bytes[at]!
    if (byte < 0x80 || !isLetter(bytes[at - 1]!)) continue
    if (macLetters.has(byte)) mac += 1
    else if (byte >= 0xc0 || byte === 0x92) windows += 1
  }
  return mac > windows
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

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
  let skip = bomLength(encoding)
  for await (const chunk of chunks) {
    yield chunk.subarray(skip)
    skip = 0
  }
}

function bomLength({ name, bom }: CsvEncoding): number {
  if (!bom) return 0
  return name === 'utf-8' ? 3 : 2
}

/** Decodes the sample. Throws if the encoding fits too few of its bytes. */
export function decodeSample(bytes: Buffer, encoding: CsvEncoding): string {
  // stream: a character that is split at the end is left out.
  const text = new TextDecoder(encoding.name, { ignoreBOM: true }).decode(
    bytes.subarray(bomLength(encoding)),
    {
      stream: true,
    },
  )
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
    return { name: known, bom: withBom(bytes)?.name === known, confidence: 'certain' }
  } catch (error) {
    throw new CsvFileError(
      'undecodable',
      `the encoding "${name}" is not known: try utf-8, windows-1252, windows-1256 or utf-16le`,
      { cause: error },
    )
  }
}

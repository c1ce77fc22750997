import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import path from 'node:path'

/** Why a PDF was not taken. `expired`: the link is dead (403, 404 or 410), and a newly signed one may not be. */
export type RefusalCode =
  | 'address'
  | 'expired'
  | 'host'
  | 'network'
  | 'not-a-pdf'
  | 'redirects'
  | 'status'
  | 'time-out'
  | 'too-large'
  | 'truncated'
  | 'web-page'

/** The answer is not accepted into the archive. The message names a host at most, never the link: that is a secret. */
export class PdfRefused extends Error {
  override readonly name = 'PdfRefused'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

/** A whole PDF in its own file, flushed to the disk, not yet in the store. */
export interface PdfFile {
  readonly file: string
  readonly sha256: Buffer
  readonly byteCount: number
}

/** Where files are written until they are known to be whole. */
export const unfinishedFolder = (folder: string) => path.join(folder, '.unfinished')

/** Writes what arrives into a new file, while it arrives. PdfRefused, and no file is left, when it grows beyond
 *  `maxBytes`, does not begin as a PDF does, or does not end as one does. */
export async function writePdf(
  chunks: AsyncIterable<Buffer>,
  folder: string,
  maxBytes: number,
): Promise<PdfFile> {
  const place = unfinishedFolder(folder)
  await mkdir(place, { recursive: true, mode: 0o700 })
  const file = path.join(place, `${randomUUID()}.part`)
  const scan = new PdfScan(maxBytes)
  try {
    await using handle = await open(file, 'wx', 0o600)
    for await (const chunk of chunks) {
      scan.take(chunk)
      await handle.writeFile(chunk)
    }
    scan.end()
    await handle.sync()
    return { file, sha256: scan.digest(), byteCount: scan.byteCount }
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

const magic = '%PDF-'
const endMark = '%%EOF'
/** How far from the end the mark may be. */
const tailBytes = 2048

/** Checks the bytes as they arrive. */
class PdfScan {
  readonly #maxBytes: number
  readonly #hash = createHash('sha256')
  #tail = Buffer.alloc(0)
  #head = Buffer.alloc(0)
  byteCount = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  take(chunk: Buffer): void {
    this.byteCount += chunk.length
    if (this.byteCount > this.#maxBytes) throw tooLarge(this.#maxBytes)
    this.#hash.update(chunk)
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-tailBytes)
    if (this.#head.length >= magic.length) return
    this.#head = Buffer.concat([this.#head, chunk]).subarray(0, 64)
    if (this.#head.length >= magic.length) requireMagic(this.#head)
  }

  end(): void {
    requireMagic(this.#head)
    if (!this.#tail.includes(endMark))
      throw new PdfRefused('truncated', `the PDF was cut off: it has no ${endMark} at its end`)
  }

  digest(): Buffer {
    return this.#hash.digest()
  }
}

/** The refusal of an answer that is too large, by its header or by its bytes. */
export function tooLarge(maxBytes: number): PdfRefused {
  return new PdfRefused('too-large', `the answer is larger than ${maxBytes} bytes`)
}

/** The refusal of a page instead of a file. */
export function webPage(): PdfRefused {
  return new PdfRefused('web-page', 'the answer is a web page, not a PDF')
}

function requireMagic(head: Buffer): void {
  if (head.toString('latin1').startsWith(magic)) return
  // `trimStart` removes a byte order mark too.
  if (head.toString('utf8').trimStart().startsWith('<')) throw webPage()
  throw new PdfRefused('not-a-pdf', `the answer is not a PDF: it does not begin with ${magic}`)
}

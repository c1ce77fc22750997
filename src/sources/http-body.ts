import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'

/** A 2xx answer that is not JSON: a proxy's page, nothing, or something cut off. The call is repeated, as after a 5xx. */
export class BodyFault extends Error {
  override readonly name: string = 'BodyFault'
  /** Whether the source is at fault, so that the key slows down; else only this record is. */
  readonly isSystemic: boolean = true
}

/** The answer is larger than the client accepts; it was cut off. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'

  constructor(limitBytes: number) {
    super(`the answer is larger than ${limitBytes} bytes`)
  }
}

/** Header names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Throws BodyFault when a 2xx body is HTML, empty, or does not begin as JSON. Checks the first character only. */
export function requireJson(text: string, headers: AnswerHeaders): void {
  const start = /\S/.exec(text)?.[0]
  if (start === undefined) throw new BodyFault('the body is empty')
  if (start === '<' || /\bx?html\b/i.test(String(headers['content-type'] ?? '')))
    throw new BodyFault('the body is a web page, not JSON')
  if (!/[[{"\-\dtfn]/.test(start)) throw new BodyFault('the body is not JSON')
}

/** The parsed body of a 2xx answer. BodyFault when it is not JSON; its message quotes nothing of the body. */
export function jsonBody(text: string, headers: AnswerHeaders): unknown {
  requireJson(text, headers)
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may be a customer: it is left out.
    throw new BodyFault('the body is not valid JSON, or was cut off')
  }
}

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const

/** The body as text: decoded by content-encoding, read as UTF-8, without a byte order mark.
 *  BodyTooLarge when it grows beyond `maxBytes` (a compression bomb); BodyFault when it cannot be decoded. */
export async function decodeBody(
  bytes: Buffer,
  headers: AnswerHeaders,
  maxBytes: number,
): Promise<string> {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase()
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return toText(bytes)
  const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding as 'gzip'] : undefined
  if (!decode) throw new BodyFault('the body has an unknown content-encoding')
  try {
    return toText(await decode(bytes, { maxOutputLength: maxBytes }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new BodyTooLarge(maxBytes)
    throw new BodyFault('the compressed body is broken or was cut off')
  }
}

function toText(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

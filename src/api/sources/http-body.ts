import { promisify } from 'node:util'
import {
  brotliDecompress,
  constants,
  gunzip,
  type InputType,
  inflate,
  inflateRaw,
  type ZlibOptions,
  zstdDecompress,
} from 'node:zlib'
import { type ErrorAction, type ErrorDetails, SyncError } from '../../errors.ts'
import { type JsonPath, valueAt } from '../../values/json-path.ts'
import { jsonValue } from '../../values/json-value.ts'
import { RequestFault } from './status-rules.ts'

/** Header names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Throws RequestFault when a 2xx body is HTML, empty, or does not begin as JSON: a proxy's page, nothing, or something cut off.
 *  Checks the first character only. */
export function requireJson(text: string, headers: AnswerHeaders): void {
  const start = /\S/.exec(text)?.[0]
  if (start === undefined) throw new RequestFault('noAnswer', 'the body is empty')
  if (start === '<' || /\bx?html\b/i.test(String(headers['content-type'] ?? '')))
    throw new RequestFault('noAnswer', 'the body is a web page, not JSON')
  if (!/[[{"\-\dtfn]/.test(start)) throw new RequestFault('noAnswer', 'the body is not JSON')
}

/** The parsed body of a 2xx answer. RequestFault when it is not JSON; its message quotes nothing of the body. */
export function jsonBody(text: string, headers: AnswerHeaders): unknown {
  requireJson(text, headers)
  const body = jsonValue(text)
  if (body === undefined)
    throw new RequestFault('noAnswer', 'the body is not valid JSON, or was cut off')
  return body
}

/** The answer is larger than the client accepts; it was cut off. */
export function tooLarge(limitBytes: number): RequestFault {
  return new RequestFault('tooLarge', `the answer is larger than ${limitBytes} bytes`)
}

type Decode = (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>

/** `cut`: the flush with which a decoder returns what there is of a body that was cut off. */
interface Decoder {
  readonly decode: Decode
  readonly cut: number
}

const gzip: Decoder = {
  decode: promisify<InputType, ZlibOptions, Buffer>(gunzip),
  cut: constants.Z_SYNC_FLUSH,
}
const zlib = promisify<InputType, ZlibOptions, Buffer>(inflate)
const withoutZlib = promisify<InputType, ZlibOptions, Buffer>(inflateRaw)

const decoders: Readonly<Record<string, Decoder>> = {
  gzip,
  'x-gzip': gzip,
  // Some servers leave out the zlib header, whose first byte ends with 8.
  deflate: {
    decode: (bytes, options) => ((bytes[0]! & 15) === 8 ? zlib : withoutZlib)(bytes, options),
    cut: constants.Z_SYNC_FLUSH,
  },
  br: { decode: promisify(brotliDecompress) as Decode, cut: constants.BROTLI_OPERATION_FLUSH },
  zstd: { decode: promisify(zstdDecompress) as Decode, cut: constants.ZSTD_e_flush },
}

/** The body as text: decoded by content-encoding, read as UTF-8, without a byte order mark.
 *  RequestFault when it grows beyond `maxBytes` (a compression bomb), or cannot be decoded. `isCutAllowed`: a compressed body that
 *  was cut off gives the text of what arrived. */
export async function decodeBody(
  bytes: Buffer,
  headers: AnswerHeaders,
  maxBytes: number,
  { isCutAllowed = false } = {},
): Promise<string> {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase()
  if (encoding === '' || encoding === 'identity' || bytes.length === 0) return toText(bytes)
  const decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  if (!decoder) throw new RequestFault('noAnswer', 'the body has an unknown content-encoding')
  const cut = isCutAllowed ? { finishFlush: decoder.cut } : {}
  try {
    return toText(await decoder.decode(bytes, { maxOutputLength: maxBytes, ...cut }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes)
    throw new RequestFault('noAnswer', 'the compressed body is broken or was cut off')
  }
}

/** A longer body is not an error message. */
const maxErrorBytes = 65_536

/** The body of a refusal as text: decoded where that succeeds, else as it was sent. Never rejects: the status alone says enough. */
export async function decodeErrorBody(bytes: Buffer, headers: AnswerHeaders): Promise<string> {
  if (bytes.length > maxErrorBytes) return ''
  return await decodeBody(bytes, headers, maxErrorBytes, { isCutAllowed: true }).catch(() =>
    toText(bytes),
  )
}

function toText(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** Where an answer came from, for errors about its body. `where` follows "The answer of"; `secrets` are cut out of quotations. */
export interface AnswerContext {
  readonly where: string
  readonly details: ErrorDetails
  readonly secrets: readonly string[]
}

/** An error about a 2xx body: quotes its `error` string where it has one, else says `otherwise`. The record itself is never quoted. */
export function bodyError(
  errorAction: ErrorAction,
  body: unknown,
  otherwise: string,
  { where, details, secrets }: AnswerContext,
): SyncError {
  const text = reportedErrors(body, secrets)
  const fault = text === null ? otherwise : `is an error: "${text}".`
  return new SyncError(errorAction, `The answer of ${where} ${fault}`, { ...details, status: 200 })
}

/** The text of an error body at `path` (default: `error`), fit for a log; null when there is none. */
export function quoteError(
  text: string,
  secrets: readonly string[],
  path: JsonPath = 'error',
): string | null {
  if (text.length > maxErrorBytes || !/^\s*\{/.test(text)) return null
  return reportedErrors(jsonValue(text), secrets, path)
}

function reportedErrors(
  body: unknown,
  secrets: readonly string[],
  path: JsonPath = 'error',
): string | null {
  // Where the document shows a body it is `error`, whatever the settings say [A §7].
  const error = valueAt(body, path) ?? valueAt(body, 'error')
  return typeof error === 'string' && error.trim() !== '' ? withoutPersons(error, secrets) : null
}

/** At most 200 characters on one line, without the secrets, emails, phone numbers and URL queries. */
function withoutPersons(error: string, secrets: readonly string[]): string {
  let text = error.slice(0, 2000)
  for (const secret of secrets) if (secret.length >= 4) text = text.replaceAll(secret, '[secret]')
  return text
    .replaceAll(/[\p{Cc}\s"]+/gu, ' ')
    .replaceAll(/\?[^\s]*=[^\s]*/g, '?[query]')
    .replaceAll(/[^\s@<>()',;:]+(?:@|%40)[^\s@<>()',;:]+/gi, '[email]')
    .replaceAll(/(?:\+|\b0)\d(?:[ ()-]{0,2}\d){7,}/g, '[phone]')
    .trim()
    .slice(0, 200)
}

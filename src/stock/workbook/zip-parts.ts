import { posix } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { crc32, createGunzip } from 'node:zlib'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { errorText } from '../../errors.ts'
import { firstText, shortened } from '../../values/text.ts'
import { CsvFileError } from '../csv/read/csv-file.ts'
import { saveAsCsv, sizeText, tooLarge, type WorkbookLimits } from './limits.ts'

/** The files in a zip file. Nothing is unpacked before it is read. */
export interface ZipParts {
  /** As written in the zip file, without folders. */
  readonly names: readonly string[]
  /** Whether it has that file; upper and lower case are the same, as in a workbook. */
  has(name: string): boolean
  /** Unpacks one file. CsvFileError beyond a limit, or if it does not match its checksum. */
  read(name: string, maxBytes?: number): AsyncGenerator<Buffer>
}

/** Lists the files of a zip file. CsvFileError if it is none, has a password, or too many files. */
export async function openZip(bytes: Buffer, limits: WorkbookLimits): Promise<ZipParts> {
  const zip = await openBytes(bytes)
  const entries = await readEntries(zip, limits)
  const unpacked = { bytes: 0 }
  return {
    names: [...entries.values()].map(({ fileName }) => fileName),
    has: (name) => entries.has(name.toLowerCase()),
    read: (name, maxBytes = limits.partBytes) =>
      unpack(zip, entries.get(name.toLowerCase())!, { limits, maxBytes, unpacked }),
  }
}

async function openBytes(bytes: Buffer): Promise<ZipFile> {
  try {
    return await fromBufferPromise(bytes, { lazyEntries: true })
  } catch (cause) {
    throw broken('its end is missing, as when a copy or a download was interrupted', cause)
  }
}

async function readEntries(zip: ZipFile, limits: WorkbookLimits): Promise<Map<string, Entry>> {
  const { parts: limit } = limits
  if (zip.entryCount > limit)
    throw tooLarge(
      `the file holds ${zip.entryCount.toLocaleString('en')} files`,
      limit.toLocaleString('en'),
      `a stock list has about ten; ${saveAsCsv}`,
    )
  const entries = new Map<string, Entry>()
  for (const entry of await allEntries(zip)) {
    const { fileName } = entry
    if (fileName.endsWith('/')) continue
    if (entries.has(fileName.toLowerCase()))
      throw broken(`it holds two files with the name ${quoted(fileName)}`)
    entries.set(fileName.toLowerCase(), entry)
  }
  return entries
}

async function allEntries(zip: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = []
  try {
    for await (const entry of zip.eachEntry()) entries.push(entry)
    return entries
  } catch (cause) {
    throw broken(`its table of contents is wrong (${errorText(cause)})`, cause)
  }
}

interface Unpacking {
  readonly limits: WorkbookLimits
  readonly maxBytes: number
  /** Of all parts of the zip file. */
  readonly unpacked: { bytes: number }
}

async function* unpack(zip: ZipFile, entry: Entry, use: Unpacking): AsyncGenerator<Buffer> {
  const { fileName, compressedSize } = entry
  if (entry.isEncrypted())
    throw new CsvFileError(
      'encrypted',
      `${quoted(fileName)} in the file is protected by a password: save it without one`,
    )
  let [size, sum] = [0, 0]
  for await (const chunk of entryStream(zip, entry)) {
    size += chunk.length
    use.unpacked.bytes += chunk.length
    assertSize(fileName, size, compressedSize, use)
    sum = crc32(chunk, sum)
    yield chunk
  }
  if (sum !== entry.crc32)
    throw broken(`the content of ${quoted(fileName)} does not match its checksum`)
}

async function* entryStream(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  try {
    yield* await zip.openReadStreamPromise(entry)
  } catch (cause) {
    throw broken(`${quoted(entry.fileName)} cannot be unpacked (${errorText(cause)})`, cause)
  }
}

function assertSize(name: string, size: number, packed: number, use: Unpacking): void {
  const { limits, maxBytes, unpacked } = use
  const unpacks = `${quoted(name)} in the file unpacks`
  const advice = `it is not a stock list, or has far more in it than one; ${saveAsCsv}`
  if (size > maxBytes)
    throw tooLarge(`${unpacks} to more than ${sizeText(maxBytes)}`, sizeText(maxBytes), advice)
  if (unpacked.bytes > Math.max(limits.totalBytes, maxBytes))
    throw tooLarge(
      `the file unpacks to more than ${sizeText(limits.totalBytes)}`,
      sizeText(limits.totalBytes),
      advice,
    )
  if (size > limits.ratioFrom && size > packed * limits.ratio)
    throw tooLarge(
      `${unpacks} to more than ${limits.ratio} times its size`,
      `${limits.ratio} times beyond ${sizeText(limits.ratioFrom)}`,
      advice,
    )
}

function broken(what: string, cause?: unknown): CsvFileError {
  const advice = 'copy or download it again, or export the list again'
  return new CsvFileError('damaged', `the file is damaged: ${what}. Please ${advice}`, {
    cause,
  })
}

/** The name of a file, shortened: it was written by someone else. */
function quoted(name: string): string {
  return JSON.stringify(shortened(name, 80))
}

const saveAsWorkbook = 'save or export it as .xlsx or CSV, and import that file'

/** Other documents that are zip files, by a file or folder that they have. */
const documents: readonly (readonly [start: RegExp, name: string])[] = [
  [/^word\//, 'a Word document'],
  [/^ppt\//, 'a PowerPoint presentation'],
  [/^Index(\/Document\.iwa|\.zip)$/, 'an Apple Numbers or Pages document'],
  [/^META-INF\/manifest\.xml$/, 'an OpenDocument file (.ods)'],
]

/** Whether a zip file is a workbook or an archive of files. CsvFileError for another document. */
export function zipKind(zip: ZipParts): 'workbook' | 'archive' {
  if (zip.names.some((name) => name.startsWith('xl/'))) return 'workbook'
  const found = documents.find(([start]) => zip.names.some((name) => start.test(name)))
  if (found)
    throw new CsvFileError('workbook', `this is ${found[1]}, which is not read: ${saveAsWorkbook}`)
  return zip.has('[Content_Types].xml') ? 'workbook' : 'archive'
}

const lists = /\.(csv|tsv|tab|xlsx|xlsm|xltx|xls|xlsb|ods)$/i

/** The only list in an archive. CsvFileError, with what is in it, if there are several or none. */
export function listIn({ names }: ZipParts): string {
  const files = names.filter((name) => !isClutter(name))
  const text = files.filter((name) => name.toLowerCase().endsWith('.txt'))
  for (const found of [files.filter((name) => lists.test(name)), text, files])
    if (found.length === 1) return found[0]!
  const shown = firstText(files.map(quoted), 10)
  throw new CsvFileError(
    'archive',
    files.length === 0
      ? 'the zip file holds no file: export the stock list again'
      : `the zip file holds ${files.length} files and not exactly one list: ${shown}. Unpack it, and import the list`,
  )
}

/** Files that macOS and Windows add. */
function isClutter(name: string): boolean {
  const file = posix.basename(name)
  return (
    name.startsWith('__MACOSX/') ||
    file.startsWith('.') ||
    /^(thumbs\.db|desktop\.ini)$/i.test(file)
  )
}

/** Unpacks a gzip file. CsvFileError beyond the limits, or if it is damaged. */
export async function* unpackGzip(
  chunks: AsyncGenerator<Buffer>,
  limits: WorkbookLimits,
): AsyncGenerator<Buffer> {
  const { unpackedTextBytes, ratio, ratioFrom } = limits
  const gunzip = createGunzip()
  // The loop below reports the error.
  pipeline(Readable.from(chunks), gunzip, () => {})
  let size = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > unpackedTextBytes)
        throw tooLarge(
          `the gzip file unpacks to more than ${sizeText(unpackedTextBytes)}`,
          sizeText(unpackedTextBytes),
          'split the list',
        )
      if (size > ratioFrom && size > gunzip.bytesWritten * ratio)
        throw tooLarge(
          `the gzip file unpacks to more than ${ratio} times its size`,
          `${ratio} times beyond ${sizeText(ratioFrom)}`,
          'it is not a stock list; if it is one, unpack it first',
        )
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof CsvFileError || !isOfZlib(cause)) throw cause
    throw new CsvFileError(
      'damaged',
      `the gzip file is damaged (${errorText(cause)}): copy or download it again`,
      { cause },
    )
  }
}

function isOfZlib(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('Z_')
}

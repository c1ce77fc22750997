import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl'
import { errorText } from '../../errors.ts'
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
export function quoted(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 79)}…` : name)
}

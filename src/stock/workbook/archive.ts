import { posix } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { errorText } from '../../errors.ts'
import { CsvFileError } from '../csv/read/csv-file.ts'
import { sizeText, tooLarge, type WorkbookLimits } from './limits.ts'
import { quoted, type ZipParts } from './zip-parts.ts'

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
  const shown = files.slice(0, 10).map(quoted).join(', ')
  const more = files.length > 10 ? ` and ${files.length - 10} more` : ''
  throw new CsvFileError(
    'archive',
    files.length === 0
      ? 'the zip file holds no file: export the stock list again'
      : `the zip file holds ${files.length} files and not exactly one list: ${shown}${more}. Unpack it, and import the list`,
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

import { UsageError } from '../../errors.ts'
import { bufferChunks, takeSample, withRest } from '../csv/read/bytes.ts'
import { type CsvFile, CsvFileError, type CsvOptions } from '../csv/read/csv-file.ts'
import { refuseForeignFormat } from '../csv/read/foreign-format.ts'
import { readCsv } from '../csv/read/read-csv.ts'
import { saveAsCsv, sizeText, tooLarge, type WorkbookLimits, workbookLimits } from './limits.ts'

/** What the user or the rooftop states about a list. */
export interface ListOptions extends CsvOptions {
  /** The sheet of a workbook; else the only one that may be a list. */
  readonly sheet?: string
  /** Other limits than those of the documentation. */
  readonly limits?: Partial<WorkbookLimits>
}

interface Opening extends ListOptions {
  readonly all: WorkbookLimits
  /** The bytes come from an archive, which may hold no other one. */
  readonly isUnpacked: boolean
}

/**
 * Opens a stock list of any form: text (see `readCsv`), an .xlsx workbook, or one of them in a zip or gzip file. All of them give
 * the same records. CsvFileError if it is none, or too large; SheetChoiceError if the user has to choose a sheet.
 */
export async function readList(
  source: AsyncIterable<Uint8Array>,
  options: ListOptions = {},
): Promise<CsvFile> {
  const all = { ...workbookLimits, ...options.limits }
  return await openList(bufferChunks(source), { ...options, all, isUnpacked: false })
}

async function openList(chunks: AsyncGenerator<Buffer>, opening: Opening): Promise<CsvFile> {
  try {
    const { bytes: sample } = await takeSample(chunks)
    const bytes = withRest(sample, chunks)
    const start = sample.toString('hex', 0, 8)
    if (/^504b0[357]0[468]/.test(start)) return await openZipFile(bytes, opening)
    if (start.startsWith('1f8b')) return await openGzip(bytes, opening)
    if (start.startsWith('d0cf11e0')) return await refuseOldWorkbook(bytes, opening.all)
    if (opening.sheet !== undefined)
      throw new UsageError(
        '--sheet names a sheet of a workbook, and this is a text file: leave it out.',
      )
    return await readCsv(bytes, opening)
  } catch (error) {
    await chunks.return(undefined)
    throw error
  }
}

async function openZipFile(chunks: AsyncGenerator<Buffer>, opening: Opening): Promise<CsvFile> {
  const { all } = opening
  // Each list is read in a thread of its own, and most are text.
  const [{ listIn, openZip, zipKind }, { readWorkbook }] = await Promise.all([
    import('./zip-parts.ts'),
    import('./read-workbook.ts'),
  ])
  const zip = await openZip(await collect(chunks, all), all)
  if (zipKind(zip) === 'workbook') {
    if (opening.encoding !== undefined || opening.delimiter !== undefined)
      throw new UsageError(
        '--encoding and --delimiter are for text files, and this is a workbook: leave them out.',
      )
    return await readWorkbook(zip, opening, all)
  }
  refuseNested(opening)
  const entry = listIn(zip)
  const list = await openList(zip.read(entry, all.unpackedTextBytes), {
    ...opening,
    isUnpacked: true,
  })
  const origin = { sheet: list.origin?.sheet ?? null, entry }
  // A copy would lose the encoding, which becomes certain while the file is read.
  return Object.assign(list, { origin })
}

async function openGzip(chunks: AsyncGenerator<Buffer>, opening: Opening): Promise<CsvFile> {
  refuseNested(opening)
  const { unpackGzip } = await import('./zip-parts.ts')
  return await openList(unpackGzip(chunks, opening.all), { ...opening, isUnpacked: true })
}

function refuseNested({ isUnpacked }: Opening): void {
  if (isUnpacked)
    throw new CsvFileError(
      'archive',
      'the archive holds another archive: unpack both, and import the list',
    )
}

/** The whole file: a zip file has its table of contents at the end. */
async function collect(
  chunks: AsyncGenerator<Buffer>,
  { fileBytes }: WorkbookLimits,
): Promise<Buffer> {
  const all: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > fileBytes)
      throw tooLarge(
        `the workbook or zip file is larger than ${sizeText(fileBytes)}`,
        sizeText(fileBytes),
        `delete pictures and other sheets from it, or ${saveAsCsv}`,
      )
    all.push(chunk)
  }
  return Buffer.concat(all)
}

const encryptedPackage = Buffer.from('EncryptedPackage', 'utf16le')

/** Excel stores a workbook with a password in the same container as .xls files. */
async function refuseOldWorkbook(
  chunks: AsyncGenerator<Buffer>,
  limits: WorkbookLimits,
): Promise<never> {
  const bytes = await collect(chunks, limits)
  if (bytes.includes(encryptedPackage))
    throw new CsvFileError(
      'encrypted',
      'the workbook is protected by a password: open it in Excel, remove the password under File > Info > Protect Workbook > Encrypt with Password, save it, and import it again',
    )
  refuseForeignFormat(bytes)
  throw new Error('A file of this kind is refused by its first bytes.')
}

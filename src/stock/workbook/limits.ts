import { CsvFileError } from '../csv/read/csv-file.ts'

/** Sizes beyond which a workbook or an archive is refused. */
export interface WorkbookLimits {
  /** Bytes of the workbook or zip file: it is held in memory. */
  readonly fileBytes: number
  /** Files in a zip file. */
  readonly parts: number
  /** Bytes of one part, unpacked. */
  readonly partBytes: number
  /** Bytes of all parts together, unpacked. */
  readonly totalBytes: number
  /** How many times its packed size a part may have, once `ratioFrom` bytes are unpacked. */
  readonly ratio: number
  readonly ratioFrom: number
  /** Sheets: each of them may be searched for the list. */
  readonly sheets: number
  /** References between parts, or cell formats: they are held in memory. Excel allows 65,490 formats. */
  readonly entries: number
  readonly rows: number
  readonly columns: number
  /** Characters of a cell; Excel itself has no longer ones. */
  readonly cellLength: number
  /** Characters, and number, of the texts that the cells share: they are held in memory. */
  readonly sharedCharacters: number
  readonly sharedTexts: number
  /** Time spent reading, without the time of whoever uses the rows. */
  readonly seconds: number
  /** Bytes of a text file in a gzip or zip file, unpacked: it is read as a stream. */
  readonly unpackedTextBytes: number
}

const megabyte = 1024 ** 2

export const workbookLimits: WorkbookLimits = {
  fileBytes: 25 * megabyte,
  parts: 2_000,
  partBytes: 200 * megabyte,
  totalBytes: 300 * megabyte,
  ratio: 200,
  ratioFrom: 10 * megabyte,
  sheets: 250,
  entries: 70_000,
  rows: 200_000,
  columns: 200,
  cellLength: 32_767,
  sharedCharacters: 40_000_000,
  sharedTexts: 2_000_000,
  seconds: 20,
  unpackedTextBytes: 2048 * megabyte,
}

export const saveAsCsv =
  'open it in Excel, choose File > Save As > "CSV UTF-8 (Comma delimited)", and import that file'

/** A workbook whose zip or XML is broken. */
export function damaged(what: string, cause?: unknown): CsvFileError {
  return new CsvFileError(
    'damaged',
    `the workbook is damaged: ${what}. Open it in Excel, save it as a new .xlsx, and import that file`,
    { cause },
  )
}

/** A size beyond its limit. */
export function tooLarge(what: string, limit: string, advice: string): CsvFileError {
  return new CsvFileError('too-large', `${what}, the limit is ${limit}: ${advice}`)
}

/** `25 MB`; below one MB in bytes. */
export function sizeText(bytes: number): string {
  if (bytes < megabyte) return `${bytes.toLocaleString('en')} bytes`
  return `${Math.floor(bytes / megabyte).toLocaleString('en')} MB`
}

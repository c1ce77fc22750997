import { CsvFileError } from './csv-file.ts'

const saveAs =
  'Open it in Excel, choose File > Save As > "Excel Workbook (.xlsx)" or "CSV UTF-8 (Comma delimited)", and import that file'

const archives: readonly (readonly [string, string])[] = [
  ['1f8b', 'a gzip archive'],
  ['377abcaf271c', 'a 7-Zip archive'],
  ['526172211a07', 'a RAR archive'],
  ['425a68', 'a bzip2 archive'],
  ['28b52ffd', 'a Zstandard archive'],
]

const binaries: readonly (readonly [string, string])[] = [
  ['25504446', 'a PDF document'],
  ['89504e47', 'a PNG image'],
  ['ffd8ff', 'a JPEG image'],
  ['47494638', 'a GIF image'],
  ['53514c69746520666f726d6174', 'an SQLite database'],
  ['50415231', 'a Parquet file'],
  ['7f454c46', 'a program'],
]

/** Throws for files that are not text, by their first bytes; the file name does not matter. */
export function refuseForeignFormat(sample: Buffer): void {
  if (sample.length === 0)
    throw new CsvFileError('empty', 'the file is empty (0 bytes): export the stock list again')
  const start = sample.toString('hex', 0, 16)
  if (start.startsWith('504b0304')) refuseZip(sample)
  if (start.startsWith('d0cf11e0'))
    throw new CsvFileError(
      'workbook',
      `this is an old Excel workbook (.xls), which is not read. ${saveAs}`,
    )
  const archive = archives.find(([magic]) => start.startsWith(magic))
  if (archive) throw new CsvFileError('archive', `this is ${archive[1]}, not CSV: unpack it first`)
  const binary = binaries.find(([magic]) => start.startsWith(magic))
  if (binary)
    throw new CsvFileError('binary', `this is ${binary[1]}, not CSV: export the list as CSV`)
}

function adviceFor(name: string): string {
  if (name === 'JSON') return 'Export the stock list as CSV'
  if (name === 'a mail') return 'Save the attached list, and import that file'
  return saveAs
}

function refuseZip(sample: Buffer): never {
  if (sample.includes('[Content_Types].xml') || sample.includes('xl/'))
    throw new CsvFileError('workbook', `this is an Excel workbook (.xlsx), not CSV. ${saveAs}`)
  throw new CsvFileError('archive', 'this is a zip archive, not CSV: unpack it first')
}

const texts: readonly (readonly [name: string, is: (text: string) => boolean])[] = [
  ['JSON', (text) => /^\s*[[{]\s*["[{\]}]/.test(text)],
  [
    'a web page or XML',
    (text) =>
      /^\s*<(!doctype|html|table|\?xml|xml|head|body)\b/i.test(text) ||
      (/^\s*<[!a-z][^<>]*>/i.test(text) && /<\/|\/>/.test(text)),
  ],
  ['a mail', isMail],
  ['a word processor document (RTF)', (text) => text.startsWith('{\\rtf')],
]

const mailHeader = /^[A-Za-z][A-Za-z-]*:/
const mailOnly = /^(received|message-id|mime-version|return-path|delivered-to|content-type):/i

/** Whether the top has lines of `Name: text`: two names that only mails have, or a sender and a subject. */
function isMail(text: string): boolean {
  const lines = text.slice(0, 8000).split(/\r?\n/)
  const from = lines[0]!.startsWith('From ') ? 1 : 0
  const end = lines.findIndex(
    (line, index) => index >= from && !mailHeader.test(line) && !/^[ \t]+\S/.test(line),
  )
  const headers = lines.slice(from, end < 0 ? undefined : end)
  const has = (name: RegExp) => headers.some((line) => name.test(line))
  const isLetter = has(/^from:/i) && has(/^subject:/i)
  return isLetter || headers.filter((line) => mailOnly.test(line)).length >= 2
}

/** Throws for text that is not a table: JSON, web pages, XML, mails, and binary data that passes as text. */
export function refuseForeignText(text: string): void {
  if (text.trim() === '' && !/[\r\n]/.test(text))
    throw new CsvFileError('empty', 'the file holds no text: export the stock list again')
  const found = texts.find(([, is]) => is(text))
  if (found)
    throw new CsvFileError('markup', `this is ${found[0]}, not a list. ${adviceFor(found[0])}`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters show binary data
  const controls = text.match(/[\0-\x08\x0e-\x19\x1b-\x1f]/g)?.length ?? 0
  if (controls > 8 && controls > text.length / 50)
    throw new CsvFileError(
      'binary',
      `this is not text: ${controls} of its first ${text.length} characters are control characters. Export the list as CSV`,
    )
}

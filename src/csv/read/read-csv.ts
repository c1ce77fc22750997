import { chunksOf, type Sample, takeSample, withRest } from './bytes.ts'
import { countKinds } from './kind-counts.ts'
import type { CsvFile, CsvOptions, CsvRecord, Dialect, Limits } from './csv-file.ts'
import { Decoding, decodeSample, namedEncoding } from './decode-text.ts'
import { sniffEncoding } from './encoding.ts'
import { refuseForeignFormat, refuseForeignText } from './foreign-format.ts'
import { findLayout, type Layout } from './layout.ts'
import { OpenCsv, assertWithinLimits } from './open-csv.ts'
import { hasMixedLineEnds, withLineFeeds } from './line-ends.ts'
import { readCells } from './read-cells.ts'
import { readRecord } from './read-record.ts'
import { sampleRecords } from './sample-records.ts'
import { commonWidth, sniffDialect } from './sniff-dialect.ts'
import type { RawRecord } from './raw-record.ts'

const defaults: Limits = { maxColumns: 2_000, maxCellBytes: 1_000_000 }
/** Lines that are used to find the table and the kinds of its columns. */
const layoutLines = 300

/** Opens a CSV file of any common form: detects encoding, dialect and header in its first 64 kB, then yields the records
 *  on demand, in constant memory. Throws CsvFileError if the file is not a readable table. */
export async function readCsv(
  source: AsyncIterable<Uint8Array> | string,
  options: CsvOptions = {},
): Promise<CsvFile> {
  const chunks = chunksOf(source)
  try {
    return await open(chunks, options)
  } catch (error) {
    await chunks.return(undefined)
    throw error
  }
}

async function open(chunks: AsyncGenerator<Buffer>, options: CsvOptions): Promise<CsvFile> {
  const limits = { ...defaults, ...options }
  const sample = await takeSample(chunks)
  refuseForeignFormat(sample.bytes)
  const encoding = options.encoding
    ? namedEncoding(options.encoding, sample.bytes)
    : sniffEncoding(sample.bytes, sample.whole, options.market)
  const decoded = decodeSample(sample.bytes, encoding)
  refuseForeignText(decoded)
  const isMixed = hasMixedLineEnds(decoded)
  const text = isMixed ? withLineFeeds(decoded) : decoded
  const dialect = sniffDialect(text, sample.whole, options.delimiter)
  const records = recordsOf(text, sample, dialect, limits)
  const layout = layoutOf(records, dialect, options.isKnownName ?? (() => false))
  for (const record of records) assertWithinLimits(record, limits)
  // ASCII is the same in every encoding; later bytes show the real one.
  const isOpen = encoding.name === 'utf-8' && !encoding.bom && isAscii(text)
  const isSettled = options.encoding !== undefined || !isOpen
  const decoding = new Decoding(encoding, { isSettled, isMixed, market: options.market })
  return new OpenCsv({
    dialect,
    layout,
    head: headOf(text, layout, dialect),
    decoding,
    chunks: withRest(sample.bytes, chunks),
    limits,
    release: async () => void (await chunks.return(undefined)),
  })
}

function recordsOf(text: string, { whole }: Sample, dialect: Dialect, limits: Limits): RawRecord[] {
  const found = sampleRecords(text, dialect, whole, layoutLines).map(
    ({ line, raw, cells, isUnclosed }) => ({ line, raw, cells, isUnclosed, hasLineEnd: true }),
  )
  const records = dialect.sepLine ? found.filter(({ line }) => line > 1) : found
  if (records.length > 0 || whole) return records
  // One record is longer than the sample: its visible part is checked against the limits.
  const { cells } = readCells(text, dialect)
  assertWithinLimits({ line: 1, cells, raw: text }, limits)
  return [{ line: 1, cells, raw: text, isUnclosed: true, hasLineEnd: false }]
}

function layoutOf(
  found: readonly RawRecord[],
  dialect: Dialect,
  isKnownName: (name: string) => boolean,
): Layout {
  const widths = found.filter(({ raw }) => raw.trim() !== '').map(({ cells }) => cells.length)
  const width = commonWidth(widths)
  const columns = { dialect, width, kindCounts: countKinds([], width) }
  const records = found.flatMap((record): CsvRecord[] => readRecord(record, columns))
  return findLayout(records, width, isKnownName)
}

/** The text up to the first record. */
function headOf(text: string, { firstLine }: Layout, { lineEnd }: Dialect): string {
  const end = lineEnd === 'CR' ? '\r' : '\n'
  let at = 0
  for (let line = 1; line < firstLine; line += 1) {
    const next = text.indexOf(end, at)
    if (next < 0) return text
    at = next + 1
  }
  return text.slice(0, at)
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

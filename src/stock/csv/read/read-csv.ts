import { bufferChunks, type Sample, takeSample, withRest } from './bytes.ts'
import { countKinds } from './cell-kind.ts'
import {
  type CsvFile,
  CsvFileError,
  type CsvHeader,
  type CsvOptions,
  type CsvRecord,
  type CsvWarning,
  type Dialect,
} from './csv-file.ts'
import { commonWidth, sampleRecords, sniffDialect } from './dialect.ts'
import { Decoding, decodeSample, namedEncoding, sniffEncoding } from './encoding.ts'
import { refuseForeignFormat, refuseForeignText } from './foreign-format.ts'
import { findLayout, type Layout } from './layout.ts'
import { hasMixedLineEnds, withLineFeeds } from './line-ends.ts'
import { parseRecords, type RawRecord } from './parse-records.ts'
import { readCells } from './read-cells.ts'
import { type Columns, hasSwallowedLines, readRecord, repairSteps } from './repair.ts'
import { withRepeatedHeader } from './repeated-header.ts'

/** Sizes beyond which a file is refused. */
interface Limits {
  readonly maxColumns: number
  readonly maxCellBytes: number
}

const defaults: Limits = { maxColumns: 2_000, maxCellBytes: 1_000_000 }
/** Lines that are used to find the table and the kinds of its columns. */
const layoutLines = 300

/** Opens a CSV file of any common form: detects encoding, dialect and header in its first 64 kB, then yields the records
 *  on demand, in constant memory. Throws CsvFileError if the file is not a readable table. */
export async function readCsv(
  source: AsyncIterable<Uint8Array>,
  options: CsvOptions = {},
): Promise<CsvFile> {
  const chunks = bufferChunks(source)
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
  const records = readRecords(text, sample, dialect, limits)
  for (const record of records) assertWithinLimits(record, limits)
  const layout = sampleLayout(records, dialect, options.isKnownName ?? (() => false))
  // ASCII is the same in every encoding; later bytes show the real one.
  const isOpen = encoding.name === 'utf-8' && !encoding.bom && /^[\0-\x7f]*$/.test(text)
  const isSettled = options.encoding !== undefined || !isOpen
  const decoding = new Decoding(encoding, { isSettled, isMixed, market: options.market })
  const { preamble, header, width } = layout
  const warnings = header?.ragged ? [headerWarning(header, width)] : []
  const all = withRest(sample.bytes, chunks)
  return {
    get encoding() {
      return decoding.encoding
    },
    ...{ dialect, preamble, header, width, warnings, head: headText(text, layout, dialect) },
    batches: readBatches(decoding, all, { dialect, layout, limits, warnings }),
    close: async () => void (await chunks.return(undefined)),
  }
}

function readRecords(
  text: string,
  { whole }: Sample,
  dialect: Dialect,
  limits: Limits,
): RawRecord[] {
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

function sampleLayout(
  found: readonly RawRecord[],
  dialect: Dialect,
  isKnownName: (name: string) => boolean,
): Layout {
  const widths = found.filter(({ raw }) => raw.trim() !== '').map(({ cells }) => cells.length)
  const width = commonWidth(widths)
  const repair = { left: repairSteps }
  const columns = { dialect, width, kindCounts: countKinds([], width), repair }
  const records = found.flatMap((record) => readRecord(record, columns))
  return findLayout(records, width, isKnownName)
}

/** The text up to the first record. */
function headText(text: string, { firstLine }: Layout, { lineEnd }: Dialect): string {
  const end = lineEnd === 'CR' ? '\r' : '\n'
  let at = 0
  for (let line = 1; line < firstLine; line += 1) {
    const next = text.indexOf(end, at)
    if (next < 0) return text
    at = next + 1
  }
  return text.slice(0, at)
}

function headerWarning({ line, rowNames }: CsvHeader, width: number): CsvWarning {
  const names = `the header has ${rowNames[0]!.length} names and the records have ${width} cells`
  const message = `${names}: names may be over the wrong columns`
  return { code: 'HEADER_WIDTH', line, message }
}

interface OpenFile {
  readonly dialect: Dialect
  readonly layout: Layout
  readonly limits: Limits
  /** Those found while reading are added. */
  readonly warnings: CsvWarning[]
}

/** The records below the header. */
async function* readBatches(
  decoding: Decoding,
  chunks: AsyncIterable<Buffer>,
  file: OpenFile,
): AsyncGenerator<readonly CsvRecord[]> {
  const { dialect, limits } = file
  const { kindCounts, firstLine, width } = file.layout
  const columns: Columns = { dialect, width, kindCounts, repair: { left: repairSteps } }
  // A quote left open in a title must not swallow records.
  const body = fromLine(decoding.utf8(chunks), firstLine, dialect)
  const lengths = { records: 0, short: 0 }
  const options = {
    firstLine,
    maxRecordBytes: 4 * limits.maxCellBytes,
    hasStrayQuote: (text: string) => hasSwallowedLines(text, columns),
  }
  for await (const batch of parseRecords(body, dialect, options))
    yield batch.flatMap((raw) => {
      assertColumns(raw, limits)
      const records = readRecord(raw, columns)
      lengths.records += 1
      if (raw.cells.length < width) lengths.short += 1
      // If many rows are short, their last cells were left out, so a short last row proves nothing.
      const mayBeCut = !raw.hasLineEnd && lengths.short * 10 <= lengths.records + 10
      const cut = mayBeCut ? cutRecord(records.at(-1)!, columns) : null
      if (cut) {
        records.splice(-1, 1, cut)
        const row = `the row at line ${cut.line}, which has no line end and too few cells`
        const advice = 'if it is complete, add a line end to that row'
        file.warnings.push(cutWarning(cut.line, `${row}: it was cut. Export it again; ${advice}`))
      }
      return records.map((record) => checked(record, decoding, file))
    })
}

/** Yields the UTF-8 chunks from line `firstLine` on. */
async function* fromLine(
  chunks: AsyncIterable<Buffer>,
  firstLine: number,
  { lineEnd }: Dialect,
): AsyncGenerator<Buffer> {
  const end = lineEnd === 'CR' ? '\r' : '\n'
  let line = 1
  for await (const chunk of chunks) {
    let from = 0
    for (; line < firstLine && from < chunk.length; line += 1) {
      const at = chunk.indexOf(end, from)
      if (at < 0) break
      from = at + 1
    }
    if (line >= firstLine) yield from === 0 ? chunk : chunk.subarray(from)
  }
}

/** The file's last record marked as cut; null unless it has too few cells. The file has no line end there. */
function cutRecord({ line, raw, problem }: CsvRecord, columns: Columns): CsvRecord | null {
  if (problem?.code === 'blank-row' || problem?.code === 'truncated-value') return null
  const { cells } = readCells(raw, columns.dialect)
  if (cells.length >= columns.width) return null
  const count = `${cells.length} ${cells.length === 1 ? 'cell' : 'cells'}`
  const message = `${count} where the file has ${columns.width} columns: the file ends within this row, so it was cut`
  return { line, cells, raw, problem: { code: 'missing-cell', message, repaired: false } }
}

function cutWarning(line: number, where: string): CsvWarning {
  return { code: 'TRUNCATED_FILE', line, message: `the file ends within ${where}` }
}

/** The record, marked if it has invalid bytes or repeats the header. */
function checked(record: CsvRecord, decoding: Decoding, file: OpenFile): CsvRecord {
  const { line, raw, problem } = record
  const { header } = file.layout
  assertWithinLimits(record, file.limits)
  if (decoding.broken && raw.includes('\uFFFD')) return broken(record, decoding, file)
  if (problem?.code === 'truncated-value') {
    const cell = `a quoted cell that begins at line ${line}`
    const advice = 'it was cut, or a quote is not closed. Export it again'
    file.warnings.push(cutWarning(line, `${cell}: ${advice}`))
  }
  return header ? withRepeatedHeader(record, header) : record
}

function broken(record: CsvRecord, { encoding }: Decoding, { warnings }: OpenFile): CsvRecord {
  const { line, problem } = record
  if (!warnings.some(({ code }) => code === 'ENCODING_ERROR')) {
    const where = `from line ${line} on there are bytes that are invalid in ${encoding.name}`
    const message = `${where}: save the file as CSV UTF-8`
    warnings.push({ code: 'ENCODING_ERROR', line, message })
  }
  const message = 'this row has bytes that are invalid in the file’s encoding'
  return problem?.repaired === false
    ? record
    : { ...record, problem: { code: 'encoding-error', message, repaired: false } }
}

function assertColumns({ line, cells }: Pick<CsvRecord, 'line' | 'cells'>, limits: Limits): void {
  if (cells.length > limits.maxColumns)
    throw new CsvFileError(
      'too-many-columns',
      `line ${line} has ${cells.length} cells, the limit is ${limits.maxColumns}: rows and columns may be swapped, rows may not end with line ends, or it is not a stock list`,
    )
}

/** Throws if a record exceeds the limits, which no stock list does. */
function assertWithinLimits(record: CsvRecord, limits: Limits): void {
  const { line, cells, raw } = record
  assertColumns(record, limits)
  if (raw.length <= limits.maxCellBytes / 4) return
  const longest = cells.findIndex((cell) => Buffer.byteLength(cell) > limits.maxCellBytes)
  if (longest >= 0)
    throw new CsvFileError(
      'cell-too-long',
      `cell ${longest + 1} of the record at line ${line} is longer than ${limits.maxCellBytes.toLocaleString('en')} bytes: shorten it, or leave the column out`,
    )
}

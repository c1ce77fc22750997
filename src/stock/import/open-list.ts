import { UsageError } from '../../errors.ts'
import { given } from '../../values/given.ts'
import { plural } from '../../values/text.ts'
import type { Mapping, RememberedMapping } from '../csv/map/column-mapping.ts'
import { headerFingerprint } from '../csv/map/header-name.ts'
import { withOtherHeaders } from '../csv/map/other-headers.ts'
import { parseOverrides } from '../csv/map/overrides.ts'
import { rooftopQuestions } from '../csv/map/rooftop-question.ts'
import { withSoldBlocks } from '../csv/map/sold-blocks.ts'
import { soldQuestions } from '../csv/map/sold-questions.ts'
import { plainText } from '../csv/map/typing/plain-text.ts'
import { isSummaryLabel } from '../csv/map/typing/summary-words.ts'
import { hasVin, namesVehicle } from '../csv/map/vehicle-words.ts'
import { type CsvFile, CsvFileError, type CsvRecord } from '../csv/read/csv-file.ts'
import { readCells } from '../csv/read/read-cells.ts'
import { countOwnColumns } from '../own-columns.ts'
import type { Refusal } from '../refusal-kinds.ts'
import { type ListApart, openApart } from './read-apart.ts'
import type { ImportRequest, ListSource } from './request.ts'
import { onlyRows } from './row-filter.ts'

/** How many records are used to map the columns: fewer if they are very wide or long. */
const sampleSize = 500
const partOfSample = ({ cells, raw }: CsvRecord) =>
  Math.max(1, cells.length / 200, raw.length / 8_000)

/** A list whose encoding, dialect and header are known. */
export interface OpenList {
  readonly csv: CsvFile & Pick<ListApart, 'map'>
  /** The first records; `rest` continues after them, in batches. */
  readonly sample: readonly CsvRecord[]
  readonly rest: AsyncIterable<readonly CsvRecord[]>
  /** Opens the file again from its beginning. */
  readonly reopen: () => Promise<CsvFile>
  /** Names of the dealer's columns; null: the file has no header. */
  readonly names: readonly string[] | null
  /** Columns of the dealer. */
  readonly width: number
}

/** Detects encoding, dialect and header, and reads a sample, in a thread of its own. */
export async function openList(
  request: ImportRequest,
  source: ListSource,
  signal: AbortSignal,
): Promise<OpenList> {
  const reopen = () => readSource(request, source, signal)
  const csv = await reopen()
  const batches = csv.batches[Symbol.asyncIterator]()
  const sample: CsvRecord[] = []
  let left: readonly CsvRecord[] = []
  for (let size = 0; size < sampleSize; ) {
    const next = await batches.next()
    if (next.done) break
    const over = next.value.findIndex((record) => {
      if (size >= sampleSize) return true
      size += partOfSample(record)
      return false
    })
    const end = over < 0 ? next.value.length : over
    for (const record of next.value.slice(0, end)) sample.push(record)
    left = next.value.slice(end)
  }
  const rest = followedBy(left, batches)
  const all = csv.header?.names ?? null
  const width = csv.width - countOwnColumns(all ?? [])
  return { csv, sample, rest, reopen, names: all?.slice(0, width) ?? null, width }
}

async function readSource(
  { file, rooftop, encoding, delimiter, sheet, only }: ImportRequest,
  source: ListSource,
  signal: AbortSignal,
): Promise<OpenList['csv']> {
  const options = { market: rooftop.region, ...given({ encoding, delimiter, sheet }) }
  const csv = withOtherHeaders(withSoldBlocks(await openApart(source, options, signal)))
  try {
    assertNoneAbove(csv)
    return only === undefined ? csv : onlyRows(csv, only, file)
  } catch (error) {
    await csv.close()
    throw error
  }
}

/** Beside a make, for a summary above a list has makes and numbers too. */
const year = /^(?:19|20)\d\d$/

/** Throws CsvFileError if vehicles are above the header, as where a list was sorted with it: they would be lost. */
function assertNoneAbove({ header, preamble, dialect, width }: CsvFile): void {
  if (header === null) return
  const rows = preamble.map((raw) => readCells(raw, dialect).cells.map(plainText))
  const vehicles = rows.filter((cells) => {
    const filled = cells.filter((cell) => cell !== '')
    const isFull = filled.length * 4 >= width * 3 && filled.length > 2
    const isVehicle =
      hasVin(filled) || (filled.some((cell) => year.test(cell)) && namesVehicle(filled))
    return isFull && isVehicle
  })
  if (vehicles.length === 0) return
  const rowsAbove = plural(vehicles.length, 'row')
  throw new CsvFileError(
    'rows-above',
    `the header at line ${header.line} is below ${rowsAbove} of vehicles, which would be lost: move it above them`,
  )
}

async function* followedBy<Batch>(first: Batch, rest: AsyncIterator<Batch>): AsyncGenerator<Batch> {
  yield first
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

/** The key under which the mapping of this list's header is remembered. */
export function listFingerprint({ names, width }: OpenList): string {
  return headerFingerprint(names, width)
}

/** The mapping of a list, sure or not. */
export async function mapList(
  list: OpenList,
  request: ImportRequest,
  remembered: RememberedMapping | null,
): Promise<Mapping> {
  const { csv, names, width } = list
  const mapping = await csv.map(names, sampleRows(list), {
    overrides: parseOverrides(request.maps, names, width),
    remembered,
    titles: csv.preamble,
    ...given({ headerRows: csv.header?.rowNames, hiddenColumns: csv.hiddenColumns }),
  })
  const more = [
    ...soldQuestions(mapping, list.sample),
    ...(request.only === undefined ? rooftopQuestions(mapping, list.sample) : []),
  ]
  if (more.length === 0) return mapping
  return { ...mapping, status: 'unsure', questions: [...mapping.questions, ...more] }
}

/** The rows of the sample that are evidence of the columns' fields, with the dealer's cells. */
export function sampleRows({ sample, width }: OpenList): readonly (readonly string[])[] {
  const whole = sample.filter(
    ({ problem, isSubtotal, belowHeader }) => !problem && !isSubtotal && belowHeader === undefined,
  )
  return withoutTitles(whole.map(({ cells }) => cells.slice(0, width)))
}

/** Ends an import before the list is compared with the stock. */
export class EarlyRefusal extends Error {
  readonly refusal: Refusal
  /** With the questions that were found last. */
  readonly mapping: Mapping | null

  constructor(refusal: Refusal, mapping: Mapping | null = null) {
    super(refusal.is)
    this.refusal = refusal
    this.mapping = mapping
  }
}

/** Unless the mapping is sure: EarlyRefusal. */
export function assertSure(mapping: Mapping): void {
  if (mapping.status === 'unsure') throw new EarlyRefusal({ is: 'columns' }, mapping)
}

/** Removes titles and footers, which fill a cell or two and are not evidence of the columns' fields. */
function withoutTitles(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const filled = (cells: readonly string[]) => cells.filter((cell) => cell.trim() !== '').length
  const most = rows.reduce((all, cells) => Math.max(all, filled(cells)), 0)
  const isTotal = (cells: readonly string[]) =>
    cells.some((cell) => isSummaryLabel(plainText(cell)))
  return rows.filter(
    (cells) => filled(cells) * 3 > most && !(filled(cells) * 4 < most * 3 && isTotal(cells)),
  )
}

/** Adds the file's name to a CsvFileError. */
export function withFileName(file: string, error: unknown): unknown {
  if (!(error instanceof CsvFileError)) return error
  return new UsageError(`${file}: ${error.message}. Nothing was imported.`, { cause: error })
}

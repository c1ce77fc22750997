import type { Mapping } from '../../csv/map/column-mapping.ts'
import type { CellIssue, TypedRow } from '../../csv/map/typing/typed-row.ts'
import { rowTyper } from '../../csv/map/typing/row.ts'
import {
  type ColumnStyles,
  hasSameStyles,
  startStyles,
  type TypingOptions,
} from '../../csv/map/typing/column-styles.ts'
import type { CsvEncoding, CsvFile, CsvRecord, CsvWarning } from '../../csv/read/csv-file.ts'
import { IssueTally } from './issue-tally.ts'
import type { OpenList } from './open-list.ts'
import { type EarlierResult, earlierResult } from '../own-columns.ts'
import { type ImportRequest, type RowCounts, todayAt } from './request.ts'
import type { RowRedaction } from './redact-rows.ts'
import type { Stage, StagedUnits } from './stage.ts'
import { fitToColumns } from './unit-columns.ts'

/** The result of typing and staging a whole list. */
export interface TypedList {
  readonly counts: RowCounts
  readonly units: StagedUnits
  readonly tally: IssueTally
  readonly encoding: CsvEncoding
  readonly warnings: readonly CellIssue[]
  readonly isCut: boolean
}

/**
 * Types every record and stages it. The columns' styles come from the first records; if the rest of the file
 * proves another style, `restage` gives an empty stage and the file is read again.
 */
export async function typeRows(
  list: OpenList,
  mapping: Mapping,
  { request, screen }: { readonly request: ImportRequest; readonly screen: RowRedaction },
  stage: Stage,
  restage: () => Promise<Stage>,
): Promise<TypedList> {
  const options = typingOptions(request)
  const evidence = startStyles(mapping, options)
  const observe = ({ cells, problem }: CsvRecord) => {
    if (!problem || problem.repaired) evidence.observe(cells)
  }
  const earlier = earlierResultOf(list.csv, mapping)
  const withError = (record: CsvRecord) => earlier?.withEarlierProblem(record) ?? record
  const sample = list.sample.map(withError)
  for (const record of sample) observe(record)
  const first = evidence.styles()
  const run = new Run(rowTyper(mapping, first), screen, stage, {
    earlier,
    columns: mapping.columns,
  })
  for (const record of sample) await run.take(record)
  for (let next = await list.rest.next(); !next.done; next = await list.rest.next())
    for (const read of next.value) {
      const record = withError(read)
      observe(record)
      const wait = run.take(record)
      if (wait) await wait
    }
  const units = await stage.end()
  const last = evidence.styles()
  if (hasSameStyles(first, last)) return run.result(list.csv, last, units)
  return await typeAgain(await list.reopen(), { mapping, styles: last, screen }, await restage())
}

async function typeAgain(
  csv: CsvFile,
  {
    mapping,
    styles,
    screen,
  }: { readonly mapping: Mapping; readonly styles: ColumnStyles; readonly screen: RowRedaction },
  stage: Stage,
): Promise<TypedList> {
  const earlier = earlierResultOf(csv, mapping)
  const run = new Run(rowTyper(mapping, styles), screen, stage, {
    earlier,
    columns: mapping.columns,
  })
  for await (const batch of csv.batches)
    for (const record of batch) {
      const wait = run.take(earlier?.withEarlierProblem(record) ?? record)
      if (wait) await wait
    }
  return run.result(csv, styles, await stage.end())
}

function earlierResultOf({ header }: CsvFile, { columns }: Mapping): EarlierResult | null {
  return header && earlierResult(header.names, columns.length)
}

function typingOptions(request: ImportRequest): TypingOptions {
  const { region, currency, odometerUnit } = request.rooftop
  return { market: region, currency, odometerUnit, today: todayAt(request) }
}

/** One pass through the file. */
class Run {
  readonly #type: ReturnType<typeof rowTyper>
  readonly #screen: RowRedaction
  readonly #stage: Stage
  readonly #width: number
  readonly #earlier: EarlierResult | null
  readonly #hasWordsFirst: boolean
  readonly #tally = new IssueTally()
  readonly #counts = { accepted: 0, rejected: 0, skipped: 0 }
  #footerLine = 0

  constructor(
    type: ReturnType<typeof rowTyper>,
    screen: RowRedaction,
    stage: Stage,
    {
      earlier,
      columns,
    }: { readonly earlier: EarlierResult | null; readonly columns: Mapping['columns'] },
  ) {
    this.#type = type
    this.#screen = screen
    this.#stage = stage
    this.#earlier = earlier
    this.#width = columns.length
    this.#hasWordsFirst = hasWordsFirst(columns)
  }

  take(record: CsvRecord): Promise<void> | undefined {
    const { redactRow, redactRecord } = this.#screen
    const row = redactRow(this.#earlier?.notInStock(record) ?? this.#typed(record))
    if (record.problem?.code === 'missing-cell' && this.#isFooter(record, row))
      this.#footerLine = record.line
    this.#counts[row.status] += 1
    if (row.issues.length > 0) this.#tally.add(row.issues)
    return this.#stage.add(redactRecord(record), row)
  }

  /** Whether the last record is a footer, not a cut row: it has a text where the first column has one-word stock numbers. */
  #isFooter({ cells }: CsvRecord, { status, issues }: TypedRow): boolean {
    const [issue] = issues
    if (status !== 'skipped' || !issue) return false
    const first = cells[0]!.trim()
    const isText = /\s/.test(first) || !/[\p{L}\p{N}]/u.test(first)
    return issue.code === 'TOTALS_ROW' || (!this.#hasWordsFirst && isText)
  }

  #typed(record: CsvRecord): TypedRow {
    return fitToColumns(this.#type(withoutAppended(record, this.#width)), record.line)
  }

  result(
    csv: { readonly encoding: CsvEncoding; readonly warnings: readonly CsvWarning[] },
    styles: ColumnStyles,
    units: StagedUnits,
  ): TypedList {
    const { accepted, rejected, skipped } = this.#counts
    const records = accepted + rejected + skipped
    const warnings = csv.warnings.filter(
      ({ code, line }) => code !== 'TRUNCATED_FILE' || line !== this.#footerLine,
    )
    return {
      counts: { records, accepted, rejected, collapsed: 0, skipped },
      units,
      tally: this.#tally,
      encoding: csv.encoding,
      warnings: this.#screen.redactJson([...warnings.map(asIssue), ...styles.issues]),
      isCut: warnings.some(({ code }) => code === 'TRUNCATED_FILE'),
    }
  }
}

/** Whether a text in the first column may be the beginning of a value. */
function hasWordsFirst([first]: Mapping['columns']): boolean {
  const isKey = first?.field === 'stock_number' || first?.field === 'vin'
  return !isKey || first.samples.some((sample) => /\s/.test(sample.trim()))
}

/** The record with the dealer's cells only: appended cells must not make a blank row a vehicle. */
function withoutAppended(record: CsvRecord, width: number): CsvRecord {
  const { cells } = record
  return cells.length <= width ? record : { ...record, cells: cells.slice(0, width) }
}

function asIssue({ code, line, message }: CsvWarning): CellIssue {
  return { code, severity: 'warning', line, column: null, text: '', hint: message }
}

import { mayHaveContact, redactJson, redactText } from '../../privacy/screen/redact.ts'
import type { SearchTerms } from '../../privacy/screen/search-terms.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import type { Mapping } from '../csv/map/column-mapping.ts'
import { cellReader } from '../csv/map/typing/cell-numbers.ts'
import { type ColumnStyles, hasSameStyles, startStyles } from '../csv/map/typing/column-styles.ts'
import { rowTyper } from '../csv/map/typing/row.ts'
import type { CellIssue, TypedRow } from '../csv/map/typing/typed-row.ts'
import type { TypingOptions } from '../csv/map/typing/typing-options.ts'
import type { CsvEncoding, CsvFile, CsvRecord, CsvWarning } from '../csv/read/csv-file.ts'
import { type EarlierResult, earlierResult } from '../own-columns.ts'
import { IssueTally } from './issue-tally.ts'
import { assertSure, type OpenList } from './open-list.ts'
import { type ImportRequest, todayAt } from './request.ts'
import type { Stage, StagedUnits } from './stage.ts'
import { fitToColumns } from './unit-columns.ts'

/** The result of typing and staging a whole list. */
export interface TypedList {
  /** Those that were read. */
  readonly records: number
  readonly units: StagedUnits
  readonly tally: IssueTally
  readonly encoding: CsvEncoding
  readonly warnings: readonly CellIssue[]
  readonly isCut: boolean
  /** The earliest import that its rows correct; null: it is not known, or it is a list of its own. */
  readonly corrects: number | null
}

/** How a list is typed and staged. */
interface TypeOptions {
  readonly request: ImportRequest
  readonly screen: RowRedaction
  /** Opens an empty stage; a second call undoes what the first one wrote. */
  readonly openStage: () => Promise<Stage>
}

/**
 * Types every record and stages it. The columns' styles come from the first records; if the rest of the file
 * proves another style, the file is read again into an empty stage.
 */
export async function typeRows(
  list: OpenList,
  mapping: Mapping,
  { request, screen, openStage }: TypeOptions,
): Promise<TypedList> {
  const evidence = startStyles(mapping, typingOptions(request))
  const { csv, sample, rest } = list
  const earlier = csv.header && earlierResult(csv.header.names, mapping.columns.length)
  for (const record of sample) evidence.observe(earlier?.withEarlierProblem(record) ?? record)
  const first = evidence.styles()
  const pass = new Pass(mapping, first, { earlier, screen, stage: await openStage() })
  await pass.read([sample])
  await pass.read(rest, evidence.observe)
  const last = evidence.styles()
  // Ended in any case: what it still sends must arrive before the next stage undoes it.
  const typed = await pass.end(csv, last)
  assertSure(withQuestions(mapping, last))
  if (hasSameStyles(first, last)) return typed
  const second = new Pass(mapping, last, { earlier, screen, stage: await openStage() })
  const again = await list.reopen()
  try {
    await second.read(again.batches)
    return await second.end(again, last)
  } finally {
    await again.close()
  }
}

/** The mapping with the questions that the first cells of its columns raise. */
export function withFirstQuestions(
  mapping: Mapping,
  { sample }: Pick<OpenList, 'sample'>,
  request: ImportRequest,
): Mapping {
  const evidence = startStyles(mapping, typingOptions(request))
  for (const record of sample) evidence.observe(record)
  return withQuestions(mapping, evidence.styles())
}

function withQuestions(mapping: Mapping, { questions }: ColumnStyles): Mapping {
  if (questions.length === 0) return mapping
  return { ...mapping, status: 'unsure', questions: [...mapping.questions, ...questions] }
}

/** What the rooftop of an import states about its lists. */
export function typingOptions(request: ImportRequest): TypingOptions {
  const { region, currency, odometerUnit } = request.rooftop
  return { market: region, currency, odometerUnit, today: todayAt(request) }
}

interface PassOptions extends Pick<TypeOptions, 'screen'> {
  readonly earlier: EarlierResult | null
  readonly stage: Stage
}

/** One pass through the file. */
class Pass {
  readonly #type: ReturnType<typeof rowTyper>
  readonly #read: ReturnType<typeof cellReader>
  readonly #columns: Mapping['columns']
  readonly #warnings: Mapping['warnings']
  readonly #to: PassOptions
  readonly #tally = new IssueTally()
  #records = 0
  #footerLine = 0
  #corrects: number | null = null

  constructor(mapping: Mapping, styles: ColumnStyles, to: PassOptions) {
    this.#type = rowTyper(mapping, styles)
    this.#read = cellReader(mapping, styles)
    this.#columns = mapping.columns
    this.#warnings = mapping.warnings
    this.#to = to
  }

  async read(
    batches: AsyncIterable<readonly CsvRecord[]> | readonly (readonly CsvRecord[])[],
    observe?: (record: CsvRecord) => void,
  ): Promise<void> {
    const { earlier } = this.#to
    const yieldToEventLoop = eventLoopYielder()
    for await (const batch of batches)
      for (const read of batch) {
        this.#records += 1
        const corrected = earlier?.importOf(read) ?? null
        if (corrected !== null) this.#corrects = Math.min(corrected, this.#corrects ?? corrected)
        const record = earlier?.withEarlierProblem(read) ?? read
        observe?.(record)
        const wait = this.#take(this.#read(record))
        if (wait) await wait
        await yieldToEventLoop()
      }
  }

  async end(csv: CsvFile, styles: ColumnStyles): Promise<TypedList> {
    const units = await this.#to.stage.end()
    const warnings = csv.warnings.filter(
      ({ code, line }) => code !== 'TRUNCATED_FILE' || line !== this.#footerLine,
    )
    return {
      records: this.#records,
      units,
      tally: this.#tally,
      corrects: this.#corrects,
      encoding: csv.encoding,
      warnings: this.#to.screen.redactJson([
        ...warnings.map(asIssue),
        ...this.#warnings,
        ...styles.issues,
      ]),
      isCut: warnings.some(({ code }) => code === 'TRUNCATED_FILE'),
    }
  }

  #take(record: CsvRecord): Promise<void> | undefined {
    const { screen, earlier, stage } = this.#to
    const row = screen.redactRow(earlier?.notInStock(record) ?? this.#typed(record))
    if (record.problem?.code === 'missing-cell' && this.#isFooter(record, row))
      this.#footerLine = record.line
    if (row.issues.length > 0) this.#tally.add(row.issues)
    return stage.add(screen.redactRecord(record), row)
  }

  /** Whether the last record is a footer, not a cut row: it has a text where the first column has one-word stock numbers. */
  #isFooter({ cells }: CsvRecord, { status, issues }: TypedRow): boolean {
    const [issue] = issues
    if (status !== 'skipped' || !issue) return false
    const first = cells[0]!.trim()
    const isText = /\s/.test(first) || !/[\p{L}\p{N}]/u.test(first)
    return issue.code === 'TOTALS_ROW' || (isText && !hasWordsFirst(this.#columns))
  }

  #typed(record: CsvRecord): TypedRow {
    return fitToColumns(this.#type(withoutAppended(record, this.#columns.length)), record.line)
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

function asIssue({ message: hint, ...warning }: CsvWarning): CellIssue {
  return { ...warning, severity: 'warning', column: null, text: '', hint }
}

/** Removes erased customers from a list, as an erasure does: from every stored cell, and from the unit's texts. A stock number that equals a phone number stays. */
export interface RowRedaction {
  readonly redactRecord: (record: CsvRecord) => CsvRecord
  readonly redactRow: (row: TypedRow) => TypedRow
  readonly redactJson: <T>(value: T) => T
}

/** `erased` null: no one was erased, and nothing is changed. */
export function rowRedaction(erased: SearchTerms | null): RowRedaction {
  const asIs = <T>(value: T): T => value
  if (erased === null) return { redactRecord: asIs, redactRow: asIs, redactJson: asIs }
  const json = <T>(value: T) => redactJson(value, erased) as T
  const clean = (cell: string) => (mayHaveContact(cell) ? redactText(cell, erased) : cell)
  return {
    redactRecord: (record) => {
      const cells = record.cells.map(clean)
      const isSame = cells.every((cell, index) => cell === record.cells[index])
      return isSame ? record : { ...record, cells }
    },
    redactRow: (row) => {
      const { unit, issues } = row
      if (unit === null) return issues.length === 0 ? row : { ...row, issues: json(issues) }
      const { vin, adcode, plate, make, model, variant, extras } = unit
      return {
        ...row,
        issues: json(issues),
        unit: { ...unit, ...json({ vin, adcode, plate, make, model, variant, extras }) },
      }
    },
    redactJson: json,
  }
}

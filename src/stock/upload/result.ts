import { fieldLabel } from '../csv/map/mapping-text.ts'
import type { CellIssue } from '../csv/map/typing/typed-row.ts'
import type { RowCounts, StockImportReport, UnitChange, UnitCounts } from '../import/request.ts'
import type { GuardRefusal, Refusal } from '../refusal-kinds.ts'
import { type UploadColumns, uploadColumn, uploadColumns } from './columns.ts'
import type { FirstRows, UploadPreview } from './first-rows.ts'
import { plainWords } from './plain-words.ts'

/** The issues of one kind. */
export interface UploadIssues {
  readonly severity: CellIssue['severity']
  readonly code: string
  readonly count: number
  /** In words; the first of them. */
  readonly hint: string
  readonly first: readonly Pick<CellIssue, 'line' | 'column' | 'text' | 'hint'>[]
}

/** What a dry run found. */
export interface UploadReport extends RowCounts, UnitCounts {
  /** Units whose days of grace are over. */
  readonly offStock: number
  readonly figures: StockImportReport['figures']
  readonly changes: readonly UnitChange[]
  readonly issues: readonly UploadIssues[]
  readonly warnings: readonly string[]
  /** Fields without which a car cannot be priced or its days counted, that no column fills. */
  readonly missing: readonly string[]
}

/** The state of an uploaded list after a check. */
export interface UploadResult {
  /** columns: a person must answer; ready: it can be imported; refused: it cannot; same: it is in the warehouse already. */
  readonly state: 'columns' | 'ready' | 'refused' | 'same'
  readonly encoding: string
  readonly delimiter: string
  /** The sheets of a workbook with several, to choose from. */
  readonly sheets: readonly string[]
  /** The one that was read; null: none yet, or the list is a text file. */
  readonly sheet: string | null
  readonly mapping: UploadColumns | null
  /** null: the list could not be read so far. */
  readonly preview: UploadPreview | null
  readonly report: UploadReport | null
  /** What a person must confirm before the list is imported. */
  readonly guards: readonly GuardRefusal[]
  /** Why it is refused, as a sentence. */
  readonly why: string | null
  /** The import that has it already. */
  readonly importId: number | null
}

const none = {
  ...{
    encoding: '',
    delimiter: '',
    mapping: null,
    preview: null,
    report: null,
    guards: [],
    why: null,
  },
  ...{ importId: null, sheets: [], sheet: null },
} as const

/** The result of a workbook where several sheets may be the list. */
export function sheetsResult(sheets: readonly string[]): UploadResult {
  return { ...none, state: 'columns', sheets }
}

/** The result of a list that was refused before it was compared with the stock. */
export function refusedResult(refusal: Refusal): UploadResult {
  if (refusal.is !== 'columns') return { ...none, state: 'refused', why: whyRefused(refusal) }
  const { mapping, encoding, delimiter } = refusal
  return { ...none, state: 'columns', encoding, delimiter, mapping: uploadColumns(mapping) }
}

/** Why no person can allow it; null: one can. */
function whyRefused(refusal: Refusal): string | null {
  if (refusal.is === 'cut')
    return `${refusal.why}. Cars that it no longer names would count as sold. Export the list again; or import it as a part of the stock, which takes no car out.`
  if (refusal.is === 'nothing-valid')
    return `Its rows cannot be read: ${refusal.why}. The first errors are below: correct them in the list, and upload it again.`
  return null
}

/** The result of a dry run, with what the guards found. */
export function checkedResult(
  report: StockImportReport,
  refusals: readonly Refusal[],
): UploadResult {
  const { status, importId, encoding, delimiter, mapping } = report
  const isKnown = status === 'already-imported'
  const why = refusals.map(whyRefused).find((text) => text !== null) ?? null
  return {
    ...none,
    state: why !== null ? 'refused' : isKnown ? 'same' : 'ready',
    ...{ encoding, delimiter, why, guards: refusals.filter((refusal) => 'would' in refusal) },
    mapping: {
      hasHeader: mapping.some(({ header }) => header !== null),
      columns: mapping.map((column) => uploadColumn(column)),
      ...{ questions: [], asked: [] },
    },
    report: uploadReport(report),
    importId: isKnown ? importId : null,
  }
}

/** The result with the sheet that was read and what the list begins with. */
export function withFirstRows(checked: UploadResult, first: FirstRows | null): UploadResult {
  if (first === null) return checked
  const result = { ...checked, sheets: first.sheets, sheet: first.sheet }
  const { mapping } = result
  if (mapping === null) return result
  const columns = mapping.columns.map((column) => {
    return { ...column, samples: first.samples[column.index] ?? column.samples }
  })
  return { ...result, mapping: { ...mapping, columns }, preview: first.preview }
}

/** Changes of a kind, and issues of a code, that the page shows. */
const shownChanges = 200
const shownIssues = 10

function uploadReport(report: StockImportReport): UploadReport {
  const { records, accepted, rejected, collapsed, skipped, offStock } = report
  const { added, updated, unchanged, removed, reappeared, figures } = report
  return {
    ...{ records, accepted, rejected, collapsed, skipped, offStock },
    ...{ added, updated, unchanged, removed, reappeared, figures },
    changes: [...Map.groupBy(report.changes, ({ change }) => change).values()].flatMap((of) =>
      of.slice(0, shownChanges),
    ),
    issues: uploadIssues(report),
    warnings: report.warnings.map(({ column, hint }) =>
      plainWords(column === null ? hint : `${column}: ${hint}`),
    ),
    missing: report.missing.map(({ field }) => fieldLabel(field)),
  }
}

function uploadIssues({ issues, issueTotals }: StockImportReport): UploadIssues[] {
  return issueTotals.map(({ severity, code, count }) => {
    const sameIssues = issues.filter((issue) => issue.severity === severity && issue.code === code)
    const first = sameIssues.slice(0, shownIssues).map(({ line, column, text, hint }) => {
      return { line, column, text, hint: plainWords(hint) }
    })
    return { severity, code, count, hint: first[0]?.hint ?? code, first }
  })
}

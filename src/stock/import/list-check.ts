import type { Mapping } from '../csv/map/column-mapping.ts'
import type { Refusal } from '../refusal-kinds.ts'
import type { FirstRows } from './first-rows.ts'
import { issueKind } from './issue-tally.ts'
import type { ImportRequest, StockImportReport } from './request.ts'

/** What was found in a list, as codes, numbers and cells: pages, commands and reports have the words. */
export interface ListCheck extends Pick<ImportRequest, 'mode' | 'only'> {
  /** columns: a person must answer; ready: it can be imported; refused: it cannot; same: it is in the warehouse already. */
  readonly state: 'columns' | 'ready' | 'refused' | 'same'
  /** The newest import of the rooftop before; 0: none. */
  readonly newest: number
  /** Empty while the list could not be opened. */
  readonly encoding: string
  readonly delimiter: string
  /** null: the list could not be opened. */
  readonly mapping: Mapping | null
  readonly first: FirstRows | null
  /** Why it is not imported, the one to show first at the beginning. */
  readonly refusals: readonly Refusal[]
  /** null: it was refused before it was compared with the stock. */
  readonly report: StockImportReport | null
}

/** The check of a list that could not be opened. */
export function closedCheck({ mode, only }: ImportRequest, refusal: Refusal): ListCheck {
  return withState({
    ...{ mode, ...(only && { only }), newest: 0, encoding: '', delimiter: '' },
    ...{ mapping: null, first: null, refusals: [refusal], report: null },
  })
}

/** Adds what follows from the rest. */
export function withState(check: Omit<ListCheck, 'state'>): ListCheck {
  const is = check.refusals.map((refusal) => refusal.is)
  if (is.includes('sheets') || is.includes('columns')) return { ...check, state: 'columns' }
  if (is.some((one) => one === 'unreadable' || one === 'cut' || one === 'nothing-valid'))
    return { ...check, state: 'refused' }
  const isKnown = check.report?.status === 'already-imported'
  return { ...check, state: isKnown ? 'same' : 'ready' }
}

/** Changes of a kind, and issues of a kind, that are stored with a check. */
const storedChanges = 50
const storedIssues = 10

/** A check as it is stored, with the first changes and issues only. */
export function storedCheck(check: ListCheck): ListCheck {
  const { report } = check
  if (report === null) return check
  const changes = firstOfEach(report.changes, ({ change }) => change, storedChanges)
  const issues = firstOfEach(report.issues, issueKind, storedIssues)
  return { ...check, report: { ...report, changes, issues } }
}

function firstOfEach<T>(all: readonly T[], kindOf: (one: T) => string, count: number): T[] {
  return [...Map.groupBy(all, kindOf).values()].flatMap((of) => of.slice(0, count))
}

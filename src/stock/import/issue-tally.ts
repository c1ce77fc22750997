import { copied } from '../../values/text.ts'
import type { CellIssue, Severity } from '../csv/map/typing/typed-row.ts'
import type { IssueTotal, StockImportReport } from './request.ts'

/** How many issues of each code are shown. */
const shown = 100
const longestText = 300
const ranks: readonly Severity[] = ['error', 'warning', 'info']

/** Counts issues by severity and code and holds the first of each, so memory does not grow with the file. */
export class IssueTally {
  readonly #byKind = new Map<string, { count: number; readonly first: CellIssue[] }>()

  add(issues: readonly CellIssue[]): void {
    for (const issue of issues) {
      const known = this.#byKind.get(issueKind(issue))
      if (!known) this.#byKind.set(issueKind(issue), { count: 1, first: [copyIssue(issue)] })
      else {
        known.count += 1
        if (known.first.length < shown) known.first.push(copyIssue(issue))
      }
    }
  }

  /** Adds a number of issues of one kind; only the first were fetched. */
  addMany({
    count,
    first,
  }: {
    readonly count: number
    readonly first: readonly CellIssue[]
  }): void {
    const [issue] = first
    if (!issue) return
    this.add(first)
    this.#byKind.get(issueKind(issue))!.count += count - first.length
  }

  /** Errors first, then by line; `issueCounts` by code, for all severities. */
  report(): Pick<StockImportReport, 'issueCounts' | 'issueTotals' | 'issues'> {
    const kinds = this.#sorted()
    const issueTotals = kinds.map(({ first, count }): IssueTotal => {
      const { severity, code } = first[0]!
      return { severity, code, count }
    })
    const issueCounts: Record<string, number> = {}
    for (const { code, count } of issueTotals) issueCounts[code] = (issueCounts[code] ?? 0) + count
    return { issueCounts, issueTotals, issues: kinds.flatMap(({ first }) => first) }
  }

  #sorted() {
    const rank = (issue: CellIssue) => ranks.indexOf(issue.severity)
    return [...this.#byKind.values()].sort((a, b) => rank(a.first[0]!) - rank(b.first[0]!))
  }
}

/** Issues of one kind are counted together. */
export function issueKind({ severity, code }: Pick<CellIssue, 'severity' | 'code'>): string {
  return `${severity} ${code}`
}

/** A copy of the issue: a substring of a file would hold its whole chunk in memory. */
function copyIssue(issue: CellIssue): CellIssue {
  const short = shortenIssue(issue)
  return { ...short, text: copied(short.text) }
}

/** The issue with a shortened text: the stored row has the whole cell. */
export function shortenIssue(issue: CellIssue): CellIssue {
  const { text } = issue
  if (text.length <= longestText) return issue
  return { ...issue, text: `${text.slice(0, longestText).toWellFormed()}…` }
}

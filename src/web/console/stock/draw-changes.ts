import { issueKind } from '../../../stock/import/issue-tally.ts'
import type { IssueTotal, StockImportReport, UnitChange } from '../../../stock/import/request.ts'
import { plainWords } from '../../../stock/upload/plain-words.ts'
import { type Html, html } from '../../../values/html.ts'
import { plural, shortened } from '../../../values/text.ts'
import { numbers, table } from '../parts/table.ts'
import type { ImportCounts } from './own.ts'
import { unitLink } from './unit-text.ts'

/** The kinds of changes, in the order in which they are shown. */
export const kinds = {
  removed: 'Gone',
  updated: 'Changed',
  added: 'New',
  reappeared: 'Back again',
} as const satisfies Record<UnitChange['change'], string>

/** The numbers, each with a link to what it counts. */
export function countList(counts: ImportCounts): Html {
  const { records, rejected, collapsed, skipped, unchanged } = counts
  const number = (count: number, id: string) =>
    count === 0 ? '0' : html`<a href="#${id}">${count.toLocaleString('en')}</a>`
  return html`<dl class="facts"><dt>Rows of the list</dt><dd>${records.toLocaleString('en')}</dd>
${Object.entries(kinds).map(([kind, name]) => html`<dt>${name}</dt><dd>${number(counts[kind as keyof typeof kinds], kind)}</dd>`)}
<dt>Unchanged</dt><dd>${unchanged.toLocaleString('en')}</dd>
<dt>Rejected</dt><dd>${number(rejected, 'rejected')}</dd>
${collapsed > 0 && html`<dt>Repeated rows</dt><dd>${collapsed.toLocaleString('en')}</dd>`}
${skipped > 0 && html`<dt>Rows without a car in stock</dt><dd>${skipped.toLocaleString('en')}</dd>`}</dl>`
}

/** The first changes of each kind. */
export function changeSections(
  counts: ImportCounts,
  changes: readonly UnitChange[],
  uid: string,
): Html {
  return html`${Object.entries(kinds).map(([kind, name]) => {
    const sameChanges = changes.filter(({ change }) => change === kind)
    const count = counts[kind as keyof typeof kinds]
    if (count === 0) return false
    const isPlain = sameChanges.every((one) => Object.keys(one.changes).length === 0)
    return html`<h2 id="${kind}">${name}: ${plural(count, 'car')}</h2>
${
  isPlain
    ? html`<p>${sameChanges.map((one) => html`${carLink(one, uid)} `)}</p>`
    : table({
        caption: `${name}: old and new`,
        hidesCaption: true,
        columns: ['Stock no.', 'What', 'Old', 'New'],
        rows: sameChanges.flatMap((one) => changeCells(one, uid)),
        empty: '',
      })
}
${count > sameChanges.length && html`<p class="note">And ${(count - sameChanges.length).toLocaleString('en')} more.</p>`}`
  })}`
}

function changeCells(one: UnitChange, uid: string) {
  const entries = Object.entries(one.changes)
  const first = carLink(one, uid)
  if (entries.length === 0) return [[first, '', '', '']]
  return entries.map(([column, [old, now]], at) => [
    at === 0 ? first : html`<span class="hidden">${one.stockNo}</span>`,
    `${column.replaceAll('_', ' ')}${one.change === 'added' ? ' (the number belonged to another car)' : ''}`,
    valueText(old),
    valueText(now),
  ])
}

/** A car that is only in the list has no page yet. */
function carLink({ stockNo, change }: UnitChange, uid: string) {
  return change === 'added' ? stockNo : unitLink({ uid, stockNo })
}

/** A value of a change. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return shortened(text, 80)
}

/** The issues of one kind. */
export interface IssueKind extends IssueTotal {
  /** In words; of the first. */
  readonly hint: string
  readonly first: readonly Pick<StockImportReport['issues'][number], 'line' | 'column' | 'text'>[]
}

/** The issues of a check by kind. */
export function issueKinds({ issues, issueTotals }: StockImportReport): IssueKind[] {
  const byKind = Map.groupBy(issues, issueKind)
  return issueTotals.map((total) => {
    const first = byKind.get(issueKind(total)) ?? []
    return { ...total, hint: plainWords(first[0]?.hint ?? total.code), first }
  })
}

/** Issues by kind, with the first of them. */
export function issueTable(issues: readonly IssueKind[], caption: string): Html {
  return table({
    caption,
    hidesCaption: true,
    columns: ['What is wrong, and what to do', numbers('How many'), 'The first'],
    rows: issues.map(({ hint, count, first }) => [
      hint,
      count.toLocaleString('en'),
      html`<ul class="cells">${first.map(({ line, column, text }) => html`<li>${[line === null ? '' : `line ${line}`, column ?? '', text === '' ? '' : `“${text.slice(0, 60)}”`].filter((part) => part !== '').join(', ')}</li>`)}</ul>`,
    ]),
    empty: 'Nothing.',
  })
}

import type { ListPreview } from '../../../stock/import/first-rows.ts'
import type { ColumnFigures } from '../../../stock/import/request.ts'
import { plainField, plainIssue } from '../../../stock/upload/plain-words.ts'
import { type Html, html } from '../../../values/html.ts'
import { badge } from '../parts/badge.ts'
import { numbers, table } from '../parts/table.ts'

/** The first rows of a list as they would be typed. */
export function previewTable({ columns, rows }: ListPreview, caption: string): Html {
  return html`<h2>The first rows, as they would be read</h2>
${table({
  isWide: true,
  caption,
  columns: ['Line', ...columns.map(plainField), 'Note'],
  rows: rows.map(({ line, cells, notes }) => [
    line,
    ...(cells.length > 0 ? cells : columns.map(() => '')),
    html`${cells.length === 0 && badge('not read', 'warn')}<ul class="cells">${notes.map((note) => html`<li>${plainIssue(note)}</li>`)}</ul>`,
  ]),
  empty: 'The list has no rows.',
})}`
}

const names = {
  model_year: 'Year',
  odometer_km: 'Odometer in km',
  asking_price: 'Asking price',
  cost: 'Cost',
} as const satisfies Record<ColumnFigures['column'], string>

/** What the number columns of a list hold, beside the stock that it is checked against. */
export function figuresTable(figures: readonly ColumnFigures[]): Html | false {
  if (figures.length === 0) return false
  return html`<h2>What its numbers are</h2>
${table({
  caption: 'Each number column of this list, beside the stock now',
  columns: [
    ...['Column', 'Of', ...['Lowest', 'Median', 'Highest', 'Empty'].map((head) => numbers(head))],
  ],
  rows: figures.flatMap(({ column, currency, list, stock }) => {
    const name = currency === null ? names[column] : `${names[column]} in ${currency}`
    const cells = ({ minimum, median, maximum, empty, cars }: ColumnFigures['list']) => [
      ...[minimum, median, maximum].map((value) => numberText(column, value)),
      empty === 0 ? '0' : `${empty.toLocaleString('en')} of ${cars.toLocaleString('en')}`,
    ]
    const first = [name, 'this list', ...cells(list)]
    if (stock === null) return [first]
    return [first, [html`<span class="hidden">${name}</span>`, 'the stock now', ...cells(stock)]]
  }),
  empty: '',
})}`
}

function numberText(column: ColumnFigures['column'], value: number | null): string {
  if (value === null) return 'none'
  return column === 'model_year' ? String(value) : value.toLocaleString('en')
}

import { type Html, html } from '../../../values/html.ts'
import { storable } from '../../../values/text.ts'
import { ActionRefused, type ActionRequest } from '../page.ts'
import { badge } from '../parts/badge.ts'
import { link } from '../parts/link.ts'
import { table } from '../parts/table.ts'
import {
  type ImportColumn,
  type RejectedRow,
  readImportColumns,
  readRejected,
} from './read-import.ts'

/** The rejected rows of an import that are shown, and its columns. */
export interface RejectedRows {
  readonly columns: readonly ImportColumn[]
  readonly rejected: readonly RejectedRow[]
}

/** Rejected rows with a field for each cell that can be wrong. */
export function correctionForm(
  path: string,
  { columns, rejected }: RejectedRows,
  mayCorrect: boolean,
): Html {
  const isOpen = mayCorrect && rejected.some(({ isAccepted }) => !isAccepted)
  const rows = table({
    caption: 'The rejected rows of this page',
    hidesCaption: true,
    isFewOnPhone: true,
    columns: ['Line', 'What is wrong', 'Cells'],
    rows: rejected.map((row) => [
      html`<span id="line-${row.line}">${row.line}</span>`,
      html`<ul class="cells">${rowErrors(row).map(({ column, hint }) => html`<li>${column !== null && html`<strong>${column}</strong>: `}${hint}</li>`)}</ul>`,
      drawCells(row, columns, isOpen),
    ]),
    empty: 'There are no more rejected rows.',
  })
  if (!isOpen) return rows
  return html`<form method="post" action="/console${path}"><input type="hidden" name="action" value="correct">
${rows}
<p><button class="main">Import the corrected rows</button> Rows that you do not change stay as they are.</p></form>`
}

function rowErrors({ issues }: RejectedRow) {
  return issues.filter(({ severity }) => severity === 'error')
}

function drawCells(row: RejectedRow, columns: readonly ImportColumn[], isOpen: boolean): Html {
  const { correctedBy, isAccepted } = row
  const by = correctedBy !== null && link(`import ${correctedBy}`, `/stock/imports/${correctedBy}`)
  if (isAccepted) return html`${badge('corrected', 'ok')} by ${by}`
  const wrong = columns.filter((column) => isWrong(row, column))
  const others = columns.filter((column) => !wrong.includes(column) && column.field !== null)
  const draw = (column: ImportColumn) =>
    isOpen
      ? cellField(row, column, wrong.includes(column))
      : html`<p>${columnName(column)}: ${row.cells[column.index] ?? ''}</p>`
  return html`${by !== false && html`<p>${badge('rejected again', 'warn')} in ${by}</p>`}${wrong.map(draw)}
${others.length > 0 && html`<details><summary>Other cells</summary>${others.map(draw)}</details>`}`
}

/** Whether an error is about the cell, or about the row as a whole, where any cell may be wrong. */
function isWrong(row: RejectedRow, column: ImportColumn): boolean {
  const errors = rowErrors(row)
  return errors.some(
    (error) => error.column === null || error.column.trim() === columnName(column).trim(),
  )
}

function columnName({ header, index }: ImportColumn): string {
  return header === null || header.trim() === '' ? `#${index + 1}` : header
}

function cellField({ line, cells }: RejectedRow, column: ImportColumn, isInvalid: boolean): Html {
  const text = cells[column.index] ?? ''
  const names = html`name="cell-${line}-${column.index}"`
  const about = html`aria-label="${columnName(column)}, line ${line}"${isInvalid && html` aria-invalid="true"`}`
  // An input loses line breaks. A text area loses one that it begins with.
  const field = /[\r\n]/.test(text)
    ? html`<textarea ${names} rows="3" ${about}>
${text}</textarea>`
    : html`<input ${names} value="${text}" ${about}>`
  return html`<p><label>${columnName(column)} ${field}</label></p>`
}

/** Line breaks as one character: a form sends each as two. */
function withPlainBreaks(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n')
}

/** What a person changed in the rejected rows: by line and index of the column. ActionRefused: nothing. */
export async function readCorrections(
  { db, form }: ActionRequest,
  importId: number,
): Promise<Map<number, Map<number, string>>> {
  const typed = new Map<number, Map<number, string>>()
  for (const [name, text] of Object.entries(form)) {
    const [, line, index] = /^cell-(\d{1,9})-(\d{1,4})$/.exec(name) ?? []
    if (line === undefined || index === undefined) continue
    const cells = typed.get(Number(line)) ?? new Map<number, string>()
    typed.set(Number(line), cells.set(Number(index), withPlainBreaks(text)))
  }
  const { columns } = await readImportColumns(db, importId)
  const stored = await readRejected(db, importId, columns.length, {
    ...{ after: 0, lines: [...typed.keys()] },
  })
  const changed = stored.flatMap(({ line, cells, isAccepted }) => {
    const corrections = [...typed.get(line)!].filter(
      ([index, text]) =>
        index < columns.length && text !== withPlainBreaks(storable(cells[index] ?? '')),
    )
    return corrections.length === 0 || isAccepted ? [] : [[line, new Map(corrections)] as const]
  })
  if (changed.length > 0) return new Map(changed)
  throw new ActionRefused(
    'No cell was changed: correct what is wrong in the rows, then import them.',
  )
}

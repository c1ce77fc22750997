import { type Content, html, type Html } from '../../values/html.ts'

/** A column: its heading; numbers are aligned to the right, and a picture takes the width that is left. */
export type Column =
  | string
  | { readonly head: Content; readonly isNumber: true }
  | { readonly head: Content; readonly isPicture: true }

/** A table. Its caption says what its rows are. */
export interface TableOptions {
  readonly caption: Content
  /** The caption is for screen readers alone, because a heading above says the same. */
  readonly hidesCaption?: boolean
  /** No word is broken, and it is scrolled by itself where it is too wide. Default: where it has more than six columns. */
  readonly isWide?: boolean
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly Content[])[]
  /** The text instead of a table without rows: why it is empty, and what to do. */
  readonly empty: Content
}

/** A column of numbers. */
export function numbers(head: Content): Column {
  return { head, isNumber: true }
}

/** A column of pictures. */
export function pictures(head: Content): Column {
  return { head, isPicture: true }
}

/** More columns than this break words on a screen of 768 pixels. */
const mostNarrow = 6

/** A table whose rows become cards on a narrow screen. The first cell of a row is its heading. */
export function table(options: TableOptions): Html {
  if (options.rows.length === 0) return html`<p class="empty">${options.empty}</p>`
  if (!(options.isWide ?? options.columns.length > mostNarrow)) return tableOf(options)
  return html`<div class="scroll wide" role="group" tabindex="0" aria-label="${options.caption}">${tableOf(options)}</div>`
}

function tableOf({ caption, hidesCaption, columns, rows }: TableOptions): Html {
  // With display: block, browsers forget that it is a table: the roles keep it one.
  return html`<table role="table"><caption${hidesCaption === true ? html` class="hidden"` : ''}>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => heading(column))}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells.map((cell, at) => cellOf(columns[at]!, cell, at))}</tr>\n`)}</tbody></table>`
}

function heading(column: Column): Html {
  if (typeof column === 'string')
    return html`<th role="columnheader" scope="col">${column === '' ? html`<span class="hidden">Do</span>` : column}</th>`
  const kind = 'isNumber' in column ? 'n' : 'picture'
  return html`<th role="columnheader" scope="col" class="${kind}">${column.head}</th>`
}

function cellOf(column: Column, cell: Content, at: number): Html {
  if (typeof column !== 'string' && 'isPicture' in column)
    return html`<td role="cell" class="picture">${cell}</td>`
  const [label, number] =
    typeof column === 'string' ? [column, ''] : [column.head, html` class="n"`]
  const narrow = label === '' ? '' : html`<span class="label" aria-hidden="true">${label}</span>`
  if (at === 0) return html`<th role="rowheader" scope="row"${number}>${cell}</th>`
  return html`<td role="cell"${number}>${narrow}${cell}</td>`
}

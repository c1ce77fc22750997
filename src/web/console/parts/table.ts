import { type Content, type Html, html } from '../../../values/html.ts'

/** A column: its heading; numbers are aligned to the right, and a picture takes the width that is left. */
export type Column =
  | string
  | { readonly head: Content; readonly isNumber: true }
  | { readonly head: Content; readonly isPicture: true }

/** A table. Its caption says what its rows are. */
interface TableOptions {
  readonly caption: Content
  /** The caption is for screen readers alone, because a heading above says the same. */
  readonly hidesCaption?: boolean
  /** No word is broken, and it is scrolled by itself where it is too wide. Default: where it has more than six columns. */
  readonly isWide?: boolean
  /** The headings that a card of a narrow screen shows before it is unfolded. Default: all of a table with up to five columns, else the first
   *  one and three numbers. Buttons are always shown. */
  readonly onPhone?: readonly string[]
  /** Its cards are high, or its page has several lists: a narrow screen shows 3 before all are wanted. */
  readonly isFewOnPhone?: true
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
const maxNarrow = 6

/** Cards of more columns are folded on a narrow screen. */
const maxOnCard = 5
/** What a narrow screen shows before all is wanted: cards, and the charts and cards of a short list. The style sheet has the same numbers. */
const first = { long: 8, short: 3 }

/** A table whose rows become cards on a narrow screen, where a card is unfolded by a box of its own, and the cards after the first by one below
 *  them; neither needs script. The first cell of a row is its heading. */
export function table(options: TableOptions): Html {
  const { rows, columns, caption } = options
  if (rows.length === 0) return html`<p class="empty">${options.empty}</p>`
  const isWide = options.isWide ?? columns.length > maxNarrow
  const drawn = isWide
    ? html`<div class="scroll wide" role="group" tabindex="0" aria-label="${caption}">${drawTable(options)}</div>`
    : drawTable(options)
  return foldRest(drawn, rows.length, { list: options.isFewOnPhone === true ? 'short' : 'long' })
}

/** Charts side by side; a narrow screen shows the first ones, and the others by a box below them. */
export function chartGrid(charts: readonly Html[]): Html {
  return foldRest(html`<div class="charts">${charts}</div>`, charts.length, {
    ...{ list: 'short', noun: ' charts' },
  })
}

interface FoldOptions {
  readonly list: keyof typeof first
  readonly noun?: string
}

function foldRest(drawn: Html, count: number, { list, noun = '' }: FoldOptions): Html {
  if (count <= first[list]) return drawn
  return html`<div class="${list}">${drawn}<label class="unfold"><input type="checkbox"> Show all ${count.toLocaleString('en')}${noun}</label></div>`
}

/** The columns that a folded card does not show, by index. */
function foldedColumns({ columns, onPhone }: TableOptions): ReadonlySet<number> {
  if (onPhone === undefined && columns.length <= maxOnCard) return new Set()
  const heads = columns.map((column) => (typeof column === 'string' ? column : column.head))
  const figures = columns.flatMap((column, at) => (isNumberColumn(column) && at > 0 ? [at] : []))
  const usual = new Set([1, ...figures.slice(0, 3)])
  const isShown = (at: number) =>
    at === 0 ||
    heads[at] === '' ||
    (onPhone === undefined ? usual.has(at) : onPhone.some((head) => head === heads[at]))
  return new Set(columns.keys().filter((at) => !isShown(at)))
}

function isEmpty(cell: Content): boolean {
  return html`${cell}`.text.trim() === ''
}

function isNumberColumn(column: Column): boolean {
  return typeof column !== 'string' && 'isNumber' in column
}

function drawTable(options: TableOptions): Html {
  const { caption, hidesCaption, columns, rows } = options
  const folded = foldedColumns(options)
  const draw = (cells: readonly Content[]) =>
    cells.map((cell, at) => drawCell(columns[at]!, cell, { at, folded }))
  // With display: block, browsers forget that it is a table: the roles keep it one.
  return html`<table role="table"><caption${hidesCaption === true ? html` class="hidden"` : ''}>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => heading(column))}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${draw(cells)}</tr>\n`)}</tbody></table>`
}

function heading(column: Column): Html {
  if (typeof column === 'string')
    return html`<th role="columnheader" scope="col">${column === '' ? html`<span class="hidden">Do</span>` : column}</th>`
  const kind = 'isNumber' in column ? 'n' : 'picture'
  return html`<th role="columnheader" scope="col" class="${kind}">${column.head}</th>`
}

const unfold = html`<label class="unfold"><input type="checkbox"> more</label>`

function drawCell(
  column: Column,
  cell: Content,
  { at, folded }: { readonly at: number; readonly folded: ReadonlySet<number> },
): Html {
  const isPicture = typeof column !== 'string' && 'isPicture' in column
  const names = [
    ...(isPicture ? ['picture'] : isNumberColumn(column) ? ['n'] : []),
    ...(folded.has(at) ? ['fold'] : []),
    ...(isEmpty(cell) ? ['none'] : []),
  ]
  const kind = names.length === 0 ? '' : html` class="${names.join(' ')}"`
  if (at === 0)
    return html`<th role="rowheader" scope="row"${kind}>${cell}${folded.size > 0 && unfold}</th>`
  const label = typeof column === 'string' ? column : column.head
  const narrow =
    label === '' || isPicture ? '' : html`<span class="label" aria-hidden="true">${label}</span>`
  return html`<td role="cell"${kind}>${narrow}${cell}</td>`
}

/** The kind of text in a cell, independent of its meaning. */
export type CellKind = 'empty' | 'number' | 'date' | 'time' | 'url' | 'code' | 'word' | 'text'

const number =
  /^[-+(]?(?:\p{Sc}|[A-Za-z]{1,3}\.?)?\s?\d[\d.,'٫٬\s]*(?:\s?(?:%|km|mi|[A-Za-z]{3}|\p{Sc}))?\)?$/u
const date = /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}.*)?$/
const time = /^\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?$/i
const url = /^(?:https?:\/\/|www\.)\S+$/i

/** The kind of a cell. Digits of Arabic script count as digits. */
export function cellKind(cell: string): CellKind {
  const text = cell.trim()
  if (text === '') return 'empty'
  if (text.length > 40) return url.test(text) ? 'url' : 'text'
  const western = text.replace(/[\u0660-\u0669\u06f0-\u06f9]/g, '0')
  if (!/\d/.test(western))
    return url.test(text) ? 'url' : text.split(/\s+/).length <= 3 ? 'word' : 'text'
  if (date.test(western)) return 'date'
  if (time.test(western)) return 'time'
  if (number.test(western)) return 'number'
  if (url.test(text)) return 'url'
  return /\s/.test(text) ? 'text' : 'code'
}

/** Kinds that are typical for values and never for column names. */
export const typedKinds: ReadonlySet<CellKind> = new Set(['number', 'date', 'time', 'url'])

/** How often each kind of cell occurs in each column of the complete records. */
export interface KindCounts {
  readonly rows: number
  readonly columns: readonly ReadonlyMap<CellKind, number>[]
}

/** Counts the kinds of cells by column, for rows of exactly `width` cells. */
export function countKinds(rows: readonly (readonly string[])[], width: number): KindCounts {
  const whole = rows.filter((cells) => cells.length === width)
  const columns = Array.from({ length: width }, (_, column) => {
    const kinds = new Map<CellKind, number>()
    for (const cells of whole) {
      const kind = cellKind(cells[column] ?? '')
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
    return kinds
  })
  return { rows: whole.length, columns }
}

/** Whether each cell's kind occurs in its column; words and other text count as one kind. */
export function hasKnownKinds(cells: readonly string[], { rows, columns }: KindCounts): boolean {
  if (rows < 5 || cells.length !== columns.length) return false
  return columns.every((kinds, column) => {
    const kind = cellKind(cells[column] ?? '')
    return (
      kinds.has(kind) || (textKinds.has(kind) && [...textKinds].some((other) => kinds.has(other)))
    )
  })
}

const textKinds: ReadonlySet<CellKind> = new Set(['word', 'text', 'code'])

/** How well a cell fits a column, as a log-likelihood; -Infinity: of a kind that the column never has. */
export function cellFit(cell: string, column: number, { rows, columns }: KindCounts): number {
  return Math.log((columns[column]!.get(cellKind(cell)) ?? 0) / rows)
}

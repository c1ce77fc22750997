import { type CellKind, cellKindOf } from './cell-kind.ts'

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
      const kind = cellKindOf(cells[column] ?? '')
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
    const kind = cellKindOf(cells[column] ?? '')
    return (
      kinds.has(kind) || (textKinds.has(kind) && [...textKinds].some((other) => kinds.has(other)))
    )
  })
}

const textKinds: ReadonlySet<CellKind> = new Set(['word', 'text', 'code'])

/** How well the cells fit the columns, as a log-likelihood. null: too few rows, or a kind that its column
 *  never has. */
export function logLikelihood(
  cells: readonly string[],
  { rows, columns }: KindCounts,
): number | null {
  if (rows < 5 || cells.length !== columns.length) return null
  let fit = 0
  for (const [column, kinds] of columns.entries()) {
    const seen = kinds.get(cellKindOf(cells[column] ?? ''))
    if (seen === undefined) return null
    fit += Math.log(seen / rows)
  }
  return fit
}

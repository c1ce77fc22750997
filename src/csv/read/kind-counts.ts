import { type CellKind, cellKindOf } from './cell-kind.ts'

/** How often each kind of cell stands in each column of the records that are whole. */
export interface KindCounts {
  readonly rows: number
  readonly columns: readonly ReadonlyMap<CellKind, number>[]
}

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

/** Whether each cell is of a kind that its column has held before, words and other text being one. */
export function hasKnownKinds(cells: readonly string[], { rows, columns }: KindCounts): boolean {
  if (rows < 5 || cells.length !== columns.length) return false
  return columns.every((kinds, column) => {
    const kind = cellKindOf(cells[column] ?? '')
    return kinds.has(kind) || (wordy.has(kind) && [...wordy].some((other) => kinds.has(other)))
  })
}

const wordy: ReadonlySet<CellKind> = new Set(['word', 'text', 'code'])

/** How well cells keep to the columns: the logarithm of a likelihood. null: too few rows to tell, or a kind that its column
 *  has never held. */
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

import { type Kind, kindOf } from './kinds.ts'

/** How often each kind of cell stands in each column of the records that are whole. */
export interface ColumnProfile {
  readonly rows: number
  readonly columns: readonly ReadonlyMap<Kind, number>[]
}

export function profileOf(rows: readonly (readonly string[])[], width: number): ColumnProfile {
  const whole = rows.filter((cells) => cells.length === width)
  const columns = Array.from({ length: width }, (_, column) => {
    const kinds = new Map<Kind, number>()
    for (const cells of whole) {
      const kind = kindOf(cells[column] ?? '')
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
    return kinds
  })
  return { rows: whole.length, columns }
}

/** Whether each cell is of a kind that its column has held before, words and other text being one. */
export function couldBe(cells: readonly string[], { rows, columns }: ColumnProfile): boolean {
  if (rows < 5 || cells.length !== columns.length) return false
  return columns.every((kinds, column) => {
    const kind = kindOf(cells[column] ?? '')
    return kinds.has(kind) || (wordy.has(kind) && [...wordy].some((other) => kinds.has(other)))
  })
}

const wordy: ReadonlySet<Kind> = new Set(['word', 'text', 'code'])

/** How well cells keep to the columns: the logarithm of a likelihood. null: too few rows to tell, or a kind that its column
 *  has never held. */
export function fitOf(cells: readonly string[], { rows, columns }: ColumnProfile): number | null {
  if (rows < 5 || cells.length !== columns.length) return null
  let fit = 0
  for (const [column, kinds] of columns.entries()) {
    const seen = kinds.get(kindOf(cells[column] ?? ''))
    if (seen === undefined) return null
    fit += Math.log(seen / rows)
  }
  return fit
}

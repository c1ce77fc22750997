import type { Mapping } from '../column-mapping.ts'
import type { Field } from '../stock-fields.ts'
import { readAmount } from './money.ts'
import { digitsIn, thousands } from './number.ts'
import { readDistance } from './odometer.ts'
import { plainText } from './plain-text.ts'

/** Fields whose cells are texts, also where all of them are digits. */
const textFields: ReadonlySet<Field | null> = new Set<Field>([
  ...(['stock_number', 'vin', 'plate', 'make', 'model', 'variant', 'series'] as const),
  ...(['title_combined', 'adcode', 'nvic', 'redbook_code', 'engine_number', 'notes'] as const),
])
/** Totals of more groups than these are compared with the groups above them joined. */
const maxGroups = 200

/** The numbers of one column in one group of rows. */
interface Sums {
  count: number
  sum: number
  min: number
  max: number
}

interface Group {
  rows: number
  readonly columns: Sums[]
}

/**
 * The numbers of the vehicles above a row, in the groups that titles and totals divide: is a number of that row their sum, minimum,
 * maximum, average or count?
 */
export class NumbersAbove {
  readonly #columns: readonly number[]
  readonly #groups: Group[] = []

  constructor({ columns }: Mapping) {
    this.#columns = columns.filter(({ field }) => !textFields.has(field)).map(({ index }) => index)
    this.endGroup()
  }

  /** Adds the row of a vehicle. */
  add(cells: readonly string[]): void {
    const { columns } = this.#add()
    for (const [at, index] of this.#columns.entries()) {
      const number = numberIn(cells[index] ?? '')
      if (number === null) continue
      const sums = columns[at]!
      sums.count += 1
      sums.sum += number
      if (number < sums.min) sums.min = number
      if (number > sums.max) sums.max = number
    }
  }

  #add(): Group {
    const group = this.#groups.at(-1)!
    group.rows += 1
    return group
  }

  /** A title or a total ends a group. */
  endGroup(): void {
    if (this.#groups.at(-1)?.rows === 0) return
    const none = () => ({ count: 0, sum: 0, min: Infinity, max: -Infinity })
    this.#groups.push({ rows: 0, columns: this.#columns.map(none) })
    if (this.#groups.length > maxGroups) this.#groups.splice(0, 2, joined(this.#groups))
  }

  /** Whether it is the number of rows since some title or total. */
  isCount(text: string): boolean {
    const number = numberIn(text)
    let rows = 0
    for (const group of this.#groups.toReversed()) {
      rows += group.rows
      if (rows > 0 && rows === number) return true
    }
    return false
  }

  /**
   * What the numbers of a row are. `sums`: each is calculated from those above, and one of them is the sum of two or more. `others`: each is
   * calculated, but may be so by chance. null: one is not, or there is none. `anywhere`: a number may belong to any column.
   */
  compare(cells: readonly string[], anywhere = false): 'sums' | 'others' | null {
    let found: 'sums' | 'others' | null = null
    for (const [index, cell] of cells.entries()) {
      const number = numberIn(cell)
      if (number === null) continue
      const at = this.#columns.indexOf(index)
      const places = anywhere ? this.#columns.keys() : at < 0 ? [] : [at]
      const kinds = [...places].map((place) => this.#kindOf(number, place))
      if (kinds.includes('sum')) found = 'sums'
      else if (kinds.includes('other') || this.isCount(cell)) found ??= 'others'
      else return null
    }
    return found
  }

  #kindOf(number: number, at: number): 'sum' | 'other' | null {
    let all: Sums = { count: 0, sum: 0, min: Infinity, max: -Infinity }
    for (const { columns } of this.#groups.toReversed()) {
      all = added(all, columns[at]!)
      const { count, sum, min, max } = all
      if (count === 0) continue
      // The cells may be shown rounded, and their sum is not that of the rounded ones.
      const rounding = Math.min(count / 2, Math.abs(sum) / 1000) + 0.01
      if (count > 1 && sum !== max && Math.abs(number - sum) <= rounding) return 'sum'
      if (number === min || number === max || number === count) return 'other'
      if (Math.abs(number - sum / count) <= (Number.isInteger(number) ? 0.51 : 0.06)) return 'other'
    }
    return null
  }
}

function added(one: Sums, other: Sums): Sums {
  return {
    count: one.count + other.count,
    sum: one.sum + other.sum,
    min: Math.min(one.min, other.min),
    max: Math.max(one.max, other.max),
  }
}

function joined([first, second]: readonly Group[]): Group {
  const columns = first!.columns.map((sums, at) => added(sums, second!.columns[at]!))
  return { rows: first!.rows + second!.rows, columns }
}

const plainNumber = /^-?\d{1,12}(?:\.\d{1,2})?$/

/** The number of a cell in any style; null for none. */
export function numberIn(cell: string): number | null {
  if (cell === '' || cell.length > 30) return null
  if (plainNumber.test(cell)) return Number(cell)
  if (!/\p{Nd}/u.test(cell)) return null
  const text = plainText(cell)
  const amount = readAmount(text) ?? readDistance(text)
  if (!amount) return null
  const { whole, fraction } = digitsIn(thousands, amount.reading)
  const number = Number(`${whole}.${fraction || '0'}`) * (amount.isThousands ? 1000 : 1)
  return amount.isNegative ? -number : number
}

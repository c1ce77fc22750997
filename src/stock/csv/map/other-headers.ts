import { type CsvFile, type CsvProblem, type CsvRecord, withBatches } from '../read/csv-file.ts'
import { hasKnownNames } from '../read/layout.ts'
import { findMeanings, isKnownHeader } from './aliases.ts'
import { headerKey } from './header-name.ts'
import type { Field } from './stock-fields.ts'

/**
 * The same file with further headers marked as such, and with the rows below one of other columns marked: their cells are in other places
 * than those of the list, as those of a second table with price and odometer exchanged.
 */
export function withOtherHeaders<File extends CsvFile>(csv: File): File {
  return csv.header === null ? csv : withBatches(csv, marked(csv, csv.header.names))
}

async function* marked(
  { batches }: CsvFile,
  names: readonly string[],
): AsyncGenerator<readonly CsvRecord[]> {
  let line: number | null = null
  let left = maxChecked
  const below = (record: CsvRecord) => (line === null ? record : { ...record, belowHeader: line })
  for await (const batch of batches)
    yield batch.map((record) => {
      const { cells, problem } = record
      if (problem?.code === 'repeated-header') line = null
      else if (left > 0 && mayBeNames(cells)) {
        left -= 1
        if (!hasKnownNames(cells, isKnownHeader)) return below(record)
        const isOther = hasOtherColumns(cells, names)
        line = isOther ? record.line : null
        return { ...record, problem: isOther ? otherHeader : sameHeader }
      }
      return below(record)
    })
}

const header = { code: 'repeated-header', repaired: false } as const
const sameHeader: CsvProblem = { ...header, message: 'a repeated header' }
const otherHeader: CsvProblem = { ...header, message: 'a header with other columns' }

/** Rows without a number that are compared with known names: a list of vehicles has few, and comparing takes its time. */
const maxChecked = 2_000
const longestName = 80

/** Whether it may be a row of names: short texts without a number. */
function mayBeNames(cells: readonly string[]): boolean {
  if (cells.length < 3 || cells.every((cell) => cell === '')) return false
  return cells.every((cell) => cell.length <= longestName && !/\p{Nd}/u.test(cell))
}

/** A name that means a field with less confidence than this may mean another one. */
const certainName = 0.8

/** Where one of these is in another place, a row would be stored wrong. */
const vital: readonly Field[] = [
  ...(['stock_number', 'vin', 'model_year', 'odometer', 'price_asking', 'cost'] as const),
]

/** Whether a name means another field than the name of the list over the same column, where the list has a vital one. */
function hasOtherColumns(cells: readonly string[], names: readonly string[]): boolean {
  return names.some((name, index) => {
    const cell = cells[index] ?? ''
    if (cell.trim() === '' || headerKey(cell) === headerKey(name)) return false
    const [one, other] = [findMeanings(name), findMeanings(cell)]
    const both = [one[0], other[0]].filter((meaning) => meaning !== undefined)
    const isCertain = both.every(({ confidence }) => confidence >= certainName)
    const isSame = one.some(({ field }) => other.some((meaning) => meaning.field === field))
    return both.length === 2 && isCertain && !isSame && vital.includes(both[0]!.field)
  })
}

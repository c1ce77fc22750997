import type { TypedRow } from '../../csv/map/typing/typed-row.ts'
import type { CsvRecord } from '../../csv/read/csv-file.ts'
import type { SearchTerms } from '../../erasure/search-terms.ts'
import { redactJson, redactText } from '../../erasure/redact.ts'

/** Removes erased customers from a list, as an erasure does: from every stored cell, and from the unit's fields that do not
 *  describe the vehicle. A stock number that equals a phone number stays. */
export interface RowRedaction {
  readonly redactRecord: (record: CsvRecord) => CsvRecord
  readonly redactRow: (row: TypedRow) => TypedRow
  readonly redactJson: <T>(value: T) => T
}

/** `erased` null: no one was erased, and nothing is changed. */
export function rowRedaction(erased: SearchTerms | null): RowRedaction {
  const asIs = <T>(value: T): T => value
  if (erased === null) return { redactRecord: asIs, redactRow: asIs, redactJson: asIs }
  const json = <T>(value: T) => redactJson(value, erased) as T
  const clean = (cell: string) => (mayNameSomebody(cell) ? redactText(cell, erased) : cell)
  return {
    redactRecord: (record) => {
      const cells = record.cells.map(clean)
      const isSame = cells.every((cell, index) => cell === record.cells[index])
      return isSame ? record : { ...record, cells }
    },
    redactRow: (row) => {
      const { unit, issues } = row
      if (unit === null) return issues.length === 0 ? row : { ...row, issues: json(issues) }
      const { adcode, plate, extras } = unit
      return {
        ...row,
        issues: json(issues),
        unit: { ...unit, ...json({ adcode, plate, extras }) },
      }
    },
    redactJson: json,
  }
}

/** A cheap test for an e-mail or seven digits, which most cells fail. */
function mayNameSomebody(cell: string): boolean {
  return /@|%40|(?:\d[^\d]{0,4}){7}/.test(cell)
}

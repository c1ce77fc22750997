import type { CsvProblem } from '../../read/csv-file.ts'
import type { CellIssue } from './issue.ts'

/** A row of `core.stock_unit`; the names are its columns. */
export interface StockRow {
  /** The VIN where the file names no stock number. */
  readonly stock_no: string
  readonly vin: string | null
  readonly adcode: string | null
  readonly plate: string | null
  readonly make: string | null
  readonly model: string | null
  readonly variant: string | null
  readonly model_year: number | null
  readonly odometer_km: number | null
  /** Decimal text as `numeric(15,3)` writes it. */
  readonly asking_price: string | null
  readonly cost: string | null
  readonly currency_code: string
  /** `YYYY-MM-DD` */
  readonly acquired_on: string | null
  /** POA, negotiable: for sale without a price. */
  readonly price_on_application: boolean
  /** Mapped cells without a column of their own, by field: text as in the file. */
  readonly extras: Readonly<Record<string, string>>
}

/** The parts of a row while it is typed. */
export type StockDraft = { -readonly [Key in keyof StockRow]: StockRow[Key] } & {
  extras: Record<string, string>
}

/** A record after typing: the unit, or why there is none. */
export interface TypedRow {
  /** `skipped`: not a vehicle (blank, total, title, repeated header), or one that has left; not an error. */
  readonly status: 'accepted' | 'rejected' | 'skipped'
  /** Null unless accepted. */
  readonly unit: StockRow | null
  /** The row's keys, also when it is rejected: a vehicle with a broken row is still in stock. */
  readonly key: { readonly stockNo: string | null; readonly vin: string | null }
  readonly issues: readonly CellIssue[]
  /** Skipped because the status marks the vehicle as sold: it is off stock. */
  readonly hasLeft?: boolean
}

/** The parts of a record that typing needs. */
export interface TypableRecord {
  readonly line: number
  readonly cells: readonly string[]
  readonly problem?: CsvProblem
}

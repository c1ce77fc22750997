import type { CsvRecord } from '../../read/csv-file.ts'

/**
 * `error`: the value is unusable and the row is rejected. `warning`: the row is accepted, the value is
 * uncertain or left out. `info`: nothing to correct.
 */
export type Severity = 'error' | 'warning' | 'info'

/** The codes of issues. Rejects files and the warehouse have them, so they never change. */
type IssueCode =
  | 'primary-key'
  | 'type-error'
  | 'TOTALS_ROW'
  | 'constraint-error'
  | 'STOCK_LOOKS_LIKE_DATE'
  | 'STOCK_LOOKS_LIKE_NUMBER'
  | 'SCI_NOTATION'
  | 'DIGITS_LOST'
  | 'EXCEL_ERROR'
  | 'VIN_CHECK_DIGIT'
  | 'VIN_CHAR'
  | 'VIN_LENGTH'
  | 'VIN_TEST'
  | 'VIN_YEAR'
  | 'VIN_AS_KEY'
  | 'NO_DETAILS'
  | 'NO_MAKE'
  | 'PRICE_POA'
  | 'ZERO_PRICE'
  | 'ZERO_ODOMETER'
  | 'ODOMETER_DOUBTED'
  | 'CURRENCY_DIFFERS'
  | 'PRICE_WITHOUT_TAX'
  | 'NUMBER_STYLE_ASSUMED'
  | 'NUMBER_STYLE_MIXED'
  | 'UNIT_ASSUMED'
  | 'UNIT_DOUBTED'
  | 'DATE_ORDER_ASSUMED'
  | 'DATE_ORDER_MIXED'
  | 'DATES_SWAPPED'
  | 'DATE_DOUBTED'

/** An issue of a cell, before its line and column are added. */
export interface Finding {
  readonly code: IssueCode
  readonly severity: Severity
  /** What to do, in at most a sentence. */
  readonly hint: string
}

/** A finding with its line and column. */
export interface CellIssue {
  readonly code: string
  readonly severity: Severity
  /** Physical line of the record, from 1; null when it is about a whole column. */
  readonly line: number | null
  /** The header as in the file; null when it is about a whole row. */
  readonly column: string | null
  /** The cell as in the file. */
  readonly text: string
  readonly hint: string
  /** The option of a command that reads or imports it in another way. */
  readonly advice?: string
}

/** The parts of an issue that are stored with a row. */
export type StoredIssue = Pick<CellIssue, 'code' | 'severity' | 'column' | 'hint'>

/** What is wrong, after the column that it is about. */
export function issueText({ column, hint }: Pick<CellIssue, 'column' | 'hint'>): string {
  return column === null ? hint : `${column}: ${hint}`
}

/** The errors of a row as texts, each with its code. */
export function errorTexts(issues: readonly StoredIssue[]): string[] {
  const errors = issues.filter(({ severity }) => severity === 'error')
  return errors.map((issue) => `${issueText(issue)} (${issue.code})`)
}

/** A typed cell: its value, null for none, and the issues found. */
export interface Typed<Value> {
  readonly value: Value | null
  readonly findings: readonly Finding[]
}

const none: readonly Finding[] = []

/** A typed cell from its value and issues; without issues nothing is allocated. */
export function typed<Value>(value: Value, ...findings: readonly Finding[]): Typed<Value> {
  return { value, findings: findings.length === 0 ? none : findings }
}

/** A cell without a usable value, and why. */
export function noValue(finding: Finding): Typed<never> {
  return { value: null, findings: [finding] }
}

/** The rule for unreadable values: words are left out, invalid digits reject the row. */
export function unreadable(text: string, wanted: string): Typed<never> {
  return noValue({
    code: 'type-error',
    severity: /\d/.test(text) ? 'error' : 'warning',
    hint: `this is not ${wanted}: correct the cell or leave it empty`,
  })
}

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
export type TypableRecord = Omit<CsvRecord, 'raw'>

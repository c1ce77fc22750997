/**
 * `error`: the value is unusable and the row is rejected. `warning`: the row is accepted, the value is
 * uncertain or left out. `info`: nothing to correct.
 */
export type Severity = 'error' | 'warning' | 'info'

/** The codes of issues. Rejects files and the warehouse have them, so they never change. */
export type IssueCode =
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
  | 'PRICE_POA'
  | 'ZERO_PRICE'
  | 'ZERO_ODOMETER'
  | 'CURRENCY_DIFFERS'
  | 'NUMBER_STYLE_ASSUMED'
  | 'NUMBER_STYLE_MIXED'
  | 'UNIT_ASSUMED'
  | 'UNIT_DOUBTED'
  | 'DATE_ORDER_ASSUMED'
  | 'DATE_ORDER_MIXED'

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
}

/** A typed cell: its value, null for none, and the issues found. */
export interface Typed<Value> {
  readonly value: Value | null
  readonly findings: readonly Finding[]
}

const none: readonly Finding[] = []

/** A typed cell from its value and issues; without issues nothing is allocated. */
export function typed<Value>(value: Value | null, ...findings: readonly Finding[]): Typed<Value> {
  return { value, findings: findings.length === 0 ? none : findings }
}

/** The rule for unreadable values: words are left out, invalid digits reject the row. */
export function unreadable<Value>(text: string, wanted: string): Typed<Value> {
  return typed<Value>(null, {
    code: 'type-error',
    severity: /\d/.test(text) ? 'error' : 'warning',
    hint: `this is not ${wanted}: correct the cell or leave it empty`,
  })
}

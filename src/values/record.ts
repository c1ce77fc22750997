import type { z } from 'zod'

export type Row = Readonly<Record<string, unknown>>

/** Rows of one record by table, e.g. `core.photo`. */
export type RowSet = Readonly<Record<string, readonly Row[]>>

/** Where a record does not fit, and why. Never the value: it may be a customer's. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** A record that goes to quarantine. */
export interface Rejected {
  readonly naturalKey: string
  readonly issues: readonly Issue[]
  readonly payload: string
}

/** A record does not fit: it goes to quarantine with every issue, and the others are loaded. */
export class RecordIssues extends Error {
  override readonly name = 'RecordIssues'
  readonly issues: readonly Issue[]
  constructor(issues: readonly Issue[]) {
    super(issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '))
    this.issues = issues
  }

  /** The issues of a record that has another shape. */
  static fromShape({ issues }: Pick<z.ZodError, 'issues'>): RecordIssues {
    return new RecordIssues(
      issues.map(({ path, message }) => ({ path: path.join('.') || '$', message })),
    )
  }
}

/** A contradiction in a record that fits: with itself or with the document. Facts, never a customer's data. */
export interface RecordWarning {
  /** Name of the check, e.g. `entry-date-disagrees`. */
  readonly check: string
  readonly detail: string
}

export type LoadOutcome = 'inserted' | 'updated' | 'unchanged'

/** What an answer changed in the warehouse. */
export interface Loaded {
  readonly outcome: LoadOutcome
  readonly warnings: readonly RecordWarning[]
}

import type { Counts } from './erasure-work.ts'

/** The result of an erasure, without personal data. */
export interface Receipt {
  /** null with a dry run: nothing was recorded. */
  readonly erasureId: number | null
  readonly subject: { readonly kind: 'email' | 'phone' | 'eval'; readonly masked: string }
  readonly reason: string | null
  readonly requestedBy: string
  /** By the database's clock. */
  readonly at: string
  /** The earlier erasure that put the contact on the suppression list; null: this is the first. */
  readonly erasedBefore: number | null
  /** Evaluations and other rows that have the requested contact, or name the customer; 0: not found. */
  readonly matched: number
  /** Evaluations, former ones included, by person; more than one person if several share the e-mail or phone. */
  readonly people: readonly (readonly EvaluationName[])[]
  /** The customer's evaluations. */
  readonly evaluations: readonly EvaluationName[]
  /** Evaluations of other customers that mentioned this one, or once named them as the customer. */
  readonly mentionedIn: readonly EvaluationName[]
  /** Rows that were changed or deleted, by table. */
  readonly tables: Counts
  /** PDFs of the archive to remove. */
  readonly files: number
  /** New entries of the suppression list. */
  readonly suppressed: { readonly evaluations: number; readonly contacts: number }
  /** Evaluations of other customers with the same name, phone or address: not changed. */
  readonly alsoCarriedBy: readonly EvaluationName[]
  readonly rescan: {
    readonly tables: number
    /** Rows that still name the customer, by table; should be empty. */
    readonly left: Counts
    /** Rows of other customers, salespeople and rooftops with the same name, by table. */
    readonly others: Counts
  }
}

/** An evaluation as a receipt names it. */
export interface EvaluationName {
  /** Uid of its rooftop; the dealer group's code if it has none. */
  readonly rooftop: string
  readonly evalId: number
}

/** Whether the search after the erasure found nothing of the customer. */
export function isClean({ rescan }: Receipt): boolean {
  return Object.keys(rescan.left).length === 0
}

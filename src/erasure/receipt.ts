import type { Counts } from './erasure-work.ts'

/** What an erasure did. No personal data. */
export interface Receipt {
  /** null with a dry run: nothing was recorded. */
  readonly erasureId: number | null
  readonly subject: { readonly kind: 'email' | 'phone' | 'eval'; readonly masked: string }
  readonly reason: string | null
  readonly requestedBy: string
  /** By the database's clock. */
  readonly at: string
  /** Of an earlier erasure that put the contact on the suppression list; null: it is the first. */
  readonly erasedBefore: number | null
  /** Evaluations and other rows that carry what was asked for, or name the customer; 0: nobody has it. */
  readonly matched: number
  /** Evaluations, former ones included, by the people whom they name: more than one share the e-mail or phone. */
  readonly people: readonly (readonly EvaluationName[])[]
  /** The customer's evaluations. */
  readonly evaluations: readonly EvaluationName[]
  /** Evaluations of other customers that mentioned this one, or named them as the customer once. */
  readonly mentionedIn: readonly EvaluationName[]
  /** Rows that changed or went, by table. */
  readonly tables: Counts
  /** PDFs of the archive that go. */
  readonly files: number
  /** New entries of the suppression list. */
  readonly suppressed: { readonly evaluations: number; readonly contacts: number }
  /** Evaluations of other customers with the same name, phone or address: they were left alone. */
  readonly alsoCarriedBy: readonly EvaluationName[]
  readonly rescan: {
    readonly tables: number
    /** Rows where the customer is still named, by table: none, when all is well. */
    readonly left: Counts
    /** Rows of other customers, salespeople and rooftops that are called the same, by table. */
    readonly others: Counts
  }
}

export interface EvaluationName {
  /** Uid of the rooftop that has it; the dealer group's code where none has. */
  readonly rooftop: string
  readonly evalId: number
}

export function isClean({ rescan }: Receipt): boolean {
  return Object.keys(rescan.left).length === 0
}

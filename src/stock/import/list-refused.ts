import { UsageError } from '../../errors.ts'
import type { Mapping } from '../csv/map/column-mapping.ts'

/** What a guard asks about: removal, too many vehicles would leave; change, lasting values of most would change; values, a median is far
 *  from what it was; newer, newer lists name vehicles that this one would change. */
type GuardKind = 'removal' | 'change' | 'values' | 'newer'

/** What a guard found. Allowed where a person confirms it. */
export interface GuardRefusal {
  readonly is: GuardKind
  /** How many vehicles, which a person types to confirm. */
  readonly count: number
  /** What would happen, as a sentence without its full stop. */
  readonly would: string
}

/** The field of a request that allows what a guard asks about. */
export const allowances = {
  removal: 'allowMassRemoval',
  change: 'allowMassChange',
  values: 'allowUnusualValues',
  newer: 'allowOlderValues',
} as const satisfies Record<GuardKind, string>

/** Why a readable list was not imported, in parts: for the console, whose people have no command line. */
export type Refusal =
  | {
      /** The meaning of the columns is not certain. */
      readonly is: 'columns'
      readonly mapping: Mapping
      readonly encoding: string
      readonly delimiter: string
    }
  /** A snapshot that ends within a row. `why` says where. */
  | { readonly is: 'cut'; readonly why: string }
  | GuardRefusal
  /** No row is a valid vehicle. */
  | { readonly is: 'nothing-valid'; readonly why: string }

/** A list that was not imported. The message is for the command line. */
export class ListRefused extends UsageError {
  readonly refusal: Refusal

  constructor(refusal: Refusal, message: string) {
    super(message)
    this.refusal = refusal
  }
}

import type { CellIssue } from './csv/map/typing/typed-row.ts'

/** What guards ask about: `removal`, too many vehicles would leave; `change`, lasting values of most would change; `values`, a median is
 *  far from what it was; `newer`, newer lists name vehicles that this one would change. Each is allowed by a field of the request, which
 *  the option of the command line sets. `otherwise`: what to do if the answer is that the list is wrong. */
export const guardKinds = {
  removal: {
    ...{ allows: 'allowMassRemoval', option: '--allow-mass-removal' },
    question: 'Is it the list of another rooftop, or incomplete?',
    otherwise: 'If they have really left,',
  },
  change: {
    ...{ allows: 'allowMassChange', option: '--allow-mass-change' },
    question: 'Was a column moved, renamed or emptied?',
    otherwise:
      'If so, export the list again, or name its columns with --map. --dry-run --allow-mass-change shows the changes; if they are right,',
  },
  values: {
    ...{ allows: 'allowUnusualValues', option: '--allow-unusual-values' },
    question: 'Is it another column, unit or currency?',
    otherwise: 'If so, correct the list, or name its columns with --map. If the values are right,',
  },
  newer: {
    ...{ allows: 'allowOlderValues', option: '--allow-older-values' },
    question: 'Is the older value right?',
    otherwise: 'If so,',
  },
} as const

/** What a guard found. Allowed where a person confirms it. */
export interface GuardRefusal {
  readonly is: keyof typeof guardKinds
  /** How many vehicles, which a person types to confirm. */
  readonly count: number
  /** What would happen, as a sentence without its full stop. */
  readonly would: string
  /** The option that reads the list in another way. */
  readonly advice?: string
}

/** Why a list was not imported. */
export type Refusal =
  /** It is not a list. `why` says what it is, and what to do. */
  | { readonly is: 'unreadable'; readonly why: string }
  /** Several sheets of the workbook may be the list. */
  | { readonly is: 'sheets'; readonly why: string; readonly sheets: readonly string[] }
  /** The meaning of the columns is not certain: the questions of the mapping. */
  | { readonly is: 'columns' }
  /** A snapshot that ends within a row. `why` says where. */
  | { readonly is: 'cut'; readonly why: string }
  | GuardRefusal
  /** No row is a valid vehicle. */
  | { readonly is: 'nothing-valid'; readonly why: string; readonly errors: readonly CellIssue[] }

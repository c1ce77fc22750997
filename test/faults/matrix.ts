import { machineFaults } from './machine-faults.ts'
import { sourceFaults } from './source-faults.ts'

/** A fault, what must hold during it, and the tests that show it: titles as in their files, with … for values filled in. */
export interface Row {
  readonly fault: string
  readonly holds: string
  readonly tests: readonly (readonly [file: string, title: string])[]
  /** What no test shows, and why. */
  readonly without?: string
}

/** Every fault that the engine must survive, by its number. */
export const matrix: Readonly<Record<number, Row>> = { ...machineFaults, ...sourceFaults }

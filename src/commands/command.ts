import type { Command } from 'commander'
import type { Session } from './session.ts'

/** One command of the program: a file each. `usage` is the name with its arguments. */
export interface CommandDefinition {
  readonly usage: string
  readonly summary: string
  readonly options?: (command: Command) => void
  readonly examples?: readonly string[]
  /** Gives the exit code; nothing means 0. */
  run(
    session: Session,
    options: Record<string, unknown>,
    args: readonly (string | string[] | undefined)[],
  ): Promise<number | undefined>
}

/** For repeatable options. */
export function collect(value: string, before: readonly string[]): string[] {
  return [...before, value]
}

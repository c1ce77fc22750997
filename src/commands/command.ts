import type { Command } from 'commander'
import type { Session } from './session.ts'

/** One command of the program: a file each. `usage` is the name with its arguments. */
export interface CommandDefinition {
  readonly usage: string
  readonly summary: string
  readonly options?: (command: Command) => void
  readonly examples?: readonly string[]
  /** Heading in the help of the command above. */
  readonly group?: string
  /** Commands below it; with them there is nothing to run but they. */
  readonly subcommands?: readonly CommandDefinition[]
  /** The listed name of a subcommand, however it is written; undefined when there is none. */
  readonly subcommandName?: (typed: string) => string | undefined
  /** Gives the exit code; nothing means 0. */
  run(
    session: Session,
    options: Record<string, unknown>,
    args: readonly (string | string[] | undefined)[],
  ): Promise<number | undefined>
}

/** For repeatable options. */
export function addToList(value: string, before: readonly string[]): string[] {
  return [...before, value]
}

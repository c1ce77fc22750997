import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Session } from './session.ts'

/** What a command does; gives the exit code, nothing means 0. */
export type RunCommand = (
  session: Session,
  options: Record<string, unknown>,
  args: readonly (string | string[] | undefined)[],
) => Promise<number | undefined>

/** One command of the program. `usage` is its name with its arguments. */
export interface CommandDefinition {
  readonly usage: string
  readonly summary: string
  /** The values that the first argument takes, for the help, for the completion and to check it. */
  readonly values?: { readonly description: string; readonly choices: readonly string[] }
  readonly options?: (command: Command) => void
  readonly examples?: readonly string[]
  /** Heading in the help of the command above. */
  readonly group?: string
  /** Commands below it; a command that has them does nothing by itself. */
  readonly subcommands?: readonly CommandDefinition[]
  /** The listed name of a subcommand, however it is written; undefined when there is none. */
  readonly subcommandName?: (typed: string) => string | undefined
  /** The same definition with its subcommands, where importing them takes long. */
  readonly whole?: () => Promise<CommandDefinition>
  readonly run?: RunCommand
}

/** Imports what a command runs only when it is run: the help of all commands, and each other command, start without it. */
export function lazy(load: () => Promise<RunCommand>): RunCommand {
  return async (...given) => await (await load())(...given)
}

/** An option that collects its values in a list. */
export function repeatable(flags: string, description: string, byDefault: string): Option {
  return new Option(flags, `${description} (repeatable)`)
    .argParser(addToList)
    .default([], byDefault)
}

/** For repeatable options. */
export function addToList(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** For options that take one value: a second one would replace the first without a word. */
export function singleValue(value: string, before: string | undefined): string {
  if (before !== undefined && before !== value)
    throw new InvalidArgumentError(`It was "${before}" already: it takes one value.`)
  return value
}

/** Adds --rooftop to a command that works on all of them unless some are named. */
export function rooftopsOption(command: Command): Command {
  return command.addOption(
    repeatable(
      '--rooftop <uid>',
      'only this one: uid, its first 4 or more characters, or the whole name',
      'all',
    ),
  )
}

/** Adds --operations-port to a command that runs until it is stopped. */
export function operationsOption(command: Command): Command {
  return command.option(
    '--operations-port <port>',
    'health and metrics over HTTP on this port (default: operations.port of the config; 0 takes any free one)',
  )
}

import { Command, CommanderError, Option } from 'commander'
import { allCommands } from './commands/all.ts'
import type { CommandDefinition } from './commands/command.ts'
import { type CommandIo, Session } from './commands/session.ts'
import { BusyError, framesOf, messageOf, UsageError } from './errors.ts'
import { logLevels } from './log.ts'
import { programVersion } from './version.ts'

/** Exit codes of the contract, section 1. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, busy: 3 } as const

/** Runs one command line and gives its exit code. Results go to stdout, everything else to stderr. */
export async function runCli(typed: readonly string[], io: CommandIo): Promise<number> {
  const args = respelled(typed)
  let code: number = exitCodes.ok
  const program = makeProgram(io, (result) => {
    code = result
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    const fault = error instanceof CommanderError ? usageFault(error, program, args) : error
    return fault === null ? exitCodes.ok : report(fault, args, io)
  }
}

/** The name of a subcommand as it is listed, however it was typed. */
function respelled(args: readonly string[]): readonly string[] {
  for (const { usage, subcommandName: spell } of allCommands) {
    const at = spell === undefined ? -1 : args.indexOf(usage)
    if (spell === undefined || at < 0) continue
    const next = args.findIndex((arg, index) => index > at && spell(arg) !== undefined)
    if (next > at) return args.with(next, spell(args[next]!)!)
  }
  return args
}

/** The whole command tree; also read by the README test and for `--help`. */
export function makeProgram(io: CommandIo, onResult: (code: number) => void): Command {
  const program = new Command('forecourt')
    .description('Vehicle appraisals, complete and trusted, in Postgres every morning.')
    .version(programVersion())
    .option('--config <file>', 'config file (default: forecourt.yaml here, then built-in defaults)')
    .option('--json', 'exactly one JSON document on stdout, nothing else')
    .addOption(
      new Option('--log-level <level>', 'least level that is logged to stderr').choices([
        ...logLevels,
      ]),
    )
    .option('--quiet', 'only errors on stderr')
    .option('--no-progress', 'no progress bars')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // Told in one sentence by `report` instead.
      outputError: () => {},
    })
  for (const definition of allCommands) addCommand(program, definition, io, onResult)
  return program
}

function addCommand(
  parent: Command,
  definition: CommandDefinition,
  io: CommandIo,
  onResult: (code: number) => void,
): void {
  const { usage, summary, examples, subcommands } = definition
  const command = parent.command(usage).description(summary)
  if (definition.group !== undefined) command.helpGroup(definition.group)
  definition.options?.(command)
  if (examples)
    command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
  if (subcommands) {
    for (const one of subcommands) addCommand(command, one, io, onResult)
    return
  }
  command.action(async (...parsed: unknown[]) => {
    const own = parsed.pop() as Command
    const options = parsed.pop() as Record<string, unknown>
    await using session = new Session(io, own.optsWithGlobals())
    const args = parsed as (string | string[] | undefined)[]
    onResult((await definition.run(session, options, args)) ?? exitCodes.ok)
  })
}

/** What commander found, in one sentence that says where help is; null when nothing is wrong (--help, --version). */
function usageFault(
  error: CommanderError,
  program: Command,
  args: readonly string[],
): UsageError | null {
  if (error.exitCode === 0) return null
  // The help that commander has just shown on stderr says the rest.
  if (error.code === 'commander.help')
    return new UsageError('No such command: choose one of those above.')
  const said = error.message
    .replace(/^error: /, '')
    .replace(
      /\.?\s*\n\s*\((.*)\)$/s,
      (_, hint: string) => ` (${hint[0]!.toLowerCase()}${hint.slice(1)})`,
    )
    .replace(/\. ([A-Z])/g, (_, letter: string) => `; ${letter.toLowerCase()}`)
    .replace(/\.$/, '')
  const help = ['forecourt', ...commandPath(program, args), '--help'].join(' ')
  return new UsageError(`${said[0]!.toUpperCase()}${said.slice(1)}: see "${help}".`, {
    cause: error,
  })
}

/** The names of the command that the arguments lead to, from the top. */
function commandPath(parent: Command, args: readonly string[]): string[] {
  const command = parent.commands.find((one) => args.includes(one.name()))
  return command === undefined ? [] : [command.name(), ...commandPath(command, args)]
}

/** One sentence for what went wrong; the stack only at `--log-level debug`. */
function report(error: unknown, args: readonly string[], io: CommandIo): number {
  const known = error instanceof UsageError || error instanceof BusyError
  const hide = io.hide ?? ((text: string) => text)
  const message = error instanceof UsageError ? error.message : messageOf(error)
  // A result that is already out stays the one document.
  if (args.includes('--json') && !io.hasResult)
    io.stdout.write(`${JSON.stringify({ error: hide(message) })}\n`)
  const isDebug = /--log-level[ =]debug( |$)/.test(args.join(' '))
  const frames = isDebug ? framesOf(error) : ''
  io.stderr.write(`${hide(frames === '' ? message : `${message}\n${frames}`)}\n`)
  if (error instanceof BusyError) return exitCodes.busy
  return known ? exitCodes.usage : exitCodes.failed
}

/** The same for an error that nothing has caught. Left alone, Node prints all its properties: one of Postgres holds the row that
 *  it is about. */
export function reportUncaught(error: unknown, io: CommandIo): number {
  const { hide = (text: string) => text } = io
  io.stderr.write(`${hide(`${messageOf(error)}\n${framesOf(error)}`)}\n`)
  return exitCodes.failed
}

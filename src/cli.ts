import { Command, CommanderError, Option } from 'commander'
import { allCommands } from './app/commands/all.ts'
import type { CommandDefinition } from './app/commands/command.ts'
import type { CommandIo } from './app/commands/session.ts'
import { BusyError, errorText, stackFrames, UsageError } from './errors.ts'
import type { LogLevel } from './log.ts'
import { nearestName } from './values/nearest-name.ts'
import { programVersion } from './version.ts'

/** Exit codes of the contract, section 1. */
const exitCodes = { ok: 0, failed: 1, usage: 2, busy: 3 } as const

const exitCodesHelp = `
Exit codes:
  0         all that was asked is in the warehouse
  1         finished, but something failed, was quarantined or misses an objective
  2         wrong usage or config; nothing was started
  3         another run does the same work; nothing was started
  130, 143  stopped by a signal, with a clean checkpoint`

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies LogLevel[]

/** Runs one command line and gives its exit code. Results go to stdout, everything else to stderr. */
export async function runCli(typed: readonly string[], io: CommandIo): Promise<number> {
  let code: number = exitCodes.ok
  const commands = await loadNamed(typed)
  const args = withListedNames(typed, commands)
  const program = makeProgram(commands, io, (result) => {
    code = result
  })
  try {
    if (args[0] === 'complete' && args[1] === '--') {
      const { complete } = await import('./app/commands/completion.ts')
      complete(program, args.slice(2))
    } else await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    const fault = error instanceof CommanderError ? usageFault(error, program, args) : error
    return fault === null ? exitCodes.ok : report(fault, args, io)
  }
}

/** Every command; one that the arguments name has its subcommands, also where these take long to import. */
export async function loadNamed(args: readonly string[]): Promise<CommandDefinition[]> {
  return await Promise.all(
    allCommands.map(async (definition) =>
      definition.whole && args.includes(definition.usage) ? await definition.whole() : definition,
    ),
  )
}

/** The arguments with the listed name of a subcommand, however it was typed. */
function withListedNames(
  args: readonly string[],
  commands: readonly CommandDefinition[],
): readonly string[] {
  for (const { usage, subcommandName } of commands) {
    const at = subcommandName === undefined ? -1 : args.indexOf(usage)
    if (subcommandName === undefined || at < 0) continue
    const next = args.findIndex((arg, index) => index > at && subcommandName(arg) !== undefined)
    if (next > at) return args.with(next, subcommandName(args[next]!)!)
  }
  return args
}

/** The tree of these commands; also read by tests. */
export function makeProgram(
  commands: readonly CommandDefinition[],
  io: CommandIo,
  onResult: (code: number) => void,
): Command {
  const usages = new Map<Command, string>()
  const program = new Command('forecourt')
    .description('Vehicle appraisals, complete and trusted, in Postgres every morning.')
    .version(programVersion())
    .option('--config <file>', 'config file (default: forecourt.yaml here, then built-in defaults)')
    .option('--json', 'exactly one JSON document on stdout, nothing else')
    .addOption(
      new Option('--log-level <level>', 'least level that is logged to stderr').choices(logLevels),
    )
    .option('--quiet', 'only errors on stderr')
    .option('--no-progress', 'no progress lines')
    .addHelpText('afterAll', exitCodesHelp)
    .configureHelp({
      showGlobalOptions: true,
      subcommandTerm: (command) => usages.get(command) ?? command.name(),
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // `report` writes it as one sentence.
      outputError: () => {},
    })
  for (const definition of commands) addCommand(program, definition)
  return program

  function addCommand(parent: Command, definition: CommandDefinition): void {
    const { usage, summary, values, options, examples, group, subcommands, run } = definition
    const command = parent.command(usage).description(summary)
    usages.set(command, usage)
    if (group !== undefined) command.helpGroup(group)
    if (values !== undefined) {
      const [argument] = command.registeredArguments
      argument!.choices(values.choices).description = values.description
    }
    options?.(command)
    if (examples)
      command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
    for (const subcommand of subcommands ?? []) addCommand(command, subcommand)
    if (run === undefined) return
    command.action(async (...parsed: unknown[]) => {
      const called = parsed.pop() as Command
      const given = parsed.pop() as Record<string, unknown>
      const { Session } = await import('./app/commands/session.ts')
      await using session = new Session(io, called.optsWithGlobals())
      const args = parsed as (string | string[] | undefined)[]
      onResult((await run(session, given, args)) ?? exitCodes.ok)
    })
  }
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
    return new UsageError('Name a command: choose one of those above.')
  const unknown =
    /^error: command-argument value '([^']*)' is invalid for argument '(\w+)'\. Allowed choices are (.*)/
  const [, value, argument, list] = unknown.exec(error.message) ?? []
  const message =
    value === undefined
      ? plainMessage(error)
      : unknownValue(value, argument!, list!.slice(0, -1).split(', '))
  const help = ['forecourt', ...commandPath(program, args), '--help'].join(' ')
  return new UsageError(`${message}: see "${help}".`, { cause: error })
}

function unknownValue(value: string, argument: string, known: readonly string[]): string {
  const meant = nearestName(value, known)
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
  return `Unknown ${argument} '${value}'${hint}; known are ${known.join(', ')}`
}

function plainMessage({ message }: CommanderError): string {
  const text = message
    .replace(/^error: /, '')
    .replace(
      /\.?\s*\n\s*\((.*)\)$/s,
      (_, hint: string) => ` (${hint[0]!.toLowerCase()}${hint.slice(1)})`,
    )
    .replace(/\. ([A-Z])/g, (_, letter: string) => `; ${letter.toLowerCase()}`)
    .replace(/\.$/, '')
  return `${text[0]!.toUpperCase()}${text.slice(1)}`
}

/** The names of the command that the arguments lead to, from the top. */
function commandPath(parent: Command, args: readonly string[]): string[] {
  const [command] = args.flatMap((arg) => parent.commands.find((one) => one.name() === arg) ?? [])
  return command === undefined ? [] : [command.name(), ...commandPath(command, args)]
}

/** One sentence for what went wrong; the stack only at `--log-level debug`. */
function report(error: unknown, args: readonly string[], io: CommandIo): number {
  const hide = io.hide ?? ((text: string) => text)
  const isUsage = error instanceof UsageError
  const message = isUsage ? error.message : errorText(error)
  // A result that is already out stays the one document.
  if (args.includes('--json') && !io.hasResult)
    io.stdout.write(`${JSON.stringify({ error: hide(message) })}\n`)
  const isDebug = /--log-level[ =]debug( |$)/.test(args.join(' '))
  const frames = isDebug ? stackFrames(error) : ''
  io.stderr.write(`${hide(frames === '' ? message : `${message}\n${frames}`)}\n`)
  if (error instanceof BusyError) return exitCodes.busy
  return isUsage ? exitCodes.usage : exitCodes.failed
}

/** The same for an error that nothing has caught. Left alone, Node prints all its properties: one of Postgres holds the row that
 *  it is about. */
export function reportUncaught(error: unknown, io: CommandIo): number {
  const { hide = (text: string) => text } = io
  io.stderr.write(`${hide(`${errorText(error)}\n${stackFrames(error)}`)}\n`)
  return exitCodes.failed
}

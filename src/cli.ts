import { Command, CommanderError, Option } from 'commander'
import { allCommands } from './commands/all.ts'
import { type CommandIo, Session } from './commands/session.ts'
import { BusyError, messageOf, UsageError } from './errors.ts'
import { logLevels } from './log.ts'
import { programVersion } from './version.ts'

/** Exit codes of the contract, section 1. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, busy: 3 } as const

/** Runs one command line and gives its exit code. Results go to stdout, everything else to stderr. */
export async function runCli(args: readonly string[], io: CommandIo): Promise<number> {
  let code: number = exitCodes.ok
  const program = makeProgram(io, (result) => {
    code = result
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    return report(error, args, io)
  }
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
    .showHelpAfterError('(try --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    })
  for (const definition of allCommands) {
    const command = program.command(definition.usage).description(definition.summary)
    definition.options?.(command)
    if (definition.examples)
      command.addHelpText(
        'after',
        `\nExamples:\n${definition.examples.map((line) => `  ${line}`).join('\n')}`,
      )
    command.action(async (...parsed: unknown[]) => {
      const own = parsed.pop() as Command
      const options = parsed.pop() as Record<string, unknown>
      await using session = new Session(io, own.optsWithGlobals())
      onResult(
        (await definition.run(session, options, parsed as (string | string[] | undefined)[])) ??
          exitCodes.ok,
      )
    })
  }
  return program
}

/** One sentence for what went wrong; the stack only at `--log-level debug`. */
function report(error: unknown, args: readonly string[], io: CommandIo): number {
  const known = error instanceof UsageError || error instanceof BusyError
  if (args.includes('--json'))
    io.stdout.write(
      `${JSON.stringify({ error: io.hide?.(messageOf(error)) ?? messageOf(error) })}\n`,
    )
  const debug =
    args.join(' ').includes('log-level debug') || args.join(' ').includes('log-level=debug')
  const text =
    debug && error instanceof Error
      ? (error.stack ?? error.message)
      : error instanceof UsageError
        ? error.message
        : messageOf(error)
  io.stderr.write(`${io.hide?.(text) ?? text}\n`)
  if (error instanceof BusyError) return exitCodes.busy
  return known ? exitCodes.usage : exitCodes.failed
}

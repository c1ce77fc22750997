import { Writable } from 'node:stream'
import { allCommands } from '#src/app/commands/all.ts'
import { makeProgram } from '#src/cli.ts'

/** Errors of a command line, without running it: unknown command, option or argument. Empty: it would start. */
export function faultsOfCommand(args: readonly string[]): string[] {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const { signal } = new AbortController()
  const io = { environment: { variables: {}, cwd: '/' }, signal, stdout: silent, stderr: silent }
  const program = makeProgram(allCommands, io, () => {})
  let command = program
  const faults: string[] = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at]!
    if (word.startsWith('--')) {
      const option = [...command.options, ...program.options].find(({ long }) => long === word)
      if (option === undefined) faults.push(`${command.name()} has no ${word}`)
      else if (option.required) at++
    } else {
      const below = command.commands.find((one) => one.name() === word)
      if (below === undefined) faults.push(`${command.name()} knows no ${word}`)
      else command = below
    }
  }
  return command === program && args.length > 0 && faults.length === 0 ? ['no command'] : faults
}

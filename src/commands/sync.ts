import { exitCodeOf, reportLines } from './run-report.ts'
import { chooseStreams } from './option-values.ts'
import { addToList, type CommandDefinition } from './command.ts'
import { dryRun } from './dry-run.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'

export const sync: CommandDefinition = {
  usage: 'sync [stream...]',
  summary: 'Incremental run of the named streams (default: all) for all rooftops',
  options: (command) =>
    command
      .option(
        '--rooftop <uid>',
        'only this rooftop: uid, its first 4 characters or more, or name (repeatable)',
        addToList,
        [],
      )
      .option('--dry-run', 'print the plan (windows, expected calls) and call nothing'),
  examples: [
    'forecourt sync',
    'forecourt sync evaluations --rooftop 7f3a --json',
    'forecourt sync --dry-run',
  ],
  async run(session, options, [names]) {
    const streams = chooseStreams(names as string[])
    const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
    const from = toUnixSeconds(session.config.sync.start)
    const plan = { command: 'sync', mode: 'sync', from, until: null } as const
    if (options['dryRun'] === true) return await dryRun(session, { plan, streams, rooftops })
    const report = await runStreams(await session.context(), { plan, streams, rooftops })
    session.result(report, () => reportLines(report, rooftops))
    return exitCodeOf(report)
  },
}

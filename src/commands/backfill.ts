import { UsageError } from '../errors.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { runStreams } from '../pipeline/run.ts'
import { allStreams } from '../streams/all.ts'
import { chooseStreams, parseDateOption } from './choose.ts'
import { collect, type CommandDefinition } from './command.ts'
import { dryRun } from './dry-run.ts'
import { exitCodeOf, reportLines } from './run-report.ts'

export const backfill: CommandDefinition = {
  usage: 'backfill <stream...>',
  summary:
    'Loads history [from, to) once; resumable, never moves the incremental checkpoint backwards',
  options: (command) =>
    command
      .requiredOption('--from <date>', 'first instant; a bare date is midnight UTC')
      .option('--to <date>', 'first instant that is left out (default: now)')
      .option('--rooftop <uid>', 'only this rooftop (repeatable)', collect, [])
      .option('--dry-run', 'print the plan (windows, expected calls) and call nothing'),
  examples: ['forecourt backfill evaluations --from 2019-01-01 --to 2024-01-01'],
  async run(session, options, [names]) {
    const windowed = allStreams.filter(({ kind }) => kind === 'windowed')
    const streams = chooseStreams(names as string[], windowed)
    const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
    const from = parseDateOption('--from', options['from'] as string)
    const until =
      options['to'] === undefined ? null : parseDateOption('--to', options['to'] as string)
    if (until !== null && from >= until) {
      throw new UsageError(
        `--from ${String(options['from'])} is not before --to ${String(options['to'])}: the range is [from, to).`,
      )
    }
    if (until === null && from * 1000 >= Date.now()) {
      throw new UsageError(
        `--from ${String(options['from'])} lies in the future: there is nothing to load.`,
      )
    }
    const plan = { command: 'backfill', mode: 'backfill', from, until } as const
    if (options['dryRun'] === true) return await dryRun(session, { plan, streams, rooftops })
    const report = await runStreams(await session.context(), { plan, streams, rooftops })
    session.result(report, () => reportLines(report, rooftops))
    return exitCodeOf(report)
  },
}

import { runStreams } from '../pipeline/run.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { chooseStreams } from './choose.ts'
import { collect, type CommandDefinition } from './command.ts'
import { exitCodeOf, reportLines } from './run-report.ts'

export const replay: CommandDefinition = {
  usage: 'replay [stream...]',
  summary: 'Rebuilds the normalised tables from the kept payloads, with no API call',
  options: (command) =>
    command.option('--rooftop <uid>', 'only this rooftop (repeatable)', collect, []),
  examples: ['forecourt replay', 'forecourt replay evaluations'],
  async run(session, options, [names]) {
    const streams = chooseStreams(names as string[])
    const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
    const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
    const report = await runStreams(await session.context(), { plan, streams, rooftops })
    session.result(report, () => reportLines(report, rooftops))
    return exitCodeOf(report)
  },
}

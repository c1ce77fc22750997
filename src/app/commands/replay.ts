import { runStreams } from '../../sync/run/run-streams.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { chooseStreams } from './option-values.ts'
import { reportLines, runExitCode } from './run-report.ts'

export const replay: RunCommand = async (session, options, [names]) => {
  const streams = chooseStreams(names as string[])
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  const plan = { command: 'replay', mode: 'replay', from: 0, until: 0 } as const
  const report = await runStreams(await session.context(), { plan, streams, rooftops })
  session.result(report, () => reportLines(report, { config: session.config, rooftops }))
  return runExitCode(report)
}

import { runStreams } from '../../sync/run/run-streams.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { dryRun } from './dry-run.ts'
import { chooseStreams } from './option-values.ts'
import { reportLines, runExitCode } from './run-report.ts'

export const sync: RunCommand = async (session, options, [names]) => {
  const streams = chooseStreams(names as string[])
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  const from = toUnixSeconds(session.config.sync.start)
  const plan = { command: 'sync', mode: 'sync', from, until: null } as const
  if (options['dryRun'] === true) return await dryRun(session, { plan, streams, rooftops })
  const report = await runStreams(await session.context(), { plan, streams, rooftops })
  session.result(report, () => reportLines(report, { config: session.config, rooftops }))
  return runExitCode(report)
}

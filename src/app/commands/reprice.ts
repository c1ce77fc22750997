import { UsageError } from '../../errors.ts'
import { stockPrices } from '../../streams/stock-prices/stock-prices.ts'
import { runStreams } from '../../sync/run/run-streams.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { reportLines, runExitCode } from './run-report.ts'

export const reprice: RunCommand = async (session, options) => {
  const { config } = session
  const rooftops = chooseRooftops(config, options['rooftop'] as string[])
  if (config.vehicleData.apiKey === null)
    throw new UsageError(
      'The config has no vehicleData.apiKey, so nothing can be priced: set it to the key of the vehicle-data APIs.',
    )
  const from = toUnixSeconds(config.sync.start)
  const plan = { command: 'reprice', mode: 'reprice', from, until: null } as const
  const request = { plan, streams: [stockPrices], rooftops }
  const report = await runStreams(await session.context(), request)
  session.result(report, () => reportLines(report, { config: session.config, rooftops }))
  return runExitCode(report)
}
